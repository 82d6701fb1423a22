#!/usr/bin/env python3
"""A model server for tests, on loopback: answers from a script in whichever protocol it is asked (wire.py).

    model.py SCRIPT.json LOG.jsonl [PORT]

Prints `port N` once it listens. SCRIPT maps a conversation's name to its turns; a conversation is named by a
`@@NAME@@` in its user text, and the turn is the number of answers that it already holds:

    {"main": [{"calls": [{"name": "Bash", "input": {"command": "make"}}]}, {"text": "done"}]}

A turn may have `usage` ({"in", "cached", "out"}, tokens) and `fail`, a list: its first requests are answered with these instead,
each {"status", "retry_after"?, "headers"?, "message"?}.

`{{CWD}}` in a script becomes the folder that the agent told of itself, `{{RESULT:key}}` the member `key` of the last
tool result that has one. Each request is a line of LOG: conversation, turn, tool results as the agent sent them,
tools offered, and the reply.
"""
import http.server
import json
import re
import socketserver
import sys
import threading

import wire

SCRIPT = json.load(open(sys.argv[1]))
LOG = open(sys.argv[2], "a", buffering=1)
LOCK = threading.Lock()
FAILED = {} # (conversation, turn) -> how many of its failures were given


def working_folder(raw):
    found = re.search(r"(?:[Ww]orking directory: |<cwd>|Workspace Directories:\*\*\\n *- |cwd: )([^\s<\\\"]+)", raw)
    return found.group(1) if found else "/"


def of_results(results, key):
    for result in reversed(results):
        found = re.search(r'"%s"\s*:\s*"([^"]+)"' % re.escape(key), result["text"])
        if found:
            return found.group(1)
    return "none"


def reply_for(protocol, body, raw, key):
    users, turn, results, tools = protocol.digest(body)
    named = re.search(r"@@(\w+)@@", "\n".join(users))
    name = named.group(1) if named else None
    turns = SCRIPT.get(name, [])
    # Some ask for a title, and offer no tools; Codex tells tools in words.
    if not tools and (protocol is not wire.Responses or "title for this conversation" in raw):
        turns = [{"text": "A title"}]
    step = turns[turn] if turn < len(turns) else {"text": "nothing more to do"}
    text = json.dumps(step).replace("{{CWD}}", working_folder(raw))
    step = json.loads(re.sub(r"\{\{RESULT:(\w+)\}\}", lambda m: of_results(results, m.group(1)), text))
    with LOCK:
        given = FAILED.get((name, turn), 0)
        if given < len(step.get("fail", [])):
            FAILED[name, turn] = given + 1
            step = {"failure": step["fail"][given]}
        LOG.write(json.dumps({"conversation": name, "turn": turn, "results": results, "reply": step,
                              "model": body.get("model"), "key": key, "users": [u[:300] for u in users],
                              "tools": tools}) + "\n")
    return step


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, kind, data):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def fail(self, protocol, failure):
        status = failure["status"]
        data = json.dumps(protocol.error(status, failure.get("message", "failure %d" % status))).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        if "retry_after" in failure:
            self.send_header("retry-after", str(failure["retry_after"]))
        for name, value in failure.get("headers", {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        if self.path.split("?")[0].endswith("/responses"): # how a WebSocket begins
            with LOCK:
                LOG.write(json.dumps({"conversation": None, "transport": "websocket"}) + "\n")
        self.answer("application/json", b'{"object":"list","data":[]}')

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("content-length", "0"))).decode() or "{}"
        path, body = self.path.split("?")[0], json.loads(raw)
        protocol, is_stream = wire.protocol_of(path, body)
        if protocol is None:
            counted = "count" in path.lower() and "token" in path.lower()
            self.answer("application/json", b'{"input_tokens":100,"totalTokens":100}' if counted else b"{}")
            return
        key = self.headers.get("x-api-key") or self.headers.get("x-goog-api-key") or self.headers.get("authorization")
        step = reply_for(protocol, body, raw, key)
        if "failure" in step:
            self.fail(protocol, step["failure"])
            return
        if not is_stream:
            self.answer("application/json", json.dumps(protocol.whole(body, step)).encode())
            return
        data = "".join("%sdata: %s\n\n" % ("event: %s\n" % name if name else "",
                                           event if isinstance(event, str) else json.dumps(event))
                       for name, event in protocol.stream(body, step))
        self.answer("text/event-stream", data.encode())


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


server = Server(("127.0.0.1", int(sys.argv[3]) if len(sys.argv) > 3 else 0), Handler)
print("port", server.server_address[1], flush=True)
server.serve_forever()
