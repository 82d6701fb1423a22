#!/usr/bin/env python3
"""An ssh server on loopback that lets one key in, and runs what it is asked to as whoever runs this.

    sshd.py HOST-KEY AUTHORIZED-PUBLIC-KEY PORT-FILE

PORT-FILE appears once it listens. (The real sshd would be a daemon of the machine: its package starts it.)
"""
import os
import socket
import subprocess
import sys
import threading

import paramiko

HOST = paramiko.Ed25519Key.from_private_key_file(sys.argv[1])
ALLOWED = open(sys.argv[2]).read().split()[1]


class Server(paramiko.ServerInterface):
    def get_allowed_auths(self, name):
        return "publickey"

    def check_auth_publickey(self, name, key):
        return paramiko.AUTH_SUCCESSFUL if key.get_base64() == ALLOWED else paramiko.AUTH_FAILED

    def check_channel_request(self, kind, number):
        return paramiko.OPEN_SUCCEEDED if kind == "session" else paramiko.OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED

    def check_channel_env_request(self, channel, name, value):
        return False

    def check_channel_exec_request(self, channel, command):
        threading.Thread(target=run, args=(channel, command), daemon=True).start()
        return True


def feed(channel, process):
    while (data := channel.recv(65536)):
        process.stdin.write(data)
        process.stdin.flush()
    process.stdin.close()


def report(channel, process):
    while (data := process.stderr.read1(65536)):
        channel.sendall_stderr(data)


def run(channel, command):
    process = subprocess.Popen(["sh", "-c", command.decode()], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    threading.Thread(target=feed, args=(channel, process), daemon=True).start()
    errors = threading.Thread(target=report, args=(channel, process), daemon=True)
    errors.start()
    while (data := process.stdout.read1(65536)):
        channel.sendall(data)
    errors.join()
    channel.send_exit_status(process.wait())
    channel.close()


sock = socket.create_server(("127.0.0.1", 0), backlog=16)
with open(sys.argv[3] + ".new", "w") as out:
    out.write(str(sock.getsockname()[1]))
os.rename(sys.argv[3] + ".new", sys.argv[3])
kept = []
while True:
    transport = paramiko.Transport(sock.accept()[0])
    transport.add_server_key(HOST)
    try:
        transport.start_server(threading.Event(), Server())
    except (paramiko.SSHException, EOFError):
        continue
    kept.append(transport)
