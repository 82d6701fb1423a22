#!/bin/sh
# A server in a box, reached from this host on request and not otherwise.
. "$(dirname "$0")/../lib.sh"
command -v python3 >/dev/null || skip 'needs python3'

make_repo "$WORLD/repo"
cd "$WORLD/repo"
cat >"$WORLD/serve.py" <<'IN'
import http.server, socket, sys, time
class V6(http.server.HTTPServer):
    address_family = socket.AF_INET6
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
        self.wfile.write(b'x' * 3000000 if self.path == '/big' else b'from the box\n')
    def do_POST(self):
        n = int(self.headers['Content-Length'])
        body = self.rfile.read(n)
        self.send_response(200); self.end_headers(); self.wfile.write(b'%d' % len(body))
    def log_message(self, *a): pass
def on_their_way(port):
    rows = [line.split() for line in open('/proc/net/tcp')][1:]
    return sum(row[2].endswith(':%04X' % port) and row[3] in ('01', '02') for row in rows)
class Late(http.server.ThreadingHTTPServer):
    request_queue_size = 0
if sys.argv[1] == '6':
    s = V6(('::1', 18081), H)
elif sys.argv[1] == 'late': # answers nobody before six are there, more than its queue holds
    s = Late(('127.0.0.1', 18083), H)
    while on_their_way(18083) < 6: time.sleep(0.02)
else:
    s = http.server.ThreadingHTTPServer(('127.0.0.1', 18080), H)
open('ready' + sys.argv[1], 'w').close()
s.serve_forever()
IN
headgate run --detach --ladder auto --ro "$WORLD/serve.py" -- sh -c "python3 $WORLD/serve.py 6 & python3 $WORLD/serve.py late & python3 $WORLD/serve.py 4" >"$WORLD/out" || die "$(cat "$WORLD/out")"
run=$(last_run)
running() { [ "$(headgate show "$run.1" --json | jq -r '.attempts[0].state')" = running ]; }
until_true 30 running || die 'it does not run'

# forward LOG ARGS...: in the background; $PORT is where it listens.
forward() {
    log=$1
    shift
    headgate forward "$@" >"$log" 2>&1 &
    FORWARD=$!
    BACKGROUND="$BACKGROUND $FORWARD"
    until_true 20 grep -q 'leads to' "$log" || die "no forward: $(cat "$log")"
    PORT=$(sed -n 's/^127.0.0.1:\([0-9]*\) .*/\1/p' "$log")
}
get() { curl -s --max-time 20 "http://127.0.0.1:$1/$2"; }
answers() { [ "$(get "$PORT" "$1")" = 'from the box' ]; }

check 'the port of the box is not one of this host' sh -c '! curl -s --max-time 2 http://127.0.0.1:18080/'
forward "$WORLD/f4" --listen 0 "$run.1" 18080
check 'it answers' until_true 20 answers ''
check_equal 'all of a long answer' 3000000 "$(get "$PORT" big | wc -c)"
head -c 2000000 /dev/zero >"$WORLD/body"
check_equal 'and of a long question' 2000000 "$(curl -s --max-time 20 --data-binary "@$WORLD/body" "http://127.0.0.1:$PORT/")"
first=$PORT first_pid=$FORWARD
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do get "$first" big | wc -c & done >"$WORLD/many"
until_true 30 sh -c "[ \$(grep -c 3000000 '$WORLD/many') = 12 ]" && pass 'twelve at once' || fail "twelve at once: $(cat "$WORLD/many")"
forward "$WORLD/f3" --listen 0 "$run.1" 18083
late=$PORT
for i in 1 2 3 4 5 6; do get "$late" '' & done >"$WORLD/late"
until_true 30 sh -c "[ \$(grep -c 'from the box' '$WORLD/late') = 6 ]" && pass 'more than a queue holds' || fail "more than a queue holds: $(cat "$WORLD/late")"
check_status 1 'a port that is taken' headgate forward --listen "$first" "$run.1" 18080
check_has 'is told' 'in use; choose another with --listen' "$OUT"
forward "$WORLD/f6" --listen 0 "$run.1" 18081
check 'one that listens on ::1 alone' until_true 20 answers ''
forward "$WORLD/none" --listen 0 "$run.1" 18082
check 'where nothing listens the connection ends' sh -c "! curl -s --max-time 10 http://127.0.0.1:$PORT/"
kill "$first_pid"
refused() { ! curl -s --max-time 2 "http://127.0.0.1:$first/" >/dev/null; }
check 'the port goes with whoever asked for it' until_true 20 refused
check_status 2 'no port' headgate forward "$run.1" x
check_status 0 'stop' headgate stop "$run"
check 'and with the box' until_true 20 grep -q 'has ended' "$WORLD/f6"
check_status 1 'one that has ended' headgate forward "$run.1" 18080
