"""bench.py rename: what parked renames cost, and a folder of the base that is renamed, against copying and removing it."""
import json

INSIDE = """import json, os, subprocess, sys, time
result = {}

def timed(name, n, work):
    start = time.perf_counter()
    work()
    result[name] = (time.perf_counter() - start) / n

def rename_files():
    for i in range(CALLS):
        os.rename("one" if i % 2 == 0 else "two", "two" if i % 2 == 0 else "one")

def commits():
    for i in range(COMMITS):
        open("one", "w").write(str(i))
        subprocess.run(["git", "commit", "-qam", "Change"], check=True)

CALLS, COMMITS = 4000, 30
open("one", "w").close()
timed("file", CALLS, rename_files)
subprocess.run(["git", "add", "one"], check=True)
timed("commit", COMMITS, commits)
os.makedirs("new/deep")
timed("new folder", CALLS // 20, lambda: [os.rename(*(("new", "newer") if i % 2 == 0 else ("newer", "new"))) for i in range(CALLS // 20)])
timed("base folder", 1, lambda: os.rename("a", "a2"))
timed("copied", 1, lambda: subprocess.run("cp -a b b2 && rm -rf b", shell=True, check=True))
timed("git mv", 1, lambda: subprocess.run(["git", "mv", "c", "c2"], check=True))
print("RESULT " + json.dumps(result))
"""


def make_folders(bench, path, files):
    made = bench.make_repo(bench.WORLD + "/seed", files)
    bench.sh("git", "init", "-q", "-b", "main", path)
    bench.sh("rm", "-rf", made + "/.git")
    for name in "abc":
        bench.sh("cp", "-r", made, path + "/" + name)
    bench.sh("git", "-C", path, "add", "-A")
    bench.sh("git", "-C", path, "commit", "-q", "-m", "Three folders")


def run(bench, files, rounds):
    repo, script = bench.WORLD + "/repo", bench.WORLD + "/inside.py"
    make_folders(bench, repo, files)
    with open(script, "w") as out:
        out.write(INSIDE)
    results = {"overlay": [], "checkout": []}
    for i in range(rounds + 1):
        for engine, all_of in results.items():
            bench.sh("headgate", "run", "--exec", "off", "--engine", engine, "--ro", script, "--", "python3", script, cwd=repo)
            attempt = json.loads(bench.sh("headgate", "ls", "--json"))["attempts"][-1]["id"]
            text = bench.sh("headgate", "logs", attempt)
            if i > 0:
                all_of.append(json.loads(next(l for l in text.splitlines() if l.startswith("RESULT "))[7:]))
            bench.sh("headgate", "discard", "--force", attempt, cwd=repo)
    told = (("file", "rename of a file", 1e6, "us"), ("new folder", "rename of a folder of the attempt's", 1e6, "us"),
            ("commit", "git commit", 1e3, "ms"), ("base folder", "rename of a folder of %d files" % files, 1e3, "ms"),
            ("git mv", "git mv of such a folder", 1e3, "ms"), ("copied", "cp -a and rm -rf of such a folder", 1e3, "ms"))
    for what, name, unit, unit_name in told:
        for engine, all_of in results.items():
            bench.report("%s, %s" % (name, engine), [r[what] for r in all_of], unit, unit_name)
    bench.ratio("rename / cp -a and rm -rf, overlay", [r["base folder"] for r in results["overlay"]],
                [r["copied"] for r in results["overlay"]])
