#!/usr/bin/python3
"""Two siblings: one has one of everything, the other looks for it.

sibling.py hold NAME PORT KEY          have them, print "ready", and stay until the file NAME.stop is there
sibling.py look NAME PORT KEY FILE     print "WHAT found" or "WHAT nothing" for each; FILE is the holder's own

In an attempt the words are those of its task.
"""
import ctypes
import os
import pathlib
import pty
import socket
import subprocess
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
IPC_CREAT, ADD_KEY, KEYCTL, KEYCTL_SEARCH, USER_KEYRING = 0o1000, 248, 250, 10, -4


def git(*args):
    return subprocess.run(["git", *args], capture_output=True, text=True, check=False)


def hold(name, port, key):
    kept = []
    for path in (f"/tmp/{name}", f"/dev/shm/{name}", f"{name}.txt", os.path.expanduser(f"~/.cache/{name}")):
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        pathlib.Path(path).write_text(name)
    tcp = socket.create_server(("127.0.0.1", port))
    local = socket.socket(socket.AF_UNIX)
    local.bind("\0" + name)
    local.listen()
    segment = libc.shmget(key, 4096, IPC_CREAT | 0o666)
    memory = os.memfd_create(name)
    kept += [tcp, local, memory, pty.openpty(), subprocess.Popen(["sleep", "1000", ], env={name: "1"})]
    libc.syscall(ADD_KEY, b"user", name.encode(), b"secret", 6, USER_KEYRING)
    git("branch", name)
    git("tag", name)
    git("add", "-A")
    git("stash")
    print("ready", os.getcwd(), flush=True)
    while not os.path.exists(f"{name}.stop"):
        time.sleep(0.05)
    kept[-1].kill()
    libc.shmctl(segment, 0, None)
    for path in (f"/tmp/{name}", f"/dev/shm/{name}", os.path.expanduser(f"~/.cache/{name}")):
        os.unlink(path)


def connects(family, address):
    with socket.socket(family) as s:
        return s.connect_ex(address) == 0


def any_process(look):
    for process in pathlib.Path("/proc").iterdir():
        try:
            if process.name.isdigit() and int(process.name) != os.getpid() and look(process):
                return True
        except OSError:
            pass
    return False


def has_memory(process, name):
    return any(f"memfd:{name}" in os.readlink(fd) for fd in (process / "fd").iterdir())


def any_terminal():
    for path in pathlib.Path("/dev/pts").glob("[0-9]*"):
        try:
            os.close(os.open(path, os.O_RDWR | os.O_NOCTTY))
            return True
        except OSError:
            pass
    return False


def is_refused(number, *args):
    return libc.syscall(number, *args) < 0


def look(name, port, key, path):
    found = {
        "file": os.path.exists(path),
        "folder": os.path.exists(os.path.dirname(path)),
        "tmp": os.path.exists(f"/tmp/{name}"),
        "posix-memory": os.path.exists(f"/dev/shm/{name}"),
        "cache": os.path.exists(os.path.expanduser(f"~/.cache/{name}")),
        "port": connects(socket.AF_INET, ("127.0.0.1", port)),
        "abstract-socket": connects(socket.AF_UNIX, "\0" + name),
        "sysv-memory": libc.shmget(key, 0, 0) >= 0,
        "process": any_process(lambda p: name in (p / "environ").read_text(errors="replace")),
        "memory-file": any_process(lambda p: has_memory(p, name)),
        "terminal": any_terminal(),
        "key": not is_refused(KEYCTL, KEYCTL_SEARCH, USER_KEYRING, b"user", name.encode(), 0),
        "branch": git("rev-parse", "-q", "--verify", f"refs/heads/{name}").returncode == 0,
        "tag": git("rev-parse", "-q", "--verify", f"refs/tags/{name}").returncode == 0,
        "stash": git("stash", "list").stdout != "",
    }
    for what, is_found in found.items():
        print("sibling", what, "found" if is_found else "nothing", flush=True)


words = sys.argv[1:] or os.environ["HEADGATE_TASK"].split()
if words[0] == "hold":
    hold(words[1], int(words[2]), int(words[3]))
else:
    look(words[1], int(words[2]), int(words[3]), words[4])
