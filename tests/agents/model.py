#!/usr/bin/env python3
"""A model server for tests: Anthropic's Messages protocol on loopback, answering from a script.

    model.py SCRIPT.json LOG.jsonl [PORT]

Prints `port N` once it listens. SCRIPT maps a conversation's name to its turns; a conversation is named by the
first `@@NAME@@` in its user text, and the turn is the number of assistant messages that it already holds:

    {"main": [{"calls": [{"name": "Bash", "input": {"command": "make"}}]}, {"text": "done"}]}

`{{CWD}}` in a script becomes the folder that the agent told of itself. Each request is a line of
LOG: conversation, turn, tool results as the agent sent them, tools offered, and the reply.
"""
import http.server
import json
import re
import socketserver
import sys
import threading

SCRIPT = json.load(open(sys.argv[1]))
LOG = open(sys.argv[2], "a", buffering=1)
LOCK = threading.Lock()
SEQUENCE = iter(range(1, 1 << 30))


def text_of(content):
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text") or text_of(part.get("content") or "") for part in content)


def digest(body):
    """What the script needs to know of a request: who speaks, which turn, what the tools said."""
    users, results, turn = [], [], 0
    for message in body.get("messages", []):
        if message["role"] == "assistant":
            turn += 1
            continue
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for part in parts:
            if part["type"] == "text":
                users.append(part["text"])
            elif part["type"] == "tool_result":
                results.append({"id": part["tool_use_id"], "is_error": part.get("is_error", False),
                                "text": text_of(part.get("content") or "")})
    named = re.search(r"@@(\w+)@@", "\n".join(users))
    return named.group(1) if named else None, turn, results, users


def working_folder(body):
    text = text_of(body.get("system") or "") + "\n" + "\n".join(
        text_of(m["content"]) for m in body.get("messages", []))
    found = re.search(r"[Ww]orking directory: (\S+)", text)
    return found.group(1) if found else "/"


def reply_for(body):
    name, turn, results, users = digest(body)
    turns = SCRIPT.get(name, [])
    step = turns[turn] if turn < len(turns) else {"text": "nothing more to do"}
    step = json.loads(json.dumps(step).replace("{{CWD}}", working_folder(body)))
    with LOCK:
        LOG.write(json.dumps({"conversation": name, "turn": turn, "results": results, "reply": step,
                              "model": body.get("model"), "users": [u[:300] for u in users[:4]],
                              "tools": [t.get("name") for t in body.get("tools", [])]}) + "\n")
    return step


def content_of(step):
    content = [{"type": "text", "text": step["text"]}] if step.get("text") else []
    for call in step.get("calls", []):
        content.append({"type": "tool_use", "id": "toolu_%06d" % next(SEQUENCE), "name": call["name"],
                        "input": call["input"]})
    return content


def stream_events(message, content, stop):
    usage = message["usage"]
    yield {"type": "message_start", "message": message}
    for index, block in enumerate(content):
        if block["type"] == "text":
            yield {"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}}
            yield {"type": "content_block_delta", "index": index,
                   "delta": {"type": "text_delta", "text": block["text"]}}
        else:
            yield {"type": "content_block_start", "index": index, "content_block": dict(block, input={})}
            yield {"type": "content_block_delta", "index": index,
                   "delta": {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}}
        yield {"type": "content_block_stop", "index": index}
    yield {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None},
           "usage": {"output_tokens": usage["output_tokens"]}}
    yield {"type": "message_stop"}


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

    def do_GET(self):
        self.answer("application/json", b'{"data":[]}')

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", "0"))) or b"{}")
        if "/messages" not in self.path:
            self.answer("application/json", b"{}")
        elif "count_tokens" in self.path:
            self.answer("application/json", b'{"input_tokens":100}')
        else:
            self.message(body)

    def message(self, body):
        step = reply_for(body)
        content = content_of(step)
        stop = "tool_use" if step.get("calls") else "end_turn"
        message = {"id": "msg_%06d" % next(SEQUENCE), "type": "message", "role": "assistant",
                   "model": body.get("model"), "content": [], "stop_reason": None, "stop_sequence": None,
                   "usage": {"input_tokens": 100, "output_tokens": 20, "cache_creation_input_tokens": 0,
                             "cache_read_input_tokens": 0}}
        if not body.get("stream"):
            message.update(content=content, stop_reason=stop)
            self.answer("application/json", json.dumps(message).encode())
            return
        data = "".join("event: %s\ndata: %s\n\n" % (e["type"], json.dumps(e))
                       for e in stream_events(message, content, stop))
        self.answer("text/event-stream", data.encode())


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


server = Server(("127.0.0.1", int(sys.argv[3]) if len(sys.argv) > 3 else 0), Handler)
print("port", server.server_address[1], flush=True)
server.serve_forever()
