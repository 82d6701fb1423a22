#!/usr/bin/env python3
"""An issuer of a subscription's tokens that rotates them, and the model server behind it, on loopback over TLS, for tests.

    issuer.py CERTIFICATE KEY LOG.jsonl FORM LIFETIME MODEL_PORT

FORM is `claude` or `codex`; LIFETIME the seconds that an access token is said to live. Prints `port N plain M` once it listens; M is the same in the
clear, for programs that want a chain of certificates. The login starts with the tokens that GET /test/login prints as the file that the program keeps.

As with the real ones, a refresh token is good once. One that comes again is a `reuse`, and ends the login: nothing is valid from
then on. A request to the model must bear an access token that is valid; it then goes on to the server at MODEL_PORT.

    GET /test/login     a new login, as the program's file
    GET /test/expire    access tokens of before are not valid any more; the login is
    GET /test/revoke    the login ended
    GET /test/break     renewals are answered with HTTP 500 until /test/mend
    GET /test/slow?S    a renewal takes S seconds

Lines of LOG: {"event": "renew"|"reuse"|"unknown"|"broken", "token": N}, {"event": "call", "path", "status", "account", "n"}.
"""
import base64
import http.client
import http.server
import json
import socketserver
import ssl
import sys
import threading
import time

CERTIFICATE, KEY, LOG_FILE, FORM, LIFETIME, MODEL_PORT = sys.argv[1:7]
LIFETIME = int(LIFETIME)
LOG = open(LOG_FILE, "a", buffering=1)
LOCK = threading.Lock()
ERRORS = {"claude": {"error": {"type": "invalid_grant", "message": "Refresh token not found or invalid"}},
          "codex": {"error": {"code": "refresh_token_reused", "message": "used"}}}


def note(**what):
    with LOCK:
        LOG.write(json.dumps(what) + "\n")


def encode(claims):
    return base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()


def identity(number):
    claims = {"email": "person@example.com", "https://api.openai.com/auth": {
        "chatgpt_plan_type": "pro", "chatgpt_account_id": "acc-test", "chatgpt_user_id": "user-test"}}
    return "%s.%s.id-secret-%d" % (encode({"alg": "none"}), encode(claims), number)


class Login:
    """What is valid now. Tokens of a login are numbered; only the newest refresh token is good."""
    number = 0
    access = {}      # token: the time of its end
    refresh = None
    spent = set()
    revoked = set()  # access tokens that are told with words of their own
    is_broken = False
    pause_s = 0.0

    def issue(self):
        self.number += 1
        end = time.time() + LIFETIME
        access = "at-secret-%d-0123456789" % self.number
        if FORM == "codex":
            access = "%s.%s.%s" % (encode({"alg": "none"}), encode({"exp": int(end), "n": self.number, "https://api.openai.com/auth": {
                "chatgpt_plan_type": "pro", "chatgpt_account_id": "acc-test", "chatgpt_user_id": "user-test"}}), access)
        self.refresh = "rt-secret-%d-0123456789" % self.number
        self.access[access] = end
        return access, self.refresh

    def renew(self, token):
        if self.is_broken:
            return 500, {"error": {"type": "api_error"}}, "broken"
        if token in self.spent:
            self.refresh, self.access = None, {}
            return 401 if FORM == "codex" else 400, ERRORS[FORM], "reuse"
        if token != self.refresh:
            return 401 if FORM == "codex" else 400, ERRORS[FORM], "unknown"
        self.spent.add(token)
        access, refresh = self.issue()
        answer = {"access_token": access, "refresh_token": refresh, "token_type": "Bearer"}
        answer.update({"id_token": identity(self.number)} if FORM == "codex" else
                      {"expires_in": LIFETIME, "scope": "user:inference user:profile"})
        return 200, answer, "renew"

    def file(self):
        self.revoked |= set(self.access) # who logs in anew ends the tokens of before
        self.access = {}
        access, refresh = self.issue()
        if FORM == "codex":
            return {"auth_mode": "chatgpt", "OPENAI_API_KEY": None,
                    "tokens": {"id_token": identity(0), "access_token": access, "refresh_token": refresh,
                               "account_id": "acc-test"}, "last_refresh": "2026-11-20T10:00:00Z", "kept": [1]}
        return {"claudeAiOauth": {"accessToken": access, "refreshToken": refresh,
                                  "expiresAt": int(self.access[access] * 1000), "scopes": ["user:inference", "user:profile"],
                                  "subscriptionType": "max"}, "kept": {"a": [1, None]}}

    def status(self, header):
        token = (header or "").removeprefix("Bearer ")
        return 403 if token in self.revoked else 200 if self.access.get(token, 0) > time.time() else 401


LOGIN = Login()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, data, kind="application/json"):
        data = data if isinstance(data, bytes) else json.dumps(data).encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def test(self, what, value):
        with LOCK:
            if what == "login":
                return self.answer(200, LOGIN.file())
            if what == "expire":
                LOGIN.access = {}
            elif what == "revoke":
                LOGIN.access, LOGIN.refresh = {}, None
            elif what in ("break", "mend"):
                LOGIN.is_broken = what == "break"
            elif what == "slow":
                LOGIN.pause_s = float(value)
        return self.answer(200, {})

    def renew(self, body):
        token = body.get("refresh_token", "")
        with LOCK:
            status, answer, event = LOGIN.renew(token)
        number = token.split("-")[2] if token.startswith("rt-secret-") else "?"
        note(event=event, token=number, grant=body.get("grant_type"), client=body.get("client_id"))
        time.sleep(LOGIN.pause_s) # the old one is spent already: what a second process could fall into
        self.answer(status, answer)

    def forward(self, raw):
        connection = http.client.HTTPConnection("127.0.0.1", int(MODEL_PORT), timeout=60)
        connection.request(self.command, self.path, raw, {k: v for k, v in self.headers.items() if k.lower() != "host"})
        response = connection.getresponse()
        self.answer(response.status, response.read(), response.headers.get("content-type", "text/plain"))

    def model(self, raw):
        with LOCK:
            status = LOGIN.status(self.headers.get("authorization"))
        note(event="call", path=self.path, status=status, account=self.headers.get("chatgpt-account-id"),
             n=len(raw), beta="oauth-2025-04-20" in self.headers.get("anthropic-beta", ""), key=self.headers.get("x-api-key"))
        if status != 200:
            words = "OAuth token has been revoked" if status == 403 else "token is not valid"
            self.answer(status, {"type": "error", "error": {"type": "authentication_error", "message": words}})
        elif MODEL_PORT == "0":
            self.answer(200, {"ok": True, "n": len(raw)})
        else:
            self.forward(raw)

    def do(self):
        raw = self.rfile.read(int(self.headers.get("content-length") or "0"))
        path, _, value = self.path.partition("?")
        if path.startswith("/test/"):
            self.test(path[len("/test/"):], value)
        elif path.endswith("/oauth/token"):
            self.renew(json.loads(raw or b"{}"))
        else:
            self.model(raw)

    do_GET = do_POST = do_HEAD = do


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):
        pass # agents break connections off


CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
CONTEXT.load_cert_chain(CERTIFICATE, KEY)
plain = Server(("127.0.0.1", 0), Handler)
threading.Thread(target=plain.serve_forever, daemon=True).start()
server = Server(("127.0.0.1", 0), Handler)
server.socket = CONTEXT.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
print("port", server.server_address[1], "plain", plain.server_address[1], flush=True)
server.serve_forever()
