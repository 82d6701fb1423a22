#!/bin/sh
# Ports 443 and 80, and names, end to end: a network namespace of the test's own, in which those ports can be bound and
# names lead where its /etc/hosts says. What a client sends must be for the host that it asked for, a name leads only
# where it may, and each refusal has a control that passes.
if [ "${1:-}" != inside ]; then
    hosts=$(mktemp)
    trap 'rm -f "$hosts"' EXIT
    cat >"$hosts" <<'HOSTS'
127.0.0.1 localhost listed.test other.test
127.0.0.2 rebound.test
11.22.33.44 own.test
169.254.169.254 metadata.test
fd00::1 local.test
HOSTS
    enter='ip link set lo up && ip address add 11.22.33.44/32 dev lo && mount --bind "$1" /etc/hosts &&
        echo 0 >/proc/sys/net/ipv4/ip_unprivileged_port_start'
    own=--map-current-user
    [ "$(id -u)" != 0 ] || own=
    # shellcheck disable=SC2086
    in_namespace() { PATH=$PATH:/usr/sbin:/sbin unshare ${own:+--user $own --keep-caps} --net --mount "$@"; }
    if ! why=$(in_namespace sh -c "$enter" sh "$hosts" 2>&1); then
        echo "skipped: no network namespace for the test: $why"
        exit 77
    fi
    in_namespace sh -c "$enter"' && exec setpriv --inh-caps=-all --ambient-caps=-all sh "$2" inside' sh "$hosts" "$0"
    exit $?
fi
. "$(dirname "$0")/../lib.sh"
for program in curl python3 openssl; do command -v $program >/dev/null || skip "$program is not installed"; done

openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=listed.test -addext subjectAltName=DNS:listed.test,DNS:own.test,DNS:rebound.test \
    -keyout "$WORLD/key.pem" -out "$WORLD/ca.pem" -days 2 >/dev/null 2>&1
cat "$WORLD/key.pem" "$WORLD/ca.pem" >"$WORLD/both.pem"
# Servers of the host on every address: each tells what it saw.
cat >"$WORLD/serve.py" <<'PY'
import http.server, os, socket, socketserver, ssl, struct, sys, threading
world, seen = sys.argv[1], open(sys.argv[1] + "/seen", "a", buffering=1)
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *words):
        pass
    def do_GET(self):
        seen.write("request %s %s upgrade=%s\n" % (self.headers["Host"], self.path, self.headers.get("Upgrade")))
        body = b"served %s\n" % self.path.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    def handle_error(self, request, client_address):
        pass
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(world + "/both.pem")
def on_name(sock, name, context):
    seen.write("sni %s\n" % name)
context.sni_callback = on_name
class Tls(Server):
    def get_request(self):
        sock, address = self.socket.accept()
        seen.write("tls connection\n")
        return context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False), address
for kind, port in ((Server, 80), (Tls, 443)):
    threading.Thread(target=kind(("0.0.0.0", port), Handler).serve_forever, daemon=True).start()
# A server that always wants a second hello (RFC 8446, 4.1.4), and tells what name came in it.
random = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
body = b"\3\3" + random + b"\0\x13\1\0\0\6\0\x2b\0\2\3\4"
retry = b"\x16\3\3" + struct.pack(">H", len(body) + 4) + b"\2" + struct.pack(">I", len(body))[1:] + body
def ask_again(sock):
    while True:
        client, _ = sock.accept()
        try:
            client.settimeout(10)
            client.recv(65536)
            for i in range(len(retry)):
                client.sendall(retry[i:i + 1])
            data = client.recv(65536)
            seen.write("second hello %s\n" % ("other" if b"other.test" in data else "listed" if b"listed.test" in data else "none"))
        except OSError:
            pass
        client.close()
threading.Thread(target=ask_again, args=(socket.create_server(("0.0.0.0", 8443)),), daemon=True).start()
open(world + "/ready", "w").close()
threading.Event().wait()
PY
python3 "$WORLD/serve.py" "$WORLD" >"$WORLD/serve.log" 2>&1 &
BACKGROUND="$BACKGROUND $!"
until_true 20 test -e "$WORLD/ready" || die "the servers did not start: $(cat "$WORLD/serve.log")"

mkdir "$WORLD/work" "$WORLD/shown" && cd "$WORLD/work" && chmod 777 .
cp "$WORLD/ca.pem" "$WORLD/shown/"
cat >try.py <<'PY'
import os, socket, ssl, struct, sys
place = os.environ["HEADGATE_PROXY"].rsplit(":", 1)
def say(name, out):
    print(name, out.decode("latin1").replace("\r\n", "|").replace("\n", "|"), flush=True)
def dial():
    s = socket.create_connection((place[0], int(place[1])))
    s.settimeout(15)
    return s
def rest(s):
    out = b""
    try:
        while (piece := s.recv(65536)):
            out += piece
    except OSError as e:
        out += b" " + type(e).__name__.encode()
    return out
def talk(data, more=b""):
    with dial() as s:
        s.sendall(data)
        head = b""
        if more:
            head = s.recv(65536)
            try:
                s.sendall(more)
            except OSError:
                pass
        return head + rest(s)
