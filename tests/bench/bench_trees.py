"""Worktrees at scale against git's own; a part of bench.py, whose helpers come as `b`."""
import errno
import json
import os
import subprocess
import tempfile
import time

b = None


def kib(*paths):
    """Allocated; an overlay's own folder cannot be read, and is empty."""
    text = subprocess.run(["du", "-sk", *paths], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return sum(int(line.split()[0]) for line in text.splitlines())


def newest_run(repo):
    return json.loads(b.sh("headgate", "ls", "--json", cwd=repo))["attempts"][0]["id"].split(".")[0]


# An agent stays after its first look; so the bench waits for all before any may end and be harvested.
FIRST_LOOK = 'git status --porcelain && date +%s%N && { read -r go <"$0"; true; }'


def release(fifo):
    """All that wait for the pipe's other end, of whom there may be none just now."""
    try:
        os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
    except OSError as why:
        if why.errno != errno.ENXIO:
            raise


def first_status(repo, n):
    """Seconds from the start of `headgate run` to the end of the last of n first statuses, and from there to the end of the run, when
    all are harvested."""
    fifo = tempfile.mktemp(dir=b.WORLD)
    os.mkfifo(fifo)
    begun = time.time()
    with subprocess.Popen(["headgate", "run", "-n", str(n), "-j", str(n), "--ladder", "auto", "--ro", fifo, "--", "sh", "-c", FIRST_LOOK,
                           fifo], env=b.ENV, cwd=repo, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as run:
        stamps = []
        while len(stamps) < n:
            words = run.stdout.readline().split()
            assert words, "the run ended before its agents had looked"
            stamps += [int(words[2])] if words[1:2] == ["|"] else []
        seen = time.perf_counter()
        while run.poll() is None:
            release(fifo)
            time.sleep(0.02)
        assert run.wait() == 0
    return max(stamps) / 1e9 - begun, time.perf_counter() - seen


def bench_creation(repo, n, rounds):
    """n worktrees, each to the end of its first `git status`, in turn with git's own."""
    ours, whole, theirs, removal, their_removal, disk, their_disk = [], [], [], [], [], 0, 0
    for i in range(rounds):
        to_status, to_end = first_status(repo, n)
        ours.append(to_status)
        whole.append(to_end)
        run = newest_run(repo)
        attempts = json.loads(b.sh("headgate", "show", run, "--json", cwd=repo))["attempts"]
        disk = kib(*[a["dir"] for a in attempts])
        removal.append(b.seconds("headgate", "discard", "--force", run, cwd=repo))
        start = time.perf_counter()
        for k in range(n):
            b.sh("git", "worktree", "add", "-q", "-b", "peer%d" % k, b.WORLD + "/peer%d" % k, cwd=repo)
            b.sh("git", "-C", b.WORLD + "/peer%d" % k, "status", "--porcelain")
        theirs.append(time.perf_counter() - start)
        their_disk = kib(*[b.WORLD + "/peer%d" % k for k in range(n)])
        start = time.perf_counter()
        for k in range(n):
            b.sh("git", "worktree", "remove", "--force", b.WORLD + "/peer%d" % k, cwd=repo)
            b.sh("git", "branch", "-q", "-D", "peer%d" % k, cwd=repo)
        their_removal.append(time.perf_counter() - start)
    b.report("%d to git status in a box" % n, ours)
    b.report("%d by git worktree add, and git status" % n, theirs)
    b.ratio("  git / headgate", theirs, ours)
    b.report("%d from there to their end, harvested" % n, whole)
    b.report("%d removed" % n, removal)
    b.report("%d removed by git" % n, their_removal)
    b.ratio("  git / headgate", their_removal, removal)
    print("%-44s %d KiB, git %d KiB: 1/%.0f" % ("disk of %d" % n, disk, their_disk, their_disk / max(disk, 1)))


INSIDE = """
t() { a=$(date +%s%N); "$@" >/dev/null; b=$(date +%s%N); echo "$((b - a))"; }
git status >/dev/null; git grep -q nothing_at_all; make -s >/dev/null 2>&1
for i in 1 2 3 4 5 6 7; do
    echo "$(t git status) $(t git grep -c nothing_at_all) $(rm -f d00/e00/*.o; t make -s)"
done
"""


def bench_inside(repo):
    """The same loop in a box and in a plain checkout, one after the other. Both were written by git in the order of its index; the
    repository's own folder was not, and is read more slowly for that."""
    plain = b.WORLD + "/plain"
    with open(b.WORLD + "/inside.sh", "w") as out:
        out.write(INSIDE)
    b.sh("headgate", "run", "--ladder", "auto", "--ro", b.WORLD + "/inside.sh", "--", "sh", b.WORLD + "/inside.sh", cwd=repo)
    lines = b.sh("headgate", "logs", newest_run(repo) + ".1", cwd=repo).split("\n")
    ours = [[int(w) for w in line.split()] for line in lines if len(line.split()) == 3 and line.split()[0].isdigit()]
    b.sh("git", "worktree", "add", "-q", "--detach", plain, cwd=repo)
    theirs = [[int(w) for w in line.split()] for line in b.sh("sh", b.WORLD + "/inside.sh", cwd=plain).split("\n") if line]
    b.sh("git", "worktree", "remove", "--force", plain, cwd=repo)
    for i, what in enumerate(("git status", "git grep", "make, 22 files")):
        b.report(what + " in a box", [row[i] / 1e9 for row in ours])
        b.report(what + " in a plain checkout", [row[i] / 1e9 for row in theirs])


HARVESTS = """
for n in 1 100 10000; do
    while [ ! -e $1/go$n ]; do sleep 0.02; done
    git ls-files | grep -m $n '[.]c$' | xargs sed -i "1i // $n"
    git commit -qam "$n files"
    touch $1/done$n
done
sleep 600
"""


def bench_harvest(repo):
    folder = b.WORLD + "/signs"
    os.mkdir(folder)
    with open(folder + "/agent.sh", "w") as out:
        out.write(HARVESTS)
    b.sh("headgate", "run", "--detach", "--ladder", "auto", "--rw", folder, "--", "sh", folder + "/agent.sh", folder, cwd=repo)
    attempt = newest_run(repo) + ".1"
    for n in (1, 100, 10000):
        open(folder + "/go%d" % n, "w").close()
        while not os.path.exists(folder + "/done%d" % n):
            time.sleep(0.005)
        b.report("harvest of %d files, and diff --stat" % n, [b.seconds("headgate", "diff", "--stat", attempt, cwd=repo)])
    first = []
    for i in range(5):
        start = time.perf_counter()
        pipe = subprocess.Popen(["headgate", "diff", attempt], env=b.ENV, cwd=repo, stdout=subprocess.PIPE)
        for _ in range(50):
            pipe.stdout.readline()
        first.append(time.perf_counter() - start)
        pipe.kill()
        pipe.wait()
    b.report("diff of 10,000 files to its first screen", first)
    b.sh("headgate", "stop", attempt, cwd=repo)


def bench_conflicts(repo):
    b.sh("headgate", "run", "-n", "32", "-j", "8", "--ladder", "auto", "--", "sh", "-c",
       "f=$(git ls-files | head -n 1); sed -i \"1i // $HEADGATE_ATTEMPT\" $f; git commit -qam x", cwd=repo)
    run, times = newest_run(repo), []
    for i in range(7):
        start = time.perf_counter()
        subprocess.run(["headgate", "conflicts", run], env=b.ENV, cwd=repo, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    b.report("conflicts of 32, all with all", times)


WHOLE = "f=$(git ls-files | sed -n '1p;50000p;$p'); for p in $f; do echo changed >>$p; done; echo new >new; git status --porcelain"


def whole(bench, files):
    """One task from its start to its removal on a large repository."""
    global b
    b = bench
    repo = b.make_repo(b.WORLD + "/repo", files)
    b.report("the first, which makes the base", [b.seconds("headgate", "run", "--", "true", cwd=repo)])
    b.report("edit four files of %d, to the end" % files,
             [b.seconds("headgate", "run", "--ladder", "auto", "--", "sh", "-c", WHOLE, cwd=repo)])
    attempt = newest_run(repo) + ".1"
    seen = b.sh("headgate", "logs", attempt, cwd=repo).split("\n")
    assert len([line for line in seen if line.startswith((" M ", "?? "))]) == 4, seen
    b.report("diff --stat", [b.seconds("headgate", "diff", "--stat", attempt, cwd=repo)])
    b.report("merge --squash", [b.seconds("headgate", "merge", "--squash", attempt, cwd=repo)])
    changed = b.sh("git", "-C", repo, "diff", "--name-only", "HEAD~1").split()
    assert len(changed) == 4, changed
    b.report("discard", [b.seconds("headgate", "discard", attempt, cwd=repo)])
    b.report("clean, with the base", [b.seconds("headgate", "clean", cwd=repo)])
    b.sh("git", "-C", repo, "fsck", "--no-dangling")
    assert not b.sh("git", "-C", repo, "status", "--porcelain")


def run(bench, files, rounds):
    global b
    b = bench
    repo = b.make_repo(b.WORLD + "/repo", files)
    with open(repo + "/Makefile", "w") as out:
        out.write("o = $(patsubst %.c,%.o,$(wildcard d00/e00/*.c))\nall: $(o)\n")
    b.sh("git", "-C", repo, "add", "-A")
    b.sh("git", "-C", repo, "commit", "-qm", "Makefile")
    b.report("the first, which makes the base", [b.seconds("headgate", "run", "--", "true", cwd=repo)])
    b.sh("headgate", "discard", "--force", newest_run(repo), cwd=repo)
    with open(repo + "/Makefile", "a") as out:
        out.write("# more\n")
    report_wip = b.seconds("headgate", "run", "--wip", "--", "true", cwd=repo)
    b.report("one from uncommitted work, a delta base", [report_wip])
    b.sh("git", "-C", repo, "checkout", "-q", "Makefile")
    b.sh("headgate", "discard", "--force", newest_run(repo), cwd=repo)
    bench_creation(repo, 1, rounds)
    bench_creation(repo, 10, rounds)
    bench_inside(repo)
    bench_harvest(repo)
    bench_conflicts(repo)
