#!/bin/sh
# The network of a run: real programs through the proxy to servers on loopback that a rule lists by address; what
# is not listed is asked, denied or refused; each refusal has a control that passes.
. "$(dirname "$0")/../lib.sh"
for program in curl python3 openssl; do command -v $program >/dev/null || skip "$program is not installed"; done

make_repo "$WORLD/repo"
cd "$WORLD/repo"

# A web server with a git repository (dumb protocol), an npm package and a TLS server, on ports that the kernel chooses.
mkdir -p "$WORLD/www"
git clone -q --bare "$WORLD/repo" "$WORLD/www/lib.git"
git -C "$WORLD/www/lib.git" update-server-info
head -c 300000 /dev/zero >"$WORLD/www/big"
echo plain >"$WORLD/www/plain.txt"
cat >"$WORLD/serve.py" <<'PY'
import http.server, os, socketserver, ssl, sys
class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *words):
        pass
    def do_POST(self):
        size = int(self.headers.get("Content-Length", 0))
        body = b"%d\n" % len(self.rfile.read(size))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
os.chdir(sys.argv[1])
server = Server(("127.0.0.1", int(sys.argv[3])), Handler)
if len(sys.argv) > 4:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[4])
    server.socket = context.wrap_socket(server.socket, server_side=True)
with open(sys.argv[2] + ".new", "w") as out:
    out.write(str(server.server_address[1]))
os.rename(sys.argv[2] + ".new", sys.argv[2])
server.serve_forever()
PY
openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=listed.test -keyout "$WORLD/key.pem" -out "$WORLD/cert.pem" \
    -days 2 >/dev/null 2>&1
cat "$WORLD/key.pem" >>"$WORLD/cert.pem"
python3 "$WORLD/serve.py" "$WORLD/www" "$WORLD/web.port" 0 &
BACKGROUND="$BACKGROUND $!"
python3 "$WORLD/serve.py" "$WORLD/www" "$WORLD/tls.port" 0 "$WORLD/cert.pem" &
BACKGROUND="$BACKGROUND $!"
until_true 20 test -s "$WORLD/web.port" || die 'the web server did not start'
until_true 20 test -s "$WORLD/tls.port" || die 'the TLS server did not start'
web=$(cat "$WORLD/web.port") tls=$(cat "$WORLD/tls.port")

# in_run OPTIONS -- SCRIPT: a shell script as the agent of a run; its output is in $WORLD/log.
in_run() {
    options=
    while [ "$1" != -- ]; do options="$options $1" && shift; done
    shift
    # shellcheck disable=SC2086
    headgate run $options -- sh -c "$1" >"$WORLD/out" 2>&1
    headgate logs "$(last_run).1" >"$WORLD/log" 2>&1
}

in_run --net "127.0.0.1:$web" -- "export NO_PROXY= no_proxy=
curl -s http://127.0.0.1:$web/plain.txt
curl -s --data-binary @/etc/services -o /dev/null -w 'posted %{http_code}\n' http://127.0.0.1:$web/
git clone -q http://127.0.0.1:$web/lib.git \$HOME/lib && git -C \$HOME/lib log --oneline | wc -l
curl -s http://127.0.0.1:$web/big | wc -c
for i in 1 2 3; do curl -s http://127.0.0.1:$web/plain.txt http://127.0.0.1:$web/plain.txt; done | wc -l
python3 -c \"import urllib.request; print('python', urllib.request.urlopen('http://127.0.0.1:$web/plain.txt').read())\"
curl -s --noproxy '*' -m 5 http://127.0.0.1:$web/plain.txt || echo 'direct fails'
(exec 3<>/dev/tcp/127.0.0.1/$web) 2>/dev/null || echo 'raw fails'"
check_has 'curl reaches the listed address' '^plain$' "$WORLD/log"
check_has 'a body is sent' '^posted 200$' "$WORLD/log"
check_has 'git clones over HTTP' '^2$' "$WORLD/log"
check_has 'a large file is whole' '^300000$' "$WORLD/log"
check_has 'several requests of one client' '^6$' "$WORLD/log"
check_has 'python reads the proxy from its environment' "python b'plain" "$WORLD/log"
check_has 'without the proxy there is no way' 'direct fails' "$WORLD/log"
check_has 'the run says what is listed' "network lists 127.0.0.1:$web and asks for other hosts" "$WORLD/out"
headgate gate log --json >"$WORLD/gate.json" 2>/dev/null || headgate gate log >"$WORLD/gate.json"
check_has 'the log counts bytes by host' "\"host\":\"127.0.0.1\"|127.0.0.1" "$WORLD/gate.json"

