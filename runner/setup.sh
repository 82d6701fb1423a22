# Shared by quickstart.sh and tests/run.sh: install Debian packages that are missing. Sourced, POSIX sh.

# packages_missing LIST UNTIL: print the packages of LIST that are not installed, up to the line that holds UNTIL.
packages_missing() {
    while read -r package command; do
        case "$package $command" in
        "# $2"*) break ;;
        "#"* | " ") continue ;;
        esac
        if [ -n "$command" ] && command -v "$command" >/dev/null 2>&1; then
            continue
        fi
        dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || printf '%s\n' "$package"
    done <"$1"
}

# packages_install LIST [UNTIL]
packages_install() {
    missing=$(packages_missing "$1" "${2:-<end of the list>}" | tr '\n' ' ')
    [ -n "$missing" ] || return 0
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "headgate: please install what these Debian packages hold, then run this again: $missing" >&2
        return 1
    fi
    as_root=
    if [ "$(id -u)" != 0 ]; then
        if ! command -v sudo >/dev/null 2>&1; then
            echo "headgate: packages are missing and there is no sudo; as root, run: apt-get install $missing" >&2
            return 1
        fi
        as_root=sudo
    fi
    echo "installing packages: $missing"
    $as_root apt-get update -q >/dev/null || return 1
    # shellcheck disable=SC2086 # the list is meant to be split
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing >/dev/null
}
