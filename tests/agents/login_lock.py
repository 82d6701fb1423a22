#!/usr/bin/env python3
"""The person's own program, as far as its login goes: renews N times under the lock of Claude Code, as that does (folders that are
made and removed, the file read again under the lock), against the issuer of issuer.py.

    login_lock.py FILE ISSUER_URL CERTIFICATE N

Renews only the login that it finds: a token that is not the one that it began with was somebody else's to renew. Prints how often
it renewed, and fails when the issuer refuses.
"""
import json
import os
import random
import ssl
import sys
import time
import urllib.request

FILE, ISSUER, CERTIFICATE, TIMES = sys.argv[1:5]
FOLDER = os.path.dirname(FILE)
LOCKS = [os.path.join(FOLDER, ".oauth_refresh.lock"), os.path.realpath(FOLDER) + ".lock"]
CONTEXT = ssl.create_default_context(cafile=CERTIFICATE)


def take():
    taken = []
    try:
        for path in LOCKS:
            os.mkdir(path)
            taken.append(path)
    except FileExistsError:
        for path in reversed(taken):
            os.rmdir(path)
        return False
    return True


def renew():
    while not take():
        time.sleep(random.uniform(0.005, 0.02))
    try:
        held = json.load(open(FILE))
        login = held["claudeAiOauth"]
        body = {"grant_type": "refresh_token", "refresh_token": login["refreshToken"]}
        request = urllib.request.Request(ISSUER, json.dumps(body).encode(), {"content-type": "application/json"})
        answer = json.load(urllib.request.urlopen(request, context=CONTEXT))
        login["accessToken"], login["refreshToken"] = answer["access_token"], answer["refresh_token"]
        login["expiresAt"] = int((time.time() + answer["expires_in"]) * 1000)
        temp = FILE + ".own"
        with open(os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
            json.dump(held, out)
        os.rename(temp, FILE)
    finally:
        for path in reversed(LOCKS):
            os.rmdir(path)


for _ in range(int(TIMES)):
    renew()
print(TIMES)
