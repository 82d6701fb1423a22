#!/bin/sh
# Ordinary programs in a box reach the servers that a rule lists by address, with nothing set but what the box sets
# itself: curl, git over HTTP and over ssh, npm, pip, Java, and Node and cargo where they know how to. A program that
# is not installed is named and passed over. Addresses of the loopback are the box's own and never asked for by
# proxy; each script clears that list, since here the servers lie there.
. "$(dirname "$0")/../lib.sh"
for program in curl python3 openssl git ssh; do
    command -v $program >/dev/null || skip "$program is not installed"
done
python3 -c 'import paramiko' 2>/dev/null || skip 'python3-paramiko is not installed'

make_repo "$WORLD/repo"
mkdir -p "$WORLD/www/files" "$WORLD/git"
chmod 755 "$WORLD/git"
git clone -q --bare "$WORLD/repo" "$WORLD/git/lib.git"
git -C "$WORLD/git/lib.git" config http.receivepack true
echo plain >"$WORLD/www/files/plain.txt"
openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1,DNS:localhost \
    -keyout "$WORLD/key.pem" -out "$WORLD/ca.pem" -days 2 >/dev/null 2>&1
cat "$WORLD/key.pem" "$WORLD/ca.pem" >"$WORLD/both.pem"

# One server for all that is HTTP: files, git http-backend, a package of npm's registry, one of pip's index, one of
# cargo's sparse index.
cat >"$WORLD/serve.py" <<'PY'
import base64, gzip, hashlib, http.server, io, json, os, socketserver, ssl, subprocess, sys, tarfile, threading, zipfile
world, seen = sys.argv[1], open(sys.argv[1] + "/seen", "a", buffering=1)
def tar(names):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, text in names.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(text), 0o644
            archive.addfile(entry, io.BytesIO(text.encode()))
    return out.getvalue()
npm = tar({"package/package.json": '{"name":"tiny","version":"1.0.0","main":"index.js"}',
           "package/index.js": "module.exports = 'tiny from the registry'\n"})
crate = tar({"tiny-1.0.0/Cargo.toml": '[package]\nname = "tiny"\nversion = "1.0.0"\nedition = "2021"\n',
             "tiny-1.0.0/src/lib.rs": "pub fn tiny() {}\n"})
def wheel():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        z.writestr("tiny.py", "text = 'tiny from the index'\n")
        z.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        z.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        z.writestr("tiny-1.0.dist-info/RECORD", "tiny.py,,\ntiny-1.0.dist-info/METADATA,,\ntiny-1.0.dist-info/WHEEL,,\n"
                   "tiny-1.0.dist-info/RECORD,,\n")
    return out.getvalue()
wheel = wheel()
class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *words):
        seen.write("%s %s\n" % (self.command, self.path))
    def give(self, body, kind="application/octet-stream", status=200):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def git(self):
        path, _, query = self.path.partition("?")
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size)
        if self.headers.get("Transfer-Encoding") == "chunked":
            while (n := int(self.rfile.readline(), 16)):
                body += self.rfile.read(n)
                self.rfile.readline()
            self.rfile.readline()
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        env = dict(os.environ, GIT_PROJECT_ROOT=world + "/git", GIT_HTTP_EXPORT_ALL="1", REQUEST_METHOD=self.command,
                   PATH_INFO=path[len("/git"):], QUERY_STRING=query, CONTENT_TYPE=self.headers.get("Content-Type", ""),
                   CONTENT_LENGTH=str(len(body)), GIT_PROTOCOL=self.headers.get("Git-Protocol", ""), REMOTE_USER="")
        out = subprocess.run(["git", "http-backend"], input=body, env=env, stdout=subprocess.PIPE).stdout
        head, _, body = out.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.give(body, fields.get("Content-Type", "text/plain"), int(fields.get("Status", "200").split()[0]))
    def do_POST(self):
        self.git()
    def do_GET(self):
        me = "%s://%s" % (self.server.scheme, self.headers["Host"])
        if self.path.startswith("/git/"):
            self.git()
        elif self.path == "/npm/tiny":
            self.give(json.dumps({"name": "tiny", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {
                "name": "tiny", "version": "1.0.0", "dist": {"tarball": me + "/npm/tiny-1.0.0.tgz", "integrity":
                "sha512-" + base64.b64encode(hashlib.sha512(npm).digest()).decode()}}}}).encode(), "application/json")
        elif self.path == "/npm/tiny-1.0.0.tgz":
            self.give(npm)
        elif self.path == "/simple/tiny/":
            self.give(b'<a href="/tiny-1.0-py3-none-any.whl">tiny-1.0-py3-none-any.whl</a>', "text/html")
        elif self.path == "/tiny-1.0-py3-none-any.whl":
            self.give(wheel)
        elif self.path == "/cargo/config.json":
            self.give(json.dumps({"dl": me + "/cargo/dl"}).encode(), "application/json")
        elif self.path == "/cargo/ti/ny/tiny":
            self.give(json.dumps({"name": "tiny", "vers": "1.0.0", "deps": [], "features": {}, "yanked": False,
                                  "cksum": hashlib.sha256(crate).hexdigest()}).encode())
        elif self.path == "/cargo/dl/tiny/1.0.0/download":
            self.give(crate)
        elif self.path.startswith("/files/"):
            super().do_GET()
        else:
            self.give(b"no such thing\n", "text/plain", 404)
