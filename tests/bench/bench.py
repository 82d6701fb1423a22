#!/usr/bin/env python3
"""Measures what Headgate claims, against its peers on the same work in the same run.

    bench.py box  [PAIRS]          headgate box -- /bin/true, against bwrap with the same namespaces, and fork and exec
    bench.py run  [PAIRS] [FILES]  headgate run -n 8 -j 8 -- true, against eight `git worktree add`
    bench.py call [CALLS]          one call through the gate: hook client start to exit, and durable decisions a second
    bench.py exec [PAIRS] [FILES]  one exec and `make -j2` of FILES compiles, by policy of the exec gate against none
    bench.py proxy [PAIRS] [MB]    bytes through the egress proxy, against a plain relay (socat)
    bench.py rules [RULES]         the same with 1,000 rules (one judgement alone: rule_bench), and durable decisions a second of eight agents
    bench.py trees [FILES] [ROUNDS]  worktrees: one and ten to the first `git status` in a box, disk and removal, against `git worktree
                                   add`; work inside against a plain checkout; harvests, conflicts of 32, a large diff
    bench.py engines [FILES] [ROUNDS]  each engine of worktrees to its first `git status`, a warm `git grep`, disk and removal, against `git worktree add` on
                                   the same file system; TEST_FS_BTRFS and TEST_FS_XFS name folders on these
    bench.py whole [FILES]         one task on a repository of 100,000 files: start, edit, harvest, merge, discard
    bench.py build [PAIRS] [FILES] a file-heavy `make -j2` of FILES C files in `headgate box`, and in an overlay worktree, against outside
    bench.py rename [FILES] [ROUNDS]  renames in an overlay worktree, each of which parks, against a checkout; a folder of FILES files
                                   of the base, against copying and removing it
    bench.py agents [ROUNDS] [CALLS] [NAME...]  each real agent that is installed (or these), bare against gated: start alone and four
                                   at once, one shell call, and the memory that Headgate adds
    bench.py idle                  memory of server and keeper, and CPU with 8 agents that wait

Figures are medians over alternating pairs; a ratio is the median of the pairs' own ratios. HEADGATE_BIN names the folder of the
programs. Nothing here is a timed test: absolute times of another machine mean nothing.
"""
import json
import os
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import bench_agents
import bench_engines
import bench_rename
import bench_trees

BIN = os.environ.get("HEADGATE_BIN") or sys.exit("HEADGATE_BIN must name the folder of the programs")
WORLD = tempfile.mkdtemp(prefix="headgate-bench.", dir=os.environ.get("TMPDIR", "/var/tmp"))
ENV = {"PATH": BIN + ":/usr/local/bin:/usr/bin:/bin", "HOME": WORLD + "/home", "LANG": "C.UTF-8", "TZ": "UTC",
       "XDG_RUNTIME_DIR": WORLD + "/run", "XDG_STATE_HOME": WORLD + "/state", "XDG_CONFIG_HOME": WORLD + "/config"}


def sh(*argv, **options):
    return subprocess.run(argv, env=ENV, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          stdin=subprocess.DEVNULL, **options).stdout


def seconds(*argv, **options):
    start = time.perf_counter()
    sh(*argv, **options)
    return time.perf_counter() - start


def report(name, times, unit=1e3, unit_name="ms"):
    ordered = sorted(times)
    print("%-44s median %9.2f %s  (%.2f to %.2f, n=%d)" % (
        name, statistics.median(times) * unit, unit_name, ordered[0] * unit, ordered[-1] * unit, len(times)))


