#!/usr/bin/env python3
"""In front of an agent whose hook is code in its own process: a gate with faults.

    faulty_gate.py PROGRAM ARG...

Becomes PROGRAM, with HEADGATE_GATE naming a socket of this one's, which hands on to the real gate whatever names no fault. A call
names its fault in its own text, as in `touch fault-garbage`.
"""
import os
import re
import socket
import sys
import threading

REAL = os.environ["HEADGATE_GATE"]
OWN = "/tmp/faulty-gate.sock"

PRINTS = {
    "silent": "",
    "garbage": "allow\nyes {\"\n",
    "half": '{"v":1,"decision":"allow"',
    "loose": '{"decision":"allow"}\n',
    "version": '{"v":2,"decision":"allow","reason":"","call":""}\n',
    "word": '{"v":1,"decision":"Allow","reason":"","call":""}\n',
    "list": '[{"v":1,"decision":"allow"}]\n',
    "null": "null\n",
}


def line_of(stream):
    text = b""
    while not text.endswith(b"\n"):
        piece = stream.recv(65536)
        if not piece:
            break
        text += piece
    return text.decode()


def ask(line):
    with socket.socket(socket.AF_UNIX) as gate:
        gate.connect(REAL)
        gate.sendall(line.encode())
        return line_of(gate)


def serve(caller):
    with caller:
        line = line_of(caller)
        named = re.search(r"fault-([a-z0-9-]+)", line)
        fault = named.group(1) if named else "none"
        if fault == "late":
            caller.recv(1) # until it hangs up
            return
        if fault in PRINTS:
            caller.sendall(PRINTS[fault].encode())
            return
        answer = ask(line)
        if fault == "twice":
            answer = ask(line)
        caller.sendall(answer.encode())


listener = socket.socket(socket.AF_UNIX)
listener.bind(OWN)
listener.listen(16)
if os.fork() == 0:
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
os.environ["HEADGATE_GATE"] = OWN
os.execv(sys.argv[1], sys.argv[1:])
