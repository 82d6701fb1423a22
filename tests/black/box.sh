#!/bin/sh
# `headgate box`: exit codes, streams, what is shown, a private home, mapped ports, a terminal, signals.
. "$(dirname "$0")/../lib.sh"

mkdir "$WORLD/work" "$WORLD/shown" "$WORLD/writable"
chmod 777 "$WORLD/work" "$WORLD/writable" # started by root, the box is another account
cd "$WORLD/work"

# Exit codes, as docker has them.
check_status 0 'success' headgate box -- true
check_status 7 'a status is passed on' headgate box -- sh -c 'exit 7'
check_status 137 'a signal is 128 and its number' headgate box -- sh -c 'kill -9 $$'
check_status 127 'no such program' headgate box -- no-such-program
check_has 'no such program: says so' 'no-such-program' "$OUT"
printf '#!/bin/sh\necho hidden tool\n' >"$WORLD/shown/hidden-tool"
chmod 755 "$WORLD/shown" "$WORLD/shown/hidden-tool"
check_status 127 'a program that the box does not show' headgate box -- "$WORLD/shown/hidden-tool"
check_has 'a program that the box does not show: says how to' "add --ro $WORLD/shown" "$OUT"
check_status 0 'and it is so' headgate box --ro "$WORLD/shown" -- "$WORLD/shown/hidden-tool"
check_status 126 'not executable' headgate box -- /etc/hosts
check_status 125 'no command' headgate box
check_status 125 'a command without --' headgate box true
check_status 125 'an egress list that cannot be read' headgate box --net 'bad host' -- true
check_status 125 'an unknown layer' headgate box --off nosuch -- true
for option in --ro --rw --mask; do
    check_status 125 "a path that is absent: $option" headgate box $option "$WORLD/absent" -- true
    check_has "is told with the option: $option" "^headgate: $option: .*$WORLD/absent" "$OUT"
    check_status 125 "also a relative one: $option" headgate box $option ./absent -- true
done
check_status 125 'a required layer that is off' headgate box --off net --require net -- true
check_has 'a required layer: named' 'net' "$OUT"
check_status 0 'no server is started' sh -c '! headgate serve --status'

# Streams.
check_equal 'input and output' 'given' "$(echo given | headgate box -- cat)"
check_equal 'output and errors stay apart' 'out' "$(headgate box -- sh -c 'echo out; echo err >&2' 2>/dev/null)"
check_equal 'much output' 3000000 "$(headgate box -- head -c 3000000 /dev/zero | wc -c)"
check_equal 'a reader that leaves' 5 "$(headgate box -- yes | head -n 5 | wc -l)"

# A linked worktree, whose git folder is elsewhere.
make_repo "$WORLD/main"
git -C "$WORLD/main" worktree add -q "$WORLD/linked" -b linked
chmod 755 "$WORLD/main" "$WORLD/linked"
cd "$WORLD/linked"
check_status 128 'git in a linked worktree' headgate box -- git rev-parse HEAD
check_has 'what to do is told' "add --ro $WORLD/main/.git" "$OUT"
check_status 0 'and helps' headgate box --ro "$WORLD/main/.git" -- git -c 'safe.directory=*' rev-parse HEAD
check 'without that word' sh -c "! echo '$OUT' | grep -q 'add --ro'"
cd "$WORLD/work"

# Files.
echo text >"$WORLD/shown/file"
check 'the work folder is writable, at its own path' headgate box -- sh -c "echo made > '$WORLD/work/made'"
check_equal 'and what is written there stays' made "$(cat "$WORLD/work/made")"
check_status 1 'the work folder read-only' headgate box --ro . -- touch new
check_status 1 'other folders are absent' headgate box -- test -e "$WORLD/shown"
check_equal 'unless shown' text "$(headgate box --ro "$WORLD/shown" -- cat "$WORLD/shown/file")"
check_status 2 'read-only' headgate box --ro "$WORLD/shown" -- sh -c "echo x > '$WORLD/shown/file'"
check 'or writable' headgate box --rw "$WORLD/writable" -- touch "$WORLD/writable/new"
check_status 125 'never the whole home by accident' sh -c 'cd "$HOME" && headgate box -- true'
echo secret >"$HOME/secret"
check_status 1 'the real home is absent' headgate box -- test -e "$HOME/secret"
check_equal 'the private home is at its place' "$HOME" "$(headgate box -- sh -c 'touch ~/x && cd && pwd')"
check_equal 'and gone afterwards' secret "$(ls "$HOME" | grep -v '^\.')"
mkdir -p "$HOME/.local/bin" "$HOME/.tools/v1/bin"
printf '#!/bin/sh\necho tool\n' >"$HOME/.tools/v1/bin/tool"
chmod -R a+rX "$HOME/.tools" "$HOME/.local"
chmod a+x "$HOME/.tools/v1/bin/tool"
ln -s ../../.tools/v1/bin/tool "$HOME/.local/bin/tool"
check_equal 'tools of PATH are found through links' tool "$(PATH="$HOME/.local/bin:$PATH" headgate box -- tool)"
check_equal 'the environment is filtered' '' "$(SECRET_TOKEN=x headgate box -- sh -c 'echo $SECRET_TOKEN')"

