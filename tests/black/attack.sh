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

# Headgate's own state and sockets: whoever reaches the control socket decides calls.
make_repo "$WORLD/repo"
(cd "$WORLD/repo" && headgate run -- true >/dev/null)
control=$(echo "$XDG_RUNTIME_DIR"/headgate/*/ctl)
check 'the control socket is there' test -S "$control"
check 'the control socket below a folder that is shown' sh -c "! headgate box --rw '$WORLD' -- test -e '$control'"
check 'the state below a folder that is shown' sh -c "! headgate box --ro '$WORLD' -- sh -c 'ls $XDG_STATE_HOME/headgate/*/state.db'"
check_status 125 'a folder of the state is not shown' headgate box --ro "$(echo "$XDG_STATE_HOME"/headgate/*/attempts)" -- true
check_status 125 'nor is it a folder to work in' sh -c "cd '$XDG_STATE_HOME'/headgate/* && headgate box -- true"
check_status 125 'nor is that of the sockets' headgate box --rw "$XDG_RUNTIME_DIR/headgate" -- true

exit $FAILED
