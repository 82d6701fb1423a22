#!/bin/sh
# `headgate trace`: what an attempt did as one tree in time: calls by whoever asked, programs, connections with their
# bytes, and where its branch moved.
. "$(dirname "$0")/../lib.sh"
for program in curl python3; do command -v $program >/dev/null || skip "$program is not installed"; done

make_repo "$WORLD/repo"
cd "$WORLD/repo"
mkdir "$WORLD/www"
head -c 5000 /dev/zero >"$WORLD/www/five"
cat >"$WORLD/serve.py" <<'PY'
import functools, http.server, os, sys
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1] + "/www")
server = http.server.HTTPServer(("127.0.0.1", 0), handler)
with open(sys.argv[1] + "/port.new", "w") as out:
    out.write(str(server.server_address[1]))
os.rename(sys.argv[1] + "/port.new", sys.argv[1] + "/port")
server.serve_forever()
PY
python3 "$WORLD/serve.py" "$WORLD" >"$WORLD/serve.log" 2>&1 &
BACKGROUND="$BACKGROUND $!"
until_true 20 test -s "$WORLD/port" || die 'the server did not start'
port=$(cat "$WORLD/port")
headgate gate rule add deny command make forbidden >/dev/null
headgate gate rule add deny exec tac >/dev/null

headgate run --net "127.0.0.1:$port" -- sh -c "
echo '{\"tool\":\"Bash\",\"args\":{\"command\":\"make test\"},\"call_id\":\"t1\",\"session\":\"s\"}' | headgate-hook
echo '{\"tool\":\"Bash\",\"args\":{\"command\":\"make forbidden\"},\"subagent\":{\"id\":\"a1\",\"type\":\"explorer\",\"depth\":1}}' | headgate-hook
unset no_proxy NO_PROXY
curl -s -o /dev/null http://127.0.0.1:$port/five
curl -s -o /dev/null http://10.9.8.7/
sh -c 'tac /etc/hosts; true'
echo more >>README && git commit -qam 'Say more'" >"$WORLD/out" 2>&1
run=$(last_run)
headgate trace "$run.1" >"$WORLD/trace" 2>&1
headgate trace "$run.1" --json >"$WORLD/trace.json"
sed 's/^/    /' "$WORLD/trace"

check_has 'the attempt is the root' "^[0-9:]{8} $run.1 ok command: " "$WORLD/trace"
check_has 'its call stands below it' '^[0-9:]{8} [├└]─ c[0-9]+ approved \(ladder\) Bash: make test' "$WORLD/trace"
check_has 'a subagent has a line' '[├└]─ explorer a1, subagent of depth 1' "$WORLD/trace"
check_has "and its call below that, with why" '[│ ]  └─ c[0-9]+ denied \(rule\) Bash: make forbidden' "$WORLD/trace"
check_has 'a connection with its bytes' "127.0.0.1:$port approved \(rule\) 1 connection, .* up, 5\.[0-9] KiB down" "$WORLD/trace"
check_has 'one that was denied, and why' '10.9.8.7:80 denied \(floor\) 1 denied.*private address' "$WORLD/trace"
check_has 'where the branch went' "headgate/$run/1 moved to [0-9a-f]{10} 1 commit, 1 file" "$WORLD/trace"
check_equal 'a child is no older than its parent' '' "$(jq -r '.trace | .. | objects | select(has("children"))
    | .at_ms as $t | .children[] | select(.at_ms < $t) | .kind' "$WORLD/trace.json")"
check_equal 'and children stand in time' true "$(jq '[.trace | .. | objects | select(has("children")) | [.children[].at_ms]
    | . == sort] | all' "$WORLD/trace.json")"
check_equal 'JSON has the sums' 1 "$(jq "[.trace | .. | objects | select(.kind == \"net\" and .port == $port and .down > 5000)] | length" "$WORLD/trace.json")"
headgate show "$run.1" >"$WORLD/show" 2>&1
check_has 'show has the bytes by host' "127.0.0.1 +$port +1 +[0-9]+ B +5\.[0-9] KiB" "$WORLD/show"
check_has 'and what was denied' '10.9.8.7 +80 +0 B +0 B +1' "$WORLD/show"
check_status 2 'a run of several is no attempt' sh -c "headgate run -n 2 -- true >/dev/null; headgate trace $((run + 1))"
check_status 0 'the work is merged' headgate merge "$run.1" --reviewed
headgate trace "$run.1" >"$WORLD/merged" 2>&1
check_has 'the trace has what a person did with it' '└─ main moved to [0-9a-f]{10} by ' "$WORLD/merged"

# With the exec gate: who started what, and which program made a connection.
if headgate show "$run.1" --json | jq -e '.attempts[0].layers[] | select(.name == "exec") | .state != "unavailable"' >/dev/null; then
    # above PATTERN: the kinds and programs of the nodes above those that fit, nearest last.
    above() {
        jq -r "def walk_down(\$line): (if .kind == \"program\" then (.path | split(\"/\") | last) else .kind end) as \$me
            | if $1 then \$line | join(\" \") else empty end, (.children[] | walk_down(\$line + [\$me]));
            .trace | walk_down([])" "$WORLD/trace.json" | sort -u
    }
    check_equal 'a refused exec stands below the shell that tried it' 'attempt dash' "$(above '.call.source? == "exec"')"
    check_equal 'a connection below the program that made it' 'attempt dash curl' "$(above ".kind == \"net\" and .port == $port")"
    check_equal 'one that was denied too' 'attempt dash curl' "$(above '.kind == "net" and .port == 80')"
    check_equal 'a program below the one that started it' 'attempt dash' "$(above '.kind == "program" and (.path | endswith("/git"))' | head -n 1)"
    check_equal 'programs are counted' true \
        "$(jq '[.trace | .. | objects | select(.kind == "program" and (.path | endswith("/curl"))) | .n] == [2]' "$WORLD/trace.json")"
else
    echo 'not tried: there is no exec gate here'
fi

# A person who is asked is told by which program.
headgate run --detach -- curl -s http://unlisted.example/ >"$WORLD/out" 2>&1
until_true 20 has_pending || die 'no call for the unlisted host'
check_equal 'the question says who asks' true "$(headgate gate ls --json | jq '.calls[0].reason | test("asked for by .*/curl")')"
