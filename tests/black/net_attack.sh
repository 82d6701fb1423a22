#!/bin/sh
# What an agent could try to get out of its box by the network. Each attempt runs beside its control: the same
# bytes with the honest name, or outside of a box, so that a wall that stops everything does not pass.
. "$(dirname "$0")/../lib.sh"
for program in python3 openssl; do command -v $program >/dev/null || skip "$program is not installed"; done

# Servers of the host: one answers every HTTP request with its Host and how many came on that connection, one
# counts the bytes of whatever comes.
cat >"$WORLD/serve.py" <<'PY'
import os, socket, sys, threading
def serve(sock, answer):
    while True:
        client, _ = sock.accept()
        threading.Thread(target=answer, args=(client,), daemon=True).start()
def http(client):
    data, n = b"", 0
    while True:
        piece = client.recv(65536)
        if not piece:
            return
        data += piece
        n += data.count(b"\r\n\r\n")
        data = b""
        body = b"served %d\n" % n
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
def count(client):
    data = client.recv(65536)
    client.sendall(b"got %d\n" % len(data))
    client.close()
for name, answer in (("http", http), ("raw", count)):
    sock = socket.create_server(("127.0.0.1", 0), backlog=128)
    threading.Thread(target=serve, args=(sock, answer), daemon=True).start()
    with open("%s/%s.port.new" % (sys.argv[1], name), "w") as out:
        out.write(str(sock.getsockname()[1]))
    os.rename("%s/%s.port.new" % (sys.argv[1], name), "%s/%s.port" % (sys.argv[1], name))
threading.Event().wait()
PY
python3 "$WORLD/serve.py" "$WORLD" &
BACKGROUND="$BACKGROUND $!"
until_true 20 test -s "$WORLD/raw.port" || die 'the servers did not start'
http=$(cat "$WORLD/http.port") raw=$(cat "$WORLD/raw.port")

mkdir "$WORLD/work" && cd "$WORLD/work" && chmod 777 .
cat >try.py <<'PY'
import os, socket, struct, sys, time
from concurrent.futures import ThreadPoolExecutor
http, raw = int(sys.argv[1]), int(sys.argv[2])
place = os.environ["HEADGATE_PROXY"].rsplit(":", 1)
def talk(data, wait=5, more=b""):
    with socket.create_connection((place[0], int(place[1]))) as s:
        s.settimeout(wait)
        out = b""
        try:
            s.sendall(data)
            if more:
                out = s.recv(65536)
                s.sendall(more)
            while True:
                piece = s.recv(65536)
                if not piece:
                    break
                out += piece
        except socket.timeout:
            out += b" TIMEOUT"
        except OSError as e:
            out += b" RESET"
    return out
# All at once, each on a connection of its own; told in their order.
pool, tries = ThreadPoolExecutor(32), []
def say(name, data, **how):
    tries.append((name, pool.submit(talk, data, **how)))
def get(host, head="", target=None):
    return ("GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n" % (target or "http://127.0.0.1:%d/" % http, host, head)).encode()
def hello(name):
    ext = b"" if name is None else struct.pack(">HHHBH", 0, len(name) + 5, len(name) + 3, 0, len(name)) + name
    body = b"\3\3" + b"r" * 32 + b"\0\0\2\x13\1\1\0" + struct.pack(">H", len(ext)) + ext
    message = b"\1" + struct.pack(">I", len(body))[1:] + body
    return b"\x16\3\1" + struct.pack(">H", len(message)) + message
me = "127.0.0.1:%d" % http
through = ("CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n" % raw).encode()
say("honest", get(me))
say("other-host", get("evil.example"))
say("no-host", b"GET http://%s/ HTTP/1.1\r\n\r\n" % me.encode())
say("two-hosts", get(me, "Host: evil.example\r\n"))
say("pipelined", get(me) + get("evil.example"))
say("te-and-cl", get(me, "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n"))
say("bare-lf", get(me).replace(b"\r\n", b"\n"))
say("fold", get(me, "A: b\r\n c\r\n"))
say("upgrade", get(me, "Connection: upgrade\r\nUpgrade: websocket\r\n"))
say("origin-form", get(me, target="/"))
say("huge", get(me, "A: " + "a" * 40000 + "\r\n"))
say("suffix", b"CONNECT 127.0.0.1.evil.example:%d HTTP/1.1\r\n\r\n" % raw)
say("octal", b"CONNECT 0177.0.0.1:%d HTTP/1.1\r\n\r\n" % raw)
say("decimal", b"CONNECT 2130706433:%d HTTP/1.1\r\n\r\n" % raw)
say("mapped", b"CONNECT [::ffff:127.0.0.1]:%d HTTP/1.1\r\n\r\n" % raw, more=b"hello")
say("other-port", b"CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n")
say("name", b"CONNECT localhost:%d HTTP/1.1\r\n\r\n" % raw)
say("raw", through, more=b"SSH-2.0-hello\r\n")
say("own-sni", through, more=hello(None))
say("other-sni", through, more=hello(b"evil.example"))
say("socks-nul", b"\5\1\0", more=b"\5\1\0\3\x10127.0.0.1\0.a.com\0\x50")
say("udp-associate", b"\5\1\0", more=b"\5\3\0\1\x7f\0\0\1\0\x50")
start = time.time()
say("slow", b"GET http://", wait=30)
for name, out in tries:
    print(name, out.result().decode("latin1").replace("\r\n", "|").replace("\n", "|").replace("\0", "."))
