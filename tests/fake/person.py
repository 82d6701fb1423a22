#!/usr/bin/python3
"""A person at work in the repository of this folder: files are written beside and renamed over, as editors and git do it.

person.py save FILE N      FILE, N times
person.py day FILE N       FILE and .git/config, N times, by git itself each tenth time; what else a day brings, in short
"""
import os
import subprocess
import sys

what, file, n = sys.argv[1], sys.argv[2], int(sys.argv[3])


def save(path, text, beside=".new"):
    with open(path + beside, "x") as f:
        f.write(text)
    os.rename(path + beside, path)


def git(*words):
    subprocess.run(["git", *words], check=True)


def configure(i):
    if i % 10 == 0:
        git("config", "user.email", f"p{i}@example.com")
        return
    with open(".git/config") as f:
        save(".git/config", f.read(), ".lock")


def elsewhere():
    git("branch", "-f", "extra", "main")
    git("pack-refs", "--all")
    git("branch", "-q", "-D", "extra")
    git("remote", "add", "r", "/x")
    git("remote", "remove", "r")
    os.rename(file, file + "~")
    save(file, '{"m": 0}\n')
    os.unlink(file + "~")


for i in range(n):
    save(file, f'{{"n": {i}}}\n')
    if what == "day":
        configure(i)
        if i % 100 == 0:
            elsewhere()
        if i % 500 == 0:
            git("gc", "-q")
