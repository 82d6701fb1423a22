"""The engines of worktrees against git's own on the same file system; a part of bench.py, whose helpers come as `b`."""
import json
import os
import shutil
import tempfile
import time

import bench_trees

b = None

# Where each is measured: a variable that names a folder, or the world's own.
GROUNDS = (("overlay", None), ("btrfs", "TEST_FS_BTRFS"), ("reflink", "TEST_FS_XFS"), ("checkout", None))


def used_kib(folder):
    """What the file system has given out: shared content counts once."""
    b.sh("sync", "-f", folder)
    stat = os.statvfs(folder)
    return (stat.f_blocks - stat.f_bfree) * stat.f_frsize // 1024


# The first git status, then what opens every file, once everything is in memory.
INSIDE = """
t() { a=$(date +%s%N); "$@" >/dev/null; echo "$(($(date +%s%N) - a))"; }
t git status --porcelain
git grep -q nothing_at_all
for i in 1 2 3 4 5; do t git grep -c nothing_at_all; done
"""


def add_inside(out, printed):
    """What INSIDE printed: seconds of the first status, and of each git grep."""
    times = [int(word) / 1e9 for word in printed.split()]
    assert len(times) == 6, printed
    out["status"].append(times[0])
    out["grep"] += times[1:]


def attempt_kib(run, engine, ground, before):
    """Of a copy that shares content what its file system gave out; else what lies in its folder."""
    if engine in ("btrfs", "reflink"):
        return used_kib(ground) - before
    return bench_trees.kib(json.loads(b.sh("headgate", "show", run, "--json"))["attempts"][0]["dir"])


def ours_once(repo, engine, ground, out):
    out["made"].append(b.seconds("headgate", "run", "--engine", engine, "--", "git", "status", "--porcelain", cwd=repo))
    b.sh("headgate", "discard", "--force", bench_trees.newest_run(repo), cwd=repo)
    before = used_kib(ground)
    b.sh("headgate", "run", "--engine", engine, "--ladder", "auto", "--", "sh", "-c", INSIDE, cwd=repo)
    run = bench_trees.newest_run(repo)
    out["disk"].append(attempt_kib(run, engine, ground, before))
    add_inside(out, b.sh("headgate", "logs", run + ".1"))
    out["removed"].append(b.seconds("headgate", "discard", "--force", run, cwd=repo))


def theirs_once(repo, ground, out):
    path = ground + "/peer"
    out["made"].append(b.seconds("git", "worktree", "add", "-q", "-b", "peer", path, cwd=repo))
    add_inside(out, b.sh("sh", "-c", INSIDE, cwd=path))
    out["made"][-1] += out["status"][-1]
    out["disk"].append(bench_trees.kib(path))
    start = time.perf_counter()
    b.sh("git", "worktree", "remove", "--force", path, cwd=repo)
    b.sh("git", "branch", "-q", "-D", "peer", cwd=repo)
    out["removed"].append(time.perf_counter() - start)


def measure(repo, engine, ground, rounds):
    ours = {"made": [], "status": [], "grep": [], "removed": [], "disk": []}
    theirs = {"made": [], "status": [], "grep": [], "removed": [], "disk": []}
    b.report(engine + ": the first, which makes what is shared",
             [b.seconds("headgate", "run", "--engine", engine, "--", "true", cwd=repo)])
    b.sh("headgate", "discard", "--force", bench_trees.newest_run(repo), cwd=repo)
    for _ in range(rounds):
        ours_once(repo, engine, ground, ours)
        theirs_once(repo, ground, theirs)
    b.report(engine + ": to the end of the first git status", ours["made"])
    b.report("  git worktree add, git status", theirs["made"])
    b.ratio("  git / headgate", theirs["made"], ours["made"])
    b.report(engine + ": that git status", ours["status"])
    b.report("  after git worktree add", theirs["status"])
    b.report(engine + ": git grep, warm", ours["grep"])
    b.report("  in a git worktree", theirs["grep"])
    b.ratio("  headgate / git", ours["grep"], theirs["grep"])
    b.report(engine + ": removed", ours["removed"])
    b.report("  by git", theirs["removed"])
    b.ratio("  git / headgate", theirs["removed"], ours["removed"])
    print("%-44s %d KiB, git %d KiB" % (engine + ": disk", sorted(ours["disk"])[rounds // 2], sorted(theirs["disk"])[rounds // 2]))


def run(bench, files, rounds):
    global b
    b = bench_trees.b = bench
    repo = b.make_repo(b.WORLD + "/repo", files)
    for engine, variable in GROUNDS:
        folder = os.environ.get(variable) if variable else b.WORLD
        if not folder:
            print("%-44s left out: %s names no folder" % (engine, variable))
            continue
        ground = tempfile.mkdtemp(prefix="headgate-bench.", dir=folder)
        b.ENV["XDG_STATE_HOME"] = ground
        try:
            measure(repo, engine, ground, rounds)
        finally:
            b.sh("headgate", "serve", "--stop")
            shutil.rmtree(ground, ignore_errors=True)