print("slow took", int(time.time() - start) <= 15)
for family, kind, proto, name in ((socket.AF_INET, socket.SOCK_STREAM, 0, "tcp"), (socket.AF_INET6, socket.SOCK_STREAM, 0, "tcp6"),
                                  (socket.AF_INET, socket.SOCK_DGRAM, 0, "udp"), (socket.AF_INET, socket.SOCK_STREAM, 262, "mptcp"),
                                  (socket.AF_INET, socket.SOCK_STREAM, 132, "sctp"), (socket.AF_INET, socket.SOCK_RAW, 1, "icmp"),
                                  (40, socket.SOCK_STREAM, 0, "vsock")):
    try:
        s = socket.socket(family, kind, proto)
        s.settimeout(3)
        s.connect((2, 22) if name == "vsock" else ("2606:4700::1111" if family == socket.AF_INET6 else "1.1.1.1", 53))
        print("direct", name, "REACHED")
    except OSError as e:
        print("direct", name, "no:", e.strerror or e)
try:
    s = socket.socket()
    s.sendto(b"x", 0x20000000, ("127.0.0.1", raw))
    print("fastopen REACHED")
except OSError as e:
    print("fastopen no:", e.strerror)
try:
    socket.getaddrinfo("secret.evil.example", 80)
    print("dns REACHED")
except OSError as e:
    print("dns no")
PY
headgate box --net "127.0.0.1:$http" --net "127.0.0.1:$raw" -- python3 try.py "$http" "$raw" >"$WORLD/log" 2>&1 ||
    fail "the attempts ended with $?"
check_has 'control: an honest request is served' '^honest HTTP/1.1 200 .*served 1' "$WORLD/log"
check_has 'another Host is misdirected' '^other-host HTTP/1.1 421 ' "$WORLD/log"
check_has 'no Host too' '^no-host HTTP/1.1 421 ' "$WORLD/log"
check_has 'two Hosts are refused' '^two-hosts HTTP/1.1 400 ' "$WORLD/log"
check_has 'a second request on a connection goes nowhere' '^pipelined HTTP/1.1 200 .*Connection: close.*served 1\|' "$WORLD/log"
check_lacks 'not even as bytes' '^pipelined .*served 2' "$WORLD/log"
for name in te-and-cl bare-lf fold origin-form huge octal decimal; do
    check_has "$name is refused" "^$name HTTP/1.1 400 " "$WORLD/log"
done
check_has 'an upgrade is not passed on' '^upgrade HTTP/1.1 200 .*served 1' "$WORLD/log"
check_has 'a longer name is another host' '^suffix HTTP/1.1 403 ' "$WORLD/log"
check_has 'control: a mapped address is the address that is listed' '^mapped .*got 5' "$WORLD/log"
check_has 'another port is not listed' '^other-port HTTP/1.1 403 ' "$WORLD/log"
check_has 'a name for a listed address is not listed' '^name HTTP/1.1 403 ' "$WORLD/log"
check_has 'control: raw bytes pass on a listed port' '^raw HTTP/1.1 200 .*got 15' "$WORLD/log"
check_has 'control: a hello without a name passes to an address' '^own-sni HTTP/1.1 200 .*got ' "$WORLD/log"
check_lacks 'a hello with another name does not' '^other-sni .*got ' "$WORLD/log"
check_lacks 'a name with a zero byte is not taken' '^socks-nul .*got ' "$WORLD/log"
check_has 'SOCKS serves CONNECT only' '^udp-associate ' "$WORLD/log"
check_has 'a head that drips is cut off' '^slow took True' "$WORLD/log"
check_lacks 'nothing is reached directly' 'REACHED' "$WORLD/log"
check_has 'and all of it was tried' '^dns no' "$WORLD/log"
