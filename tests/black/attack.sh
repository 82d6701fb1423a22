#!/bin/sh
# What an attacker in a box, or one who wrote the repository, tried and got: each fault that was found stays found.
. "$(dirname "$0")/../lib.sh"

mkdir "$WORLD/work"
chmod 777 "$WORLD/work"
cd "$WORLD/work"

# A file or folder that is a stream of `box` must not be in the box: its mode, its content and what lies beside it are
# the host's (Landlock knows nothing of chmod).
echo given >"$WORLD/file"
chmod 600 "$WORLD/file"
[ "$(id -u)" != 0 ] || chown headgate "$WORLD/file"
headgate box -- chmod 666 /proc/self/fd/0 <"$WORLD/file" >/dev/null 2>&1 || :
check_equal 'the mode of a file that is the input' 600 "$(stat -c %a "$WORLD/file")"
headgate box -- sh -c 'readlink /proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2' <"$WORLD/file" >"$WORLD/out" 2>"$WORLD/err"
check_equal 'files as streams are pipes inside' 3 "$(grep -c '^pipe:' "$WORLD/out")"
check_equal 'and say what they said' given "$(headgate box -- cat <"$WORLD/file")"
headgate box -- sh -c 'stat -L -c %F /proc/self/fd/0' <"$HOME" >"$WORLD/out"
check_equal 'a folder as input' fifo "$(cat "$WORLD/out")"

exit $FAILED
