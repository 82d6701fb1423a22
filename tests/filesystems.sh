# Sourced by run.sh when root starts it: a btrfs and an XFS for the engines that need one, in files, by loop devices. Their
# folders are in TEST_FS_BTRFS and TEST_FS_XFS; one that cannot be had leaves its variable empty, and tests that need it are skips.
FILESYSTEMS=

filesystem_make() { # KIND VARIABLE
    image=$FILESYSTEMS/$1.img folder=$FILESYSTEMS/$1
    mkdir "$folder"
    if truncate -s 512M "$image" && "mkfs.$1" -q "$image" >/dev/null && mount -o loop "$image" "$folder"; then
        chmod 1777 "$folder"
        export "$2=$folder"
    else
        echo "no $1 here: what needs one is skipped"
    fi
    rm -f "$image" # the loop device has it open
}
filesystems_make() {
    [ -n "${TESTS_OWN_MOUNTS:-}" ] || {
        echo 'no mount namespace here: what needs a btrfs or an XFS is skipped'
        return
    }
    FILESYSTEMS=$(mktemp -d /tmp/headgate-fs.XXXXXX)
    chmod 755 "$FILESYSTEMS"
    filesystem_make btrfs TEST_FS_BTRFS
    filesystem_make xfs TEST_FS_XFS
}
filesystems_remove() {
    [ -n "$FILESYSTEMS" ] || return 0
    umount "$FILESYSTEMS"/* 2>/dev/null || :
    rm -rf "$FILESYSTEMS"
}
