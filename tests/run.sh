#!/bin/sh
# Install packages, build, and pass every test: as an unprivileged account, and again started by root when root runs this.
#   sh tests/run.sh [--agents] [CTEST ARGUMENT...]
# --agents fetches the real agents from the npm registry (some hundred megabytes); without, tests of those that are not there are skipped.
set -eu

# What root mounts here is gone with the last process of this namespace, however that ends.
if [ "$(id -u)" = 0 ] && [ -z "${TESTS_OWN_MOUNTS:-}" ] && unshare -m true 2>/dev/null; then
    export TESTS_OWN_MOUNTS=1
    exec unshare -m --propagation private sh "$0" "$@"
fi

here=$(cd "$(dirname "$0")/.." && pwd)
account=hgtest
jobs=3 # for two processors: a third of a test's time is waiting for what takes its time
if [ "${1:-}" = --agents ]; then
    export FETCH_AGENTS=1
    shift
fi

. "$here/runner/setup.sh"
. "$here/tests/filesystems.sh"
packages_install "$here/tests/packages.txt"

build_and_test() { # in the folder $1; further words go to ctest
    cd "$1"
    shift
    cmake --preset dev >/dev/null
    cmake --build --preset dev
    ctest --preset dev -j$jobs "$@"
}

if [ "$(id -u)" != 0 ]; then
    build_and_test "$here" "$@"
    exit
fi

# Root: an account of its own builds and tests in a copy that it can read, wherever this clone lies.
id "$account" >/dev/null 2>&1 || useradd --create-home --shell /bin/bash "$account"
id headgate >/dev/null 2>&1 || useradd --system --shell /usr/sbin/nologin headgate
home=$(getent passwd "$account" | cut -d: -f6)
work=$(mktemp -d "$home/headgate-tests.XXXXXX")
trap 'filesystems_remove; rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
filesystems_make
(cd "$here" && git ls-files -z | tar --null -T - -cf -) | tar -C "$work" -xf -
chown -R "$account:" "$work"

as_account() {
    # A clean login environment: nothing of root's may leak into what the tests see.
    env -i PATH=/usr/local/bin:/usr/bin:/bin HOME="$home" USER="$account" LOGNAME="$account" LANG=C.UTF-8 \
        TEST_FS_BTRFS="${TEST_FS_BTRFS:-}" TEST_FS_XFS="${TEST_FS_XFS:-}" CI="${CI:-}" FETCH_AGENTS="${FETCH_AGENTS:-}" npm_config_registry="${npm_config_registry:-}" NPM_CONFIG_USERCONFIG="${NPM_CONFIG_USERCONFIG:-}" \
        setpriv --reuid="$account" --regid="$account" --init-groups "$@"
}

echo "== build and test as $account"
as_account sh "$work/tests/run.sh" "$@"
echo "== the same tests, started by root (but those labelled once)"
cd "$work"
ctest --preset dev -j$jobs -LE once "$@"