# The network.
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
python3 -c "
import socket
s = socket.create_server(('127.0.0.1', $port))
while True:
    c, _ = s.accept()
    data = b''
    while not data.endswith(b'\n'):
        data += c.recv(4096)
    c.sendall(b'heard ' + data)
    c.close()
" &
BACKGROUND="$BACKGROUND $!"
until_true 10 sh -c "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", $port)).send(b\"x\n\")'" || die 'the test server did not start'
ask="exec 3<>/dev/tcp/127.0.0.1/$port && echo hello >&3 && cat <&3"
check_status 1 'a port of the host is out of reach' headgate box -- bash -c "$ask"
check_equal 'unless mapped' 'heard hello' "$(headgate box --service "$port" -- bash -c "$ask")"
check_equal 'by IPv6 too' 'heard hello' \
    "$(headgate box --service "$port" -- bash -c "exec 3<>/dev/tcp/::1/$port && echo hello >&3 && cat <&3")"

# Layers told.
headgate box --explain -- true 2>"$WORLD/explain"
check_has 'layers are explained' '^landlock +active' "$WORLD/explain"
check_has 'and times' 'us  mounts' "$WORLD/explain"
headgate box --off seccomp --explain -- true 2>"$WORLD/explain"
check_has 'a layer that is off is told' '^seccomp +unavailable +left out' "$WORLD/explain"

# A terminal: of the box's own, and the person's is given back as it was.
cat >"$WORLD/terminal.py" <<'END'
import os, pty, select, signal, sys, termios, time
script, feed = sys.argv[1], sys.argv[2].encode().decode("unicode_escape").encode()
pid, fd = pty.fork()
if pid == 0:
    os.execvp("headgate", ["headgate", "box", "--", "sh", "-c", script])
before = termios.tcgetattr(fd)
out, fed = b"", False
while True:
    try:
        data = os.read(fd, 4096)
    except OSError:
        break
    if not data:
        break
    out += data
    if b"ready" in out and not fed:
        fed = True
        if feed == b"TERM":
            os.kill(pid, signal.SIGTERM)
        else:
            os.write(fd, feed)
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.stdout.write(out.decode().replace("\r", "").replace("\n", "|"))
print("status", status)
END
check_equal 'a terminal of its own' '/dev/pts/0|status 3' "$(python3 "$WORLD/terminal.py" 'tty; exit 3' '')"
check_equal 'keys reach it' 'ready|got typed|status 0' \
    "$(python3 "$WORLD/terminal.py" 'stty -echo; echo ready; read x; echo got $x' 'typed\r')"
check_equal 'control-C is the command'\''s' 'ready|int|status 5' \
    "$(python3 "$WORLD/terminal.py" 'stty -echo; trap "echo int; exit 5" INT; echo ready; while :; do sleep 0.05; done' '\x03')"
check_equal 'a signal to headgate is passed on' 'term|status 6' \
    "$(python3 "$WORLD/terminal.py" 'trap "echo term; exit 6" TERM; echo ready; while :; do sleep 0.05; done' TERM | grep -o 'term|status 6')"

# Killed, it leaves nothing behind.
mkfifo "$WORLD/work/alive"
chmod 666 "$WORLD/work/alive"
headgate box -- sh -c ': >started; trap "" TERM HUP; setsid sleep 1000 >alive & exec sleep 1000' &
killed=$!
until_true 30 test -e "$WORLD/work/started" || die 'the box did not start'
exec 9<"$WORLD/work/alive"
kill -9 $killed
check_equal 'kill -9 ends the whole box' '' "$(timeout 20 cat <&9 || echo still there)"
exec 9<&-

exit "$FAILED"
