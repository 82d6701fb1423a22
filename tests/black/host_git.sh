#!/bin/sh
# What the git of this host obeys in a folder that `headgate box` writes: the .git of submodules is read-only, with and without
# one of their own, at any depth; what was made where nothing was is told at the end. Names of the person's keys are not seen.
. "$(dirname "$0")/../lib.sh"

[ "$(id -u)" != 0 ] || skip 'the account of a box of root owns no checkout of hers'
allow='-c protocol.file.allow=always'
make_repo "$WORLD/library"
make_repo "$WORLD/part"
# shellcheck disable=SC2086
git -C "$WORLD/part" $allow submodule --quiet add "$WORLD/library" inner && git -C "$WORLD/part" commit -q -m Inner
make_repo "$WORLD/repo"
cd "$WORLD/repo"
for name in here absent 'with space'; do
    # shellcheck disable=SC2086
    git $allow submodule --quiet add "$WORLD/part" "$name"
done
git commit -q -m Parts
git submodule --quiet deinit -f absent
# shellcheck disable=SC2086
git -C here $allow submodule --quiet update --init

# plant FOLDER: make it a repository whose configuration runs a program, by every way.
cat >"$WORLD/plant.sh" <<P
mark="touch $WORLD/ran; false"
evil=\$(mktemp -d -p .)
git init -q --bare "\$evil" && git -C "\$evil" config core.bare false && git -C "\$evil" config core.fsmonitor "\$mark"
for folder; do
    { echo "gitdir: \$PWD/\$evil" >"\$folder/.git"; } 2>/dev/null
    mv "\$folder/.git" "\$folder/old" 2>/dev/null && cp -r "\$evil" "\$folder/.git"
    mv "\$folder" moved 2>/dev/null && mkdir "\$folder" && cp -r "\$evil" "\$folder/.git"
    [ -e "\$folder/.git" ] || cp -r "\$evil" "\$folder/.git" 2>/dev/null
    rm -rf moved
done
true
P
cp -r "$WORLD/repo" "$WORLD/again"
where() { git submodule status --recursive && cat here/.git here/inner/.git 'with space/.git' && ls -A absent; }
before=$(where)
box() { headgate box --ro "$WORLD/plant.sh" "$@"; }
check 'the box runs' box -- sh "$WORLD/plant.sh" here absent 'with space' here/inner
git status >/dev/null 2>&1
git -C here status >/dev/null 2>&1
check 'nothing runs with the next git status' test ! -e "$WORLD/ran"
check_equal 'submodules are where they were' "$before" "$(where)"
check_status 2 'the list of submodules too' box -- sh -c 'echo >.gitmodules'
check 'their files stay writable' box -- sh -c 'echo x >>here/src/app.txt && echo x >"with space/new"'
check 'one that is named is its own' box --rw absent -- touch absent/new

# The control: shown without its being a folder of work, nothing is kept.
cd "$WORLD/again"
sh "$WORLD/plant.sh" here absent
git status >/dev/null 2>&1
check 'control: what is planted runs' test -e "$WORLD/ran"

# Absent things cannot be kept; they are told.
mkdir "$WORLD/repo/below" "$WORLD/plain"
cd "$WORLD/repo/below"
check 'a folder below a repository' box -- sh -c 'git init -q . && mkdir .vscode'
check_has 'its new .git is told' "note: the box made $WORLD/repo/below/\.git, which git" "$WORLD/check.out"
check_has 'and its new settings' "note: the box made $WORLD/repo/below/\.vscode" "$WORLD/check.out"
check 'the next box' box -- true
check_lacks 'has nothing new' 'the box made' "$WORLD/check.out"
cd "$WORLD/plain"
check 'what is named writable' box --rw . -- mkdir .git
check_has 'is told as well' "note: the box made $WORLD/plain/\.git" "$WORLD/check.out"

# Keys are the user's, not a namespace's.
if command -v python3 >/dev/null; then
    python3 - "$WORLD" <<'K' || skip 'no key can be made here'
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
USER_KEYRING, ADD_KEY = -4, 248
sys.exit(0 if libc.syscall(ADD_KEY, b"user", sys.argv[1].encode(), b"secret", 6, USER_KEYRING) > 0 else 1)
K
    check 'control: the host sees the name of the key' grep -q "$WORLD" /proc/keys
    check_equal 'the box sees no key' '' "$(box -- cat /proc/keys)"
    python3 - "$WORLD" <<'K'
import ctypes, sys
libc = ctypes.CDLL(None)
USER_KEYRING, KEYCTL, SEARCH, UNLINK = -4, 250, 10, 9
key = libc.syscall(KEYCTL, SEARCH, USER_KEYRING, b"user", sys.argv[1].encode(), 0)
libc.syscall(KEYCTL, UNLINK, key, USER_KEYRING)
K
fi

# A box without pids of its own cannot be stopped while a mount is made again: it ends, and nobody of this host is stopped.
mkdir "$WORLD/frozen"
cd "$WORLD/frozen"
echo '{}' >.mcp.json
mkfifo "$WORLD/go"
(exec headgate box --off pid -- sh -c 'echo ready; read -r _') <"$WORLD/go" >"$WORLD/out" 2>"$WORLD/err" &
box=$!
BACKGROUND="$BACKGROUND $box"
exec 7>"$WORLD/go"
until_true 10 grep -q ready "$WORLD/out" || die "the box did not start: $(cat "$WORLD/err")"
save_and_see() { cp .mcp.json new && mv new .mcp.json && grep -q 'cannot be mounted again' "$WORLD/err"; }
check 'the lost mount ends it' until_true 20 save_and_see
exec 7>&-
status=0
wait $box || status=$?
check_equal 'with its status' 125 "$status"

exit "$FAILED"