def ratio(name, ours, theirs):
    pairs = sorted(a / b for a, b in zip(ours, theirs))
    low, high = pairs[len(pairs) // 10], pairs[-1 - len(pairs) // 10]
    print("%-44s ratio  %9.3f     (80%% of pairs %.3f to %.3f)" % (name, statistics.median(pairs), low, high))


def make_world():
    for folder in ("home", "state", "config"):
        os.mkdir(WORLD + "/" + folder)
    os.mkdir(WORLD + "/run", 0o700)
    sh("git", "config", "--global", "user.name", "Bench")
    sh("git", "config", "--global", "user.email", "bench@example.com")


def make_repo(path, files):
    sh("git", "init", "-q", "-b", "main", path)
    random.seed(7)
    for i in range(files):
        folder = "%s/d%02d/e%02d" % (path, i % 40, i // 40 % 25)
        if i < 1000:
            os.makedirs(folder, exist_ok=True)
        with open("%s/f%05d.c" % (folder, i), "w") as out:
            out.write("".join("int f%d_%d(int x) { return x * %d; }\n" % (i, k, random.randrange(1 << 30))
                              for k in range(random.randrange(20, 160))))
    sh("git", "-C", path, "add", "-A")
    sh("git", "-C", path, "-c", "gc.auto=0", "commit", "-q", "-m", "Many files")
    sh("git", "-C", path, "gc", "-q")  # as one that has been cloned, and so that none runs beside what is measured
    return path


def bench_box(pairs):
    work = WORLD + "/work"
    os.mkdir(work)
    bwrap = ["bwrap", "--unshare-all", "--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib", "--symlink",
             "usr/lib64", "/lib64", "--symlink", "usr/bin", "/bin", "--ro-bind", "/etc", "/etc", "--proc", "/proc",
             "--dev", "/dev", "--tmpfs", "/tmp", "--bind", work, work, "--chdir", work, "--new-session",
             "--die-with-parent", "/bin/true"]
    ours, theirs, plain = [], [], []
    for _ in range(pairs + 2):
        ours.append(seconds("headgate", "box", "--", "/bin/true", cwd=work))
        theirs.append(seconds(*bwrap))
        plain.append(seconds("/bin/true"))
    ours, theirs, plain = ours[2:], theirs[2:], plain[2:]
    report("headgate box -- /bin/true", ours)
    report("bwrap, same namespaces", theirs)
    report("fork and exec /bin/true", plain)
    ratio("headgate box / bwrap", ours, theirs)
    ratio("headgate box / fork and exec", ours, plain)


def bench_run(pairs, files):
    repo = make_repo(WORLD + "/repo", files)
    ours, theirs = [], []
    for i in range(pairs + 1):
        start = time.perf_counter()
        for k in range(8):
            sh("git", "-C", repo, "worktree", "add", "-q", "-b", "b%d-%d" % (i, k), "%s/w/%d-%d" % (WORLD, i, k))
        theirs.append(time.perf_counter() - start)
        start = time.perf_counter()
        sh("headgate", "run", "-n", "8", "-j", "8", "--ladder", "auto", "--", "true", cwd=repo)
        ours.append(time.perf_counter() - start)
        for k in range(8):
            shutil.rmtree("%s/w/%d-%d" % (WORLD, i, k))
        sh("git", "-C", repo, "worktree", "prune")
        sh("headgate", "discard", "--force", str(json.loads(sh("headgate", "ls", "--json"))["attempts"][-1]["run"]), cwd=repo)
        print("pair %d: %.2f s, %.2f s" % (i, ours[-1], theirs[-1]), flush=True)
    print("the first pair made the base checkout and is not counted: %.2f s" % ours[0])
    report("headgate run -n 8 -j 8 -- true", ours[1:], 1, "s")
    report("eight git worktree add", theirs[1:], 1, "s")
    ratio("headgate / git", ours[1:], theirs[1:])


PROBE = r"""
import json, os, socket, subprocess, sys, time
n = int(sys.argv[1]); request = json.dumps({"tool": "Edit", "args": {"file_path": os.getcwd() + "/x"}, "cwd": os.getcwd()}).encode()
def hook():
    start = time.perf_counter()
    done = subprocess.run([os.environ["HEADGATE_HOOK"]], input=request, stdout=subprocess.PIPE)
    assert done.returncode == 0, done
    return time.perf_counter() - start
def plain():
    start = time.perf_counter(); subprocess.run(["/bin/true"], input=request, stdout=subprocess.PIPE); return time.perf_counter() - start
line = json.dumps({"v": 1, "source": "hook", "agent": "bench", "tool": "Edit", "args": {"file_path": os.getcwd() + "/x"}, "cwd": os.getcwd()}).encode() + b"\n"
def direct():
    s = socket.socket(socket.AF_UNIX); s.connect(os.environ["HEADGATE_GATE"]); s.sendall(line)
    assert json.loads(s.recv(65536))["decision"] == "allow"; s.close()
def paced(call):
    out = []
    for _ in range(n):
        out.append(call()); time.sleep(0.006)  # below the calls a second that an attempt may make
    return out
hooks, trues = paced(hook), paced(plain)
time.sleep(max(0, float(sys.argv[2]) - time.time()) if len(sys.argv) > 2 else 0)  # all begin at once
start = time.time()
for _ in range(150): direct()
end = time.time()
print("RESULT " + json.dumps({"hook": hooks, "true": trues, "rate": 150 / (end - start), "start": start, "end": end}))
"""


def bench_call(calls):
    repo = make_repo(WORLD + "/repo", 20)
    with open(WORLD + "/probe.py", "w") as out:
        out.write(PROBE)
    sh("headgate", "run", "--ladder", "auto", "--ro", WORLD + "/probe.py", "--", "python3", WORLD + "/probe.py", str(calls), cwd=repo)
    attempt = json.loads(sh("headgate", "ls", "--json"))["attempts"][-1]["id"]
    line = next(l for l in sh("headgate", "logs", attempt).splitlines() if l.startswith("RESULT "))
    result = json.loads(line[7:])
    for name in ("hook", "true"):
        times = sorted(result[name])
        print("%-44s p50 %7.2f ms  p99 %7.2f ms  (n=%d)" % (
            {"hook": "headgate-hook, start to exit, allowed", "true": "/bin/true, same way"}[name],
            statistics.median(times) * 1e3, times[len(times) * 99 // 100] * 1e3, len(times)))
    print("%-44s %.0f a second (one caller, each on disk before its answer)" % ("durable decisions", result["rate"]))


def bench_rules(rules):
    """The hook's way with many rules, and durable decisions by one and by eight agents at once."""
    with open(WORLD + "/rules", "w") as out:
        for i in range(rules):
            out.write(("allow command tool%d run\n" if i % 2 else "deny path private/%d/\n") % i)
    sh("headgate", "gate", "rule", "import", WORLD + "/rules")
    print("with %d rules:" % rules)
    bench_call(300)
    repo = WORLD + "/repo"
    sh("headgate", "run", "-n", "8", "-j", "8", "--ladder", "auto", "--ro", WORLD + "/probe.py", "--", "python3",
       WORLD + "/probe.py", "1", str(time.time() + 8), cwd=repo)
    attempts = json.loads(sh("headgate", "ls", "--json"))["attempts"]
    last = max(a["run"] for a in attempts)
    results = []
    for attempt in (a["id"] for a in attempts if a["run"] == last):
        lines = [l for l in sh("headgate", "logs", attempt).splitlines() if l.startswith("RESULT ")]
        results += [json.loads(lines[0][7:])] if lines else []
    span = max(r["end"] for r in results) - min(r["start"] for r in results)
    print("%-44s %.0f a second in all (%d agents, %d calls from the first begin to the last end)" % (
        "durable decisions", 150 * len(results) / span, len(results), 150 * len(results)))


SPAWN = r"""
import json, os, resource, subprocess, sys, time
times = []
for _ in range(int(sys.argv[1])):
    start = time.perf_counter(); os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0); times.append(time.perf_counter() - start)
start = time.perf_counter(); subprocess.run(["make", "-s", "-j2"], check=True); make = time.perf_counter() - start
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print("RESULT " + json.dumps({"spawn": sorted(times)[len(times) // 2], "make": make, "cpu": used.ru_utime + used.ru_stime}))
time.sleep(0.3)  # whoever looks at the keeper's time takes it now
"""


def keeper_cpu(attempt):
    """What an attempt's keeper used until shortly before its end, in seconds."""
    used, keeper = 0, None
    while True:
        shown = json.loads(sh("headgate", "show", attempt, "--json"))["attempts"][0]
        keeper = keeper or shown["keeper_pid"]
        if shown["state"] == "done":
            return used
        try:
            used = cpu_s(keeper) if keeper else 0
        except FileNotFoundError:
            pass
        time.sleep(0.1)


def bench_exec(pairs, files):
    repo = WORLD + "/repo"
    sh("git", "init", "-q", "-b", "main", repo)
    for i in range(files):
        with open("%s/f%03d.c" % (repo, i), "w") as out:
            out.write("#include <stdio.h>\n#include <stdlib.h>\n" + "".join(
                "int f%d_%d(int x) { return printf(\"%%d\", x * %d); }\n" % (i, k, k) for k in range(40)))
    with open(repo + "/Makefile", "w") as out:
        out.write("all: $(patsubst %.c,%.o,$(wildcard *.c))\n%.o: %.c\n\tcc -O1 -c -o $@ $<\n")
    with open(WORLD + "/spawn.py", "w") as out:
        out.write(SPAWN)
    sh("git", "-C", repo, "add", "-A")
    sh("git", "-C", repo, "commit", "-q", "-m", "Many compiles")
    sh("headgate", "gate", "rule", "add", "allow", "exec", "/bin/true")
    results = {"off": [], "watch": [], "match": []}
    for i in range(pairs + 1):
        for policy in results:
            rules = ["--ro", WORLD + "/spawn.py", "--", "sh", "-c", "python3 %s/spawn.py 300; true" % WORLD]
            if policy == "match":  # the interpreter by a rule; what runs below it is judged and not asked
                sh("headgate", "gate", "rule", "add", "allow", "exec", "python3")
            attempt = json.loads(sh("headgate", "run", "--detach", "--json", "--exec", policy, *rules, cwd=repo))["attempts"][0]["id"]
            keeper = keeper_cpu(attempt)
            line = next(l for l in sh("headgate", "logs", attempt).splitlines() if l.startswith("RESULT "))
            if i > 0:
                results[policy].append(json.loads(line[7:]))
                results[policy][-1]["cpu"] += keeper
            sh("headgate", "discard", "--force", attempt, cwd=repo)
    told = {"spawn": "posix_spawn /bin/true", "make": "make -j2, %d compiles" % files, "cpu": "CPU of the box and its keeper"}
    for what, unit, name in (("spawn", 1e6, "us"), ("make", 1, "s"), ("cpu", 1, "s")):
        for policy, all_of in results.items():
            report("%s, execs %s" % (told[what], policy),
                   [r[what] for r in all_of], unit, name)
        for policy in ("watch", "match"):
            ratio("%s %s / off" % (what, policy), [r[what] for r in results[policy]], [r[what] for r in results["off"]])


BUILD = """import json, os, resource, subprocess, sys, time
subprocess.run(["make", "-s", "clean"], check=True, cwd=sys.argv[1])
before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
subprocess.run(["make", "-s", "-j2"], check=True, cwd=sys.argv[1])
took, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
print("RESULT " + json.dumps({"wall": took, "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}))
"""


def make_project(path, files):
    """Many small files that include many small files: most of its time goes into opening, reading and writing."""
    sh("git", "init", "-q", "-b", "main", path)
    for i in range(40):
        with open("%s/h%02d.h" % (path, i), "w") as out:
            out.write("#ifndef H%02d\n#define H%02d\nint shared_%d(int);\n#endif\n" % (i, i, i))
    for i in range(files):
        with open("%s/f%03d.c" % (path, i), "w") as out:
            out.write("".join("#include \"h%02d.h\"\n" % ((i + k) % 40) for k in range(20)))
            out.write("#include <stdio.h>\nint f%d(int x) { return printf(\"%%d\", x + shared_%d(x)); }\n" % (i, i % 40))
    with open(path + "/Makefile", "w") as out:
        out.write("all: lib.a\nOBJECTS := $(patsubst %.c,%.o,$(wildcard *.c))\nlib.a: $(OBJECTS)\n\tar rcs $@ $(OBJECTS)\n"
                  "%.o: %.c\n\tcc -O0 -MMD -c -o $@ $<\nclean:\n\trm -f *.o *.d lib.a\n")
    with open(path + "/.gitignore", "w") as out:
        out.write("*.o\n*.d\n*.a\n")
    sh("git", "-C", path, "add", "-A")
    sh("git", "-C", path, "commit", "-q", "-m", "A project")


def build_result(text):
    return json.loads(next(line for line in text.splitlines() if line.startswith("RESULT "))[7:])


def build_in_worktree(repo, script):
    sh("headgate", "run", "--exec", "off", "--engine", "overlay", "--ro", script, "--", "python3", script, ".", cwd=repo)
    attempt = json.loads(sh("headgate", "ls", "--json"))["attempts"][-1]["id"]
    result = build_result(sh("headgate", "logs", attempt))
    sh("headgate", "discard", "--force", attempt, cwd=repo)
    return result


def bench_build(pairs, files):
    work, repo, script = WORLD + "/work", WORLD + "/repo", WORLD + "/build.py"
    for path in (work, repo):
        make_project(path, files)
    with open(script, "w") as out:
        out.write(BUILD)
    ways = {"outside": lambda: build_result(sh("python3", script, ".", cwd=work)),
            "headgate box": lambda: build_result(sh("headgate", "box", "--ro", script, "--", "python3", script, ".", cwd=work)),
            "overlay worktree": lambda: build_in_worktree(repo, script)}
    results = {way: [] for way in ways}
    for i in range(pairs + 1):
        for way in list(ways) if i % 2 else reversed(list(ways)):
            result = ways[way]()
            if i > 0:
                results[way].append(result)
    for what, name in (("wall", "s"), ("cpu", "s of CPU")):
        for way, all_of in results.items():
            report("make -j2, %d files, %s" % (files, way), [r[what] for r in all_of], 1, name)
        for way in ("headgate box", "overlay worktree"):
            ratio("%s / outside, %s" % (way, what), [r[what] for r in results[way]], [r[what] for r in results["outside"]])


def memory_kib(pid):
    found = {}
    for text in open("/proc/%d/smaps_rollup" % pid):
        name, _, rest = text.partition(":")
        if name in ("Rss", "Pss"):
            found[name] = int(rest.split()[0])
    return found


def cpu_s(pid):
    fields = open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def bench_idle():
    repo = make_repo(WORLD + "/repo", 20)
    agent = "printf '{\"tool\":\"Bash\",\"args\":{\"command\":\"make\"}}' | headgate-hook"
    sh("headgate", "run", "-n", "8", "-j", "8", "--ladder", "confirm", "--detach", "--", "sh", "-c", agent, cwd=repo)
    while len(json.loads(sh("headgate", "gate", "ls", "--json"))["calls"]) < 8:
        time.sleep(0.1)
    attempts = json.loads(sh("headgate", "show", str(json.loads(sh("headgate", "ls", "--json"))["attempts"][-1]["run"]), "--json"))["attempts"]
    server = json.loads(sh("headgate", "serve", "--status", "--json"))["pid"]
    keepers = [a["keeper_pid"] for a in attempts]
    before = cpu_s(server), sum(map(cpu_s, keepers))
    time.sleep(20)
    print("server  RSS %(Rss)d KiB  PSS %(Pss)d KiB" % memory_kib(server))
    print("keeper  RSS %(Rss)d KiB  PSS %(Pss)d KiB (one of 8)" % memory_kib(keepers[0]))
    print("CPU over 20 s with 8 agents that wait: server %.2f %%, keepers %.2f %% together" % (
        (cpu_s(server) - before[0]) * 5, (sum(map(cpu_s, keepers)) - before[1]) * 5))


CLIENT = """
import os, socket, sys, time
def take(place, target, size):
    start = time.perf_counter()
    with socket.create_connection(place) as s:
        if target:
            s.sendall(("CONNECT %s HTTP/1.1\\r\\n\\r\\n" % target).encode())
            if not s.recv(39).startswith(b"HTTP/1.1 200"):
                sys.exit("refused")
        s.sendall(b"x")
        buffer, left = bytearray(1 << 20), size
        while left:
            n = s.recv_into(buffer)
            if n == 0:
                sys.exit("cut short")
            left -= n
    return time.perf_counter() - start
"""


def bench_proxy(pairs, megabytes):
    """The same client takes the same bytes through the proxy of a box, and through socat on the host."""
    size, folder = megabytes << 20, WORLD + "/shared"
    os.mkdir(folder)
    os.chmod(folder, 0o777)
    server = subprocess.Popen([sys.executable, "-c", """
import socket, sys, threading
block = bytes(1 << 20)
def serve(client):
    client.recv(1)
    for _ in range(int(sys.argv[1])):
        client.sendall(block)
    client.close()
sock = socket.create_server(("127.0.0.1", 0))
print(sock.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(sock.accept()[0],), daemon=True).start()
""", str(megabytes)], stdout=subprocess.PIPE, text=True)
    port = int(server.stdout.readline())
    probe = socket.create_server(("127.0.0.1", 0))
    relay_port = probe.getsockname()[1]
    probe.close()
    relay = subprocess.Popen(["socat", "TCP-LISTEN:%d,bind=127.0.0.1,reuseaddr,fork" % relay_port,
                              "TCP:127.0.0.1:%d" % port])
    with open(folder + "/client.py", "w") as out:
        out.write(CLIENT + """
place = os.environ["HEADGATE_PROXY"].rsplit(":", 1)
for i in range(int(sys.argv[3])):
    while not os.path.exists("%s/go%d" % (sys.argv[1], i)):
        time.sleep(0.01)
    took = take((place[0], int(place[1])), sys.argv[2], int(sys.argv[4]))
    with open("%s/new" % sys.argv[1], "w") as out:
        out.write(str(took))
    os.rename("%s/new" % sys.argv[1], "%s/took%d" % (sys.argv[1], i))
""")
    repo, target, ours, theirs = make_repo(WORLD + "/repo", 1), "127.0.0.1:%d" % port, [], []
    here = {}
    exec(CLIENT, here)
    try:
        sh("headgate", "run", "--detach", "--net", target, "--rw", folder, "--", "python3", folder + "/client.py", folder,
           target, str(pairs + 1), str(size), cwd=repo)
        for i in range(pairs + 1):
            theirs.append(here["take"](("127.0.0.1", relay_port), None, size))
            open("%s/go%d" % (folder, i), "w").close()
            deadline = time.time() + 120
            while not os.path.exists("%s/took%d" % (folder, i)):
                if time.time() > deadline:
                    sys.exit("the client in the box gave no answer")
                time.sleep(0.01)
            ours.append(float(open("%s/took%d" % (folder, i)).read()))
    finally:
        relay.kill()
        server.kill()
    report("%d MB through the proxy of a box" % megabytes, ours[1:])
    report("%d MB through socat" % megabytes, theirs[1:])
    ratio("throughput, proxy / socat", theirs[1:], ours[1:])


def main():
    words = sys.argv[1:] or [""]
    numbers, names = [int(w) for w in words[1:] if w.isdigit()], [w for w in words[1:] if not w.isdigit()]
    benches = {"box": lambda: bench_box(*(numbers or [40])), "call": lambda: bench_call(*(numbers or [200])),
               "rules": lambda: bench_rules(*(numbers or [1000])),
               "run": lambda: bench_run(*(numbers + [20, 20000][len(numbers):])), "idle": bench_idle,
               "trees": lambda: bench_trees.run(sys.modules[__name__], *(numbers + [36000, 5][len(numbers):])),
               "engines": lambda: bench_engines.run(sys.modules[__name__], *(numbers + [20000, 5][len(numbers):])),
               "rename": lambda: bench_rename.run(sys.modules[__name__], *(numbers + [3000, 3][len(numbers):])),
               "agents": lambda: bench_agents.run(sys.modules[__name__], names, *(numbers + [5, 20][len(numbers):])),
               "whole": lambda: bench_trees.whole(sys.modules[__name__], *(numbers or [100000])),
               "proxy": lambda: bench_proxy(*(numbers + [20, 256][len(numbers):])),
               "build": lambda: bench_build(*(numbers + [20, 300][len(numbers):])),
               "exec": lambda: bench_exec(*(numbers + [5, 200][len(numbers):]))}
    if words[0] not in benches or (names and words[0] != "agents"):
        sys.exit(__doc__)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # by way of what clears up
    make_world()
    try:
        benches[words[0]]()
    finally:
        subprocess.run(["headgate", "stop", "--all"], env=ENV, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        subprocess.run(["headgate", "serve", "--stop"], env=ENV, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        subprocess.run(["chmod", "-R", "u+rwx", WORLD])
        shutil.rmtree(WORLD, ignore_errors=True)


main()
