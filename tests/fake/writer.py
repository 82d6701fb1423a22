#!/usr/bin/python3
"""Try to write what is read-only, again and again, until the file STOP is there.

writer.py STOP PATH...     prints "PATH TRIES WINS" for each, and "ready" when it begins; a PATH that is not there is made
                           where it begins with + (a folder that leads to a mount is the box's own)
"""
import os
import sys

stop, paths = sys.argv[1], sys.argv[2:]
tries = dict.fromkeys(paths, 0)
wins = dict.fromkeys(paths, 0)
print("ready", flush=True)
while not os.path.exists(stop):
    for path in paths:
        tries[path] += 1
        try:
            make = os.O_CREAT if path[0] == "+" else 0
            fd = os.open(path.lstrip("+"), os.O_WRONLY | os.O_APPEND | make)
            os.write(fd, b"evil\n")
            os.close(fd)
            wins[path] += 1
        except OSError:
            pass
for path in paths:
    print(path, tries[path], wins[path], flush=True)
