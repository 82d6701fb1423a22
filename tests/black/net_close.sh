#!/bin/sh
# What ends a connection: a rule that goes or comes while it is open, a person's denial, the end of the keeper. Each
# agent holds a connection to a server of the host that only talks when it is talked to, so nothing else ends it.
. "$(dirname "$0")/../lib.sh"
for program in python3; do command -v $program >/dev/null || skip "$program is not installed"; done

make_repo "$WORLD/repo"
cd "$WORLD/repo"
cat >"$WORLD/serve.py" <<'PY'
import os, socket, sys, threading
sock = socket.create_server(("127.0.0.1", 0), backlog=16)
seen = open(sys.argv[1] + "/seen", "a", buffering=1)
def serve(client):
    try:
        while (data := client.recv(4096)):
            client.sendall(b"echo " + data)
    except OSError:
        pass
    seen.write("ended\n")
with open(sys.argv[1] + "/port.new", "w") as out:
    out.write(str(sock.getsockname()[1]))
os.rename(sys.argv[1] + "/port.new", sys.argv[1] + "/port")
while True:
    client, _ = sock.accept()
    seen.write("came\n")
    threading.Thread(target=serve, args=(client,), daemon=True).start()
PY
python3 "$WORLD/serve.py" "$WORLD" >"$WORLD/serve.log" 2>&1 &
BACKGROUND="$BACKGROUND $!"
until_true 20 test -s "$WORLD/port" || die 'the server did not start'
port=$(cat "$WORLD/port")
mkdir "$WORLD/shown"
cat >"$WORLD/shown/hold.py" <<'PY'
import os, socket, sys
place = os.environ["HEADGATE_PROXY"].rsplit(":", 1)
def dial():
    s = socket.create_connection((place[0], int(place[1])))
    s.sendall(("CONNECT %s HTTP/1.1\r\n\r\n" % sys.argv[1]).encode())
    return s, s.recv(4096).decode()
s, head = dial()
print("first", head.split("\r\n")[0], flush=True)
s.sendall(b"hello")
print(s.recv(4096).decode(), flush=True)
try:
    print("then", "closed" if s.recv(4096) == b"" else "more", flush=True)
except OSError:
    print("then closed", flush=True)
print("second", dial()[1].replace("\r\n", " "), flush=True)
PY

# hold OPTION...: a run that holds one connection; returns when it is open. Its number is in $run.
hold() {
    headgate run --detach --ro "$WORLD/shown" "$@" -- python3 "$WORLD/shown/hold.py" "127.0.0.1:$port" >"$WORLD/out" 2>&1
    run=$(last_run)
    until_true 20 says "$run" 'echo hello' || die "the connection was not made: $(headgate logs "$run.1" 2>&1 | tail -n 3)"
}
says() { headgate logs "$1.1" 2>/dev/null | grep -q -- "$2"; }
all_ended() { [ "$(grep -c came "$WORLD/seen")" = "$(grep -c ended "$WORLD/seen")" ]; }
# ended WHAT: the held connection was closed, and another is not made.
ended() {
    until_true 20 is_done "$run.1" || fail "$1: the attempt does not end"
    headgate logs "$run.1" >"$WORLD/log" 2>&1
    check_has "$1: the connection is closed" '^then closed$' "$WORLD/log"
    check_has "$1: and another one is not made" '^second HTTP/1.1 403 ' "$WORLD/log"
}

rule=$(headgate gate rule add "allow host 127.0.0.1:$port" | grep -Eo 'r[0-9]+' | head -n 1)
hold
check_status 0 'the rule is removed' headgate gate rule rm "$rule"
ended 'without its rule'

hold --net "127.0.0.1:$port"
headgate gate rule add deny host 127.0.0.1 in attempt "$run.1" >/dev/null
ended 'under a rule that denies'
check_has 'which is named' 'the rule .deny host 127.0.0.1 in attempt .* holds here' "$WORLD/log"

# The control: a rule about something else closes nothing.
hold --net "127.0.0.1:$port"
headgate gate rule add deny host elsewhere.example >/dev/null
headgate gate rule add "deny host 127.0.0.1:1" >/dev/null
check_equal 'control: other rules leave it open' running "$(state_of "$run.1")"
check_lacks 'nothing was closed' 'then closed' "$(headgate show "$run.1" --json | jq -r '.attempts[0].log')"
headgate stop "$run.1" >/dev/null
check_equal 'the end of the box ends it' "$(grep -c came "$WORLD/seen")" "$(until_true 10 all_ended; grep -c ended "$WORLD/seen")"

# A keeper that is killed takes the box with it; nothing of it goes on, and nothing is reached.
hold --net "127.0.0.1:$port"
keeper=$(headgate show "$run.1" --json | jq -r '.attempts[0].keeper_pid')
kill -9 "$keeper"
until_true 20 is_done "$run.1" || fail 'the attempt outlives its keeper'
check_equal 'a killed keeper: the attempt is lost' lost "$(outcome_of "$run.1")"
check_equal 'no process of its box is left' '' "$(left_of "$run.1")"
until_true 10 all_ended || fail 'a connection outlives the keeper'
check_lacks 'and none was made after it' '^second' "$(headgate show "$run.1" --json | jq -r '.attempts[0].log')"