def connect(target):
    return ("CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (target, target)).encode()
def get(host, path="/", head=""):
    return ("GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n" % (path, host, head)).encode()
def tls(target, name):
    context = ssl.create_default_context(cafile=sys.argv[1])
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with dial() as s:
        s.sendall(connect(target))
        head = s.recv(65536)
        if b" 200 " not in head:
            return head
        try:
            with context.wrap_socket(s, server_hostname=name) as t:
                t.sendall(get(name or "none", "/tls", "Connection: close\r\n"))
                return rest(t)
        except (OSError, ssl.SSLError) as e:
            return b"ended " + type(e).__name__.encode()
def socks(kind, address, port, then=b""):
    return talk(b"\5\1\0", b"\5\1\0" + bytes([kind]) + address + struct.pack(">H", port) + then)
def hello(name):
    ext = struct.pack(">HHHBH", 0, len(name) + 5, len(name) + 3, 0, len(name)) + name
    body = b"\3\3" + b"r" * 32 + b"\0\0\2\x13\1\1\0" + struct.pack(">H", len(ext)) + ext
    message = b"\1" + struct.pack(">I", len(body))[1:] + body
    return b"\x16\3\1" + struct.pack(">H", len(message)) + message
def twice(name, at_once):
    with dial() as s:
        s.sendall(connect("listed.test:8443"))
        head = s.recv(65536)
        s.sendall(hello(b"listed.test") + (hello(name) if at_once else b""))
        head += b"+" if s.recv(1) else b"-"
        if not at_once:
            s.sendall(hello(name))
        return head + (b" closed" if rest(s) is not None else b"")
say("second-same", twice(b"listed.test", False))
say("second-other", twice(b"other.test", False))
say("second-ahead", twice(b"other.test", True))
say("honest-tls", tls("listed.test:443", "listed.test"))
say("other-sni", tls("listed.test:443", "other.test"))
say("longer-sni", tls("listed.test:443", "listed.test.other.test"))
say("no-sni", tls("listed.test:443", None))
say("dot-sni", tls("LISTED.test.:443", "listed.test"))
say("no-tls", talk(connect("listed.test:443"), b"SSH-2.0-OpenSSH_9\r\n"))
say("http-on-443", talk(connect("listed.test:443"), get("listed.test")))
say("honest-80", talk(connect("listed.test:80"), get("listed.test", "/honest")))
say("other-host-80", talk(connect("listed.test:80"), get("other.test", "/other")))
say("no-host-80", talk(connect("listed.test:80"), b"GET /none HTTP/1.1\r\n\r\n"))
say("second-80", talk(connect("listed.test:80"), get("listed.test", "/first") + get("other.test", "/second")))
say("hidden-80", talk(connect("listed.test:80"), b"POST /post HTTP/1.1\r\nHost: listed.test\r\nContent-Length: 0\r\n\r\n" + get("other.test", "/hidden")))
say("ssh-on-80", talk(connect("listed.test:80"), b"SSH-2.0-OpenSSH_9\r\n\r\n"))
say("upgrade-80", talk(connect("listed.test:80"), get("listed.test", "/upgrade", "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABk\r\n")))
say("prior-h2", talk(connect("listed.test:80"), b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
say("not-listed", tls("other.test:443", "other.test"))
say("rebound", tls("rebound.test:443", "rebound.test"))
say("own", tls("own.test:443", "own.test"))
say("own-literal", tls("11.22.33.44:443", None))
say("metadata", talk(connect("metadata.test:80")))
say("ula", talk(connect("local.test:443")))
for name in ("10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.1.1", "169.254.169.254", "100.64.0.1", "224.0.0.1", "0.0.0.0", "127.0.0.2",
             "[::1]", "[fe80::1]", "[fd00::1]", "[ff02::1]", "[::]", "[::ffff:127.0.0.2]", "[64:ff9b::7f00:2]", "[::127.0.0.2]", "[2002:7f00:2::]"):
    say("address-" + name, talk(connect(name + ":443")))
for name in ("127.2", "0x7f000002", "0177.0.0.2", "2130706434", "127.0.0.2%00", "127.0.0.2@listed.test", "listed.test@127.0.0.2", "[fe80::1%lo]",
             "listed.test%2eother.test", "l\u0131sted.test", "\uff11\uff12\uff17.0.0.2", "listed.test\\.other.test", "listed.test:443", "[::1]:443]"):
    say("odd-" + ascii(name), talk(("CONNECT %s:443 HTTP/1.1\r\n\r\n" % name).encode()))
say("socks-honest", socks(3, b"\x0blisted.test", 80, get("listed.test", "/socks")))
say("socks-denied", socks(1, bytes([10, 0, 0, 1]), 443))
say("socks-name", socks(3, b"\x0crebound.test", 443))
say("socks-many", talk(b"\5\0"))
PY
openssl s_server -accept 127.0.0.1:8444 -cert "$WORLD/both.pem" -groups P-521 -www -msg >"$WORLD/again" 2>&1 &
BACKGROUND="$BACKGROUND $!"
until_true 20 grep -q ACCEPT "$WORLD/again" || die 'the server that asks again did not start'
headgate box --ro "$WORLD/shown" --net listed.test --net listed.test:8443 --net 127.0.0.1:8443 --net rebound.test --net own.test --net metadata.test --net local.test --net 127.0.0.1 \
    -- python3 try.py "$WORLD/shown/ca.pem" >"$WORLD/log" 2>&1 || fail "the attempts ended with $?: $(tail -n 5 "$WORLD/log")"
has() { check_has "$1" "$2" "$WORLD/log"; }
has 'control: TLS for the host that was asked for' '^honest-tls HTTP/1.1 200 .*served /tls'
has 'a name has one form' '^dot-sni HTTP/1.1 200 '
for name in other-sni longer-sni no-sni; do has "$name is closed" "^$name ended "; done
has 'what is no TLS is closed' '^no-tls HTTP/1.1 200 Connection established\|\|( [A-Za-z]+)?$'
has 'plain HTTP on 443 too' '^http-on-443 HTTP/1.1 200 Connection established\|\|( [A-Za-z]+)?$'
has 'control: plain HTTP for that host' '^honest-80 .*served /honest'
has 'another Host is misdirected' '^other-host-80 .*HTTP/1.1 421 '
has 'so is none' '^no-host-80 .*HTTP/1.1 421 '
has 'a second request does not follow' '^second-80 .*Connection: close.*served /first\|$'
has 'nor one behind a body' '^hidden-80 .*HTTP/1.1 (200|501) '
has 'what is no HTTP is refused' '^ssh-on-80 .*HTTP/1.1 400 '
has 'an upgrade is served as a request' '^upgrade-80 .*served /upgrade'
has 'HTTP/2 is refused' '^prior-h2 .*HTTP/1.1 400 '
has 'what is not listed is denied' '^not-listed HTTP/1.1 403 '
has 'a name that leads to another loopback address is refused' '^rebound HTTP/1.1 403 .*leads to 127.0.0.2, a loopback address'
has "one that leads to this machine's public address too" "^own HTTP/1.1 403 .*leads to 11.22.33.44, this machine's own address"
has 'and to metadata' '^metadata HTTP/1.1 403 .*a cloud metadata address'
has 'and to a unique local one' '^ula HTTP/1.1 403 .*a private address'
check_equal 'no address of another kind is reached' 18 "$(grep -c '^address-.* HTTP/1.1 403 ' "$WORLD/log")"
check_equal 'no odd form is a host' 14 "$(grep -c '^odd-.* HTTP/1.1 400 ' "$WORLD/log")"
check_equal 'control: SOCKS connects' '5 0' "$(sed -n 's/^socks-honest //p' "$WORLD/log" | od -An -tu1 -j2 -N2 | awk '{ print $1, $2 }')"
check_equal 'SOCKS says that it is not allowed' '5 2' "$(sed -n 's/^socks-denied //p' "$WORLD/log" | od -An -tu1 -j2 -N2 | awk '{ print $1, $2 }')"
check_equal 'also of a name' '5 2' "$(sed -n 's/^socks-name //p' "$WORLD/log" | od -An -tu1 -j2 -N2 | awk '{ print $1, $2 }')"

check_equal 'a second hello for the same host comes through, and no other' 'second hello listed' "$(grep '^second hello' "$WORLD/seen" | grep -v none)"

# What the servers saw: nothing that was meant for another host.
check_equal 'the servers saw one name in TLS' 'sni listed.test' "$(grep '^sni' "$WORLD/seen" | sort -u)"
check_equal 'and one Host' 'listed.test' "$(sed -n 's/^request \([^ ]*\) .*/\1/p' "$WORLD/seen" | sort -u)"
check_lacks 'no hidden request' '/(second|hidden|other|none) ' "$WORLD/seen"
check_lacks 'no upgrade' 'upgrade=h2c' "$WORLD/seen"

check_status 0 'control: a real handshake with a second hello' headgate box --ro "$WORLD/shown" --net listed.test:8444 --net 127.0.0.1:8444 -- sh -c \
    'printf "GET / HTTP/1.0\r\n\r\n" | openssl s_client -proxy "$HEADGATE_PROXY" -connect listed.test:8444 -servername listed.test -groups X25519:P-521 -ign_eof'
check_has 'is answered' '^HTTP/1.0 200' "$OUT"
check_equal 'and had one' 2 "$(grep -c '^<<<.*ClientHello' "$WORLD/again")"

# Controls: listed by address, the same is reached.
check_status 0 'listed by its address, an own one is reached' headgate box --ro "$WORLD/shown" --net own.test --net 11.22.33.44 -- \
    curl -s --cacert "$WORLD/shown/ca.pem" https://own.test/own
check_has 'with its answer' '^served /own' "$OUT"
check_status 0 'and what the name was made to lead to' headgate box --ro "$WORLD/shown" --net rebound.test --net 127.0.0.2 -- \
    curl -s --cacert "$WORLD/shown/ca.pem" https://rebound.test/rebound
check_has 'with its answer too' '^served /rebound' "$OUT"