class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
os.chdir(world + "/www")
for scheme in ("http", "https"):
    server = Server(("127.0.0.1", 0), Handler)
    server.scheme = scheme
    if scheme == "https":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(world + "/both.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with open("%s/%s.new" % (world, scheme), "w") as out:
        out.write(str(server.server_address[1]))
    os.rename("%s/%s.new" % (world, scheme), "%s/%s.port" % (world, scheme))
threading.Event().wait()
PY
python3 "$WORLD/serve.py" "$WORLD" >"$WORLD/serve.log" 2>&1 &
BACKGROUND="$BACKGROUND $!"

# An ssh server for one key.
mkdir -m 755 "$WORLD/ssh"
ssh-keygen -q -t ed25519 -N '' -C host -f "$WORLD/ssh/host"
ssh-keygen -q -t ed25519 -N '' -C agent -f "$WORLD/ssh/agent"
python3 "$TESTS/fake/sshd.py" "$WORLD/ssh/host" "$WORLD/ssh/agent.pub" "$WORLD/ssh/port" >"$WORLD/ssh/log" 2>&1 &
BACKGROUND="$BACKGROUND $!"
until_true 20 test -s "$WORLD/ssh/port" || die "no ssh server: $(cat "$WORLD/ssh/log")"
port=$(cat "$WORLD/ssh/port")
until_true 20 test -s "$WORLD/https.port" || die "the server did not start: $(cat "$WORLD/serve.log")"
http=$(cat "$WORLD/http.port") https=$(cat "$WORLD/https.port")

# What every box here is shown: the certificate, and the key, which must be the reader's own.
mkdir "$WORLD/shown"
cp "$WORLD/ca.pem" "$WORLD/shown/"
cp "$WORLD/ssh/agent" "$WORLD/shown/deploy"
chmod 644 "$WORLD/shown/deploy"
sed "s/^/[127.0.0.1]:$port /" "$WORLD/ssh/host.pub" >"$WORLD/shown/known_hosts"

cd "$WORLD/repo"
# in_run NAME SCRIPT: as the agent of a run with the servers listed; its output is in $WORLD/NAME.log.
in_run() {
    name=$1
    headgate run --net "127.0.0.1:$http" --net "127.0.0.1:$https" --net "127.0.0.1:$port" --ro "$WORLD/shown" -- \
        sh -c "unset no_proxy NO_PROXY; $2" >"$WORLD/$name.out" 2>&1 || :
    headgate logs "$(last_run).1" >"$WORLD/$name.log" 2>&1 || :
}

in_run curl "curl -s http://127.0.0.1:$http/files/plain.txt; curl -s --cacert $WORLD/shown/ca.pem https://127.0.0.1:$https/files/plain.txt
curl -s http://127.0.0.1:$https/ ; curl -sS https://127.0.0.1:1/"
check_equal 'curl over HTTP and HTTPS' 2 "$(grep -c '^plain$' "$WORLD/curl.log")"
check_has 'what is not listed is denied with a sentence' '403' "$WORLD/curl.log"

# Else a person would be asked about the push.
headgate gate rule add allow command git push >/dev/null
in_run git "git clone -q http://127.0.0.1:$http/git/lib.git \$HOME/a && git -C \$HOME/a log --oneline | sed 's/^/http /'
git -c http.sslCAInfo=$WORLD/shown/ca.pem clone -q https://127.0.0.1:$https/git/lib.git \$HOME/b && git -C \$HOME/b log --oneline | sed 's/^/https /'
cd \$HOME/a && git -c user.name=A -c user.email=a@example.com commit -q --allow-empty -m Pushed && git push -q origin HEAD:refs/heads/pushed && echo pushed"
check_equal 'git clones over HTTP' 2 "$(grep -c '^http ' "$WORLD/git.log")"
check_equal 'git clones over HTTPS' 2 "$(grep -c '^https ' "$WORLD/git.log")"
check_equal 'and pushes' Pushed "$(git -C "$WORLD/git/lib.git" log -1 --format=%s pushed 2>/dev/null)"

user=$(id -un)
in_run ssh "mkdir -m 700 -p ~/.ssh && install -m 600 $WORLD/shown/deploy ~/.ssh/deploy
printf 'IdentityFile ~/.ssh/deploy\nUserKnownHostsFile $WORLD/shown/known_hosts\n' >~/.ssh/config
git clone -q ssh://$user@127.0.0.1:$port$WORLD/git/lib.git \$HOME/c && git -C \$HOME/c log --oneline | sed 's/^/ssh /'
ssh -p $port $user@127.0.0.1 echo from the server
ssh -p 1 $user@127.0.0.1 true"
check_equal 'git clones over ssh' 2 "$(grep -c '^ssh ' "$WORLD/ssh.log")"
check_has 'ssh itself connects' '^from the server$' "$WORLD/ssh.log"
check_has 'and is told why it may not elsewhere' '127.0.0.1 is a loopback address' "$WORLD/ssh.log"

if command -v npm >/dev/null; then
    in_run npm "cd \$HOME && npm install --loglevel=error --no-audit --no-fund --registry http://127.0.0.1:$http/npm/ tiny && node -p 'require(\"tiny\")'
rm -rf node_modules package* .npm
npm install --loglevel=error --no-audit --no-fund --cafile $WORLD/shown/ca.pem --registry https://127.0.0.1:$https/npm/ tiny && node -p 'require(\"tiny\")'"
    check_equal 'npm installs from a registry, over HTTP and HTTPS' 2 "$(grep -c '^tiny from the registry$' "$WORLD/npm.log")"
else
    echo 'not tried: npm is not installed'
fi

if command -v node >/dev/null && node --help | grep -q -e --use-env-proxy; then
    in_run node "node -e 'fetch(\"http://127.0.0.1:$http/files/plain.txt\").then(r => r.text()).then(t => console.log(\"node\", t))'"
    check_has "node's own fetch" '^node plain$' "$WORLD/node.log"
else
    echo 'not tried: this node knows no proxy of the environment (22.21 and 24 do)'
fi

if python3 -m pip --version >/dev/null 2>&1; then
    in_run pip "cd \$HOME && python3 -m pip install -q --disable-pip-version-check --break-system-packages --target lib --trusted-host 127.0.0.1 --index-url http://127.0.0.1:$http/simple tiny && PYTHONPATH=lib python3 -c 'import tiny; print(tiny.text)'
python3 -m pip install -q --disable-pip-version-check --break-system-packages --target lib2 --cert $WORLD/shown/ca.pem --index-url https://127.0.0.1:$https/simple tiny && PYTHONPATH=lib2 python3 -c 'import tiny; print(tiny.text)'"
    check_equal 'pip installs from an index, over HTTP and HTTPS' 2 "$(grep -c '^tiny from the index$' "$WORLD/pip.log")"
else
    echo 'not tried: pip is not installed'
fi

if command -v javac >/dev/null; then
    cat >"$WORLD/shown/Get.java" <<'JAVA'
import java.net.*;
import java.net.http.*;
public class Get {
    public static void main(String[] a) throws Exception {
        System.out.print("stream " + new String(new URL(a[0]).openStream().readAllBytes()));
        HttpRequest ask = HttpRequest.newBuilder(URI.create(a[0])).build();
        System.out.print("client " + HttpClient.newHttpClient().send(ask, HttpResponse.BodyHandlers.ofString()).body());
    }
}
JAVA
    in_run java "java -Dhttp.nonProxyHosts= $WORLD/shown/Get.java http://127.0.0.1:$http/files/plain.txt"
    check_has 'Java by its URLs' '^stream plain$' "$WORLD/java.log"
    check_status 0 "a person's own options for Java stay" headgate box --net "127.0.0.1:$http" --env JAVA_TOOL_OPTIONS=-Downed=yes -- \
        sh -c 'echo "$JAVA_TOOL_OPTIONS"'
    check_has 'beside the proxy' '^-Downed=yes -Dhttp.proxyHost=' "$OUT"
    check_has "and by its HTTP client" '^client plain$' "$WORLD/java.log"
else
    echo 'not tried: Java is not installed'
fi

if command -v cargo >/dev/null && cargo --version | awk '{ split($2, v, "."); exit !(v[1] > 1 || v[2] >= 68) }'; then
    in_run cargo "cargo new -q \$HOME/uses && cd \$HOME/uses && mkdir .cargo && cat >.cargo/config.toml <<CONFIG
[source.crates-io]
replace-with = 'here'
[source.here]
registry = 'sparse+http://127.0.0.1:$http/cargo/'
CONFIG
cargo add -q tiny 2>&1; cargo fetch -q && grep -A1 'name = \"tiny\"' Cargo.lock"
    check_has 'cargo fetches from a sparse registry' 'version = "1.0.0"' "$WORLD/cargo.log"
else
    echo 'not tried: there is no cargo of 1.68 or later'
fi

# Straight there, without the proxy, nothing is reached.
in_run straight "curl -s --noproxy '*' -m 5 http://127.0.0.1:$http/files/plain.txt || echo no way
git -c http.proxy= clone -q http://127.0.0.1:$http/git/lib.git \$HOME/d || echo no clone"
check_has 'control: without the proxy there is no way' '^no way$' "$WORLD/straight.log"
check_has 'nor for git' '^no clone$' "$WORLD/straight.log"
headgate gate log --json -n 500 >"$WORLD/gate.json"
check_equal 'the log counts bytes both ways' true \
    "$(jq '[.rows[] | select(.kind == "net" and .body.connections > 0) | .body.up > 0 and .body.down > 0] | length > 3 and all' "$WORLD/gate.json")"