in_run --net "127.0.0.1:1" -- "export NO_PROXY= no_proxy=; curl -s http://127.0.0.1:$web/plain.txt; curl -s http://169.254.169.254/; curl -s http://10.0.0.1/"
check_has 'an address that is not listed is denied' '127.0.0.1 is a loopback address' "$WORLD/log"
check_has 'the metadata service too' '169.254.169.254 is a cloud metadata address' "$WORLD/log"
check_lacks 'and nothing of it came' '^plain$' "$WORLD/log"

check_status 2 'a list that cannot be read starts nothing' headgate run --net 'bad host' -- true
git config --file "$XDG_CONFIG_HOME/headgate/config" box.net '*.*.x'
check_status 2 'also from the configuration' headgate run -- true
git config --file "$XDG_CONFIG_HOME/headgate/config" --unset box.net

# An unlisted host waits for a person; the approval holds for the attempt, a private address stays out.
headgate run --detach -- sh -c 'curl -s http://unlisted.example/ ; curl -s -p http://unlisted.example/ || echo over' >"$WORLD/out" 2>&1
run=$(last_run)
until_true 20 has_pending || die 'no call for the unlisted host'
check_equal 'the call tells host and port' 'net connect unlisted.example 80' \
    "$(headgate gate ls --json | jq -r '.calls[0] | "\(.source) \(.tool) \(.args.host) \(.args.port)"')"
headgate gate deny "$(pending)" --reason 'use the mirror' >/dev/null
until_true 20 is_done "$run.1" || die 'the denied attempt did not end'
headgate logs "$run.1" >"$WORLD/log" 2>&1
check_has "the person's words reach the client, with the call" 'unlisted.example:80 is denied .call c[0-9]+.: use the mirror' "$WORLD/log"
check_has 'a denial holds' '^over$' "$WORLD/log"
headgate trace "$run.1" >"$WORLD/trace"
check_has 'and the trace tells them' 'unlisted.example:80 denied by [^ ]+ ([^ ].* )?[(]use the mirror[)]$' "$WORLD/trace"

# With nobody there it ends by itself.
git config --file "$XDG_CONFIG_HOME/headgate/config" gate.netDeadline 300
in_run -- 'curl -s http://unlisted.example/'
check_has 'a deadline is told as one' 'retry after it was approved' "$WORLD/log"

# A rule that comes while an agent runs.
headgate gate rule add "allow host 127.0.0.1:$web" >/dev/null
in_run -- "NO_PROXY= no_proxy= curl -s http://127.0.0.1:$web/plain.txt"
check_has 'a rule of the store lists a host' '^plain$' "$WORLD/log"

# The box alone: a fixed list, nobody to ask.
mkdir "$WORLD/alone" && cd "$WORLD/alone" && chmod 777 .
check_status 0 'a box alone reaches what is listed' headgate box --net "127.0.0.1:$web" -- sh -c \
    "NO_PROXY= no_proxy= curl -s http://127.0.0.1:$web/plain.txt; NO_PROXY= no_proxy= curl -s http://127.0.0.1:$web/big | wc -c; NO_PROXY= no_proxy= curl -s http://unlisted.example/"
check_has 'its file' '^plain$' "$OUT"
check_has 'a large one too' '^300000$' "$OUT"
check_has 'what is not listed is denied' 'not listed' "$OUT"
check_status 125 'a bad pattern is refused' headgate box --net 'bad host' -- true
