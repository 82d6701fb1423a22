"""Random work on the files of a worktree. After each operation a status that asks what has changed and one that looks at every file
must say the same.   changes.py SEED STEPS [many]; many: with more files in the upper layer than the hook names."""
import os
import random
import shutil
import subprocess
import sys
import time

seed, steps, many = int(sys.argv[1]), int(sys.argv[2]), len(sys.argv) > 3
dice = random.Random(seed)
PLAIN = ["-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false"]


def git(*words, env=None):
    return subprocess.run(["git", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=dict(os.environ, **(env or {}))).stdout.decode("utf-8", "surrogateescape")


# The index as it was given holds at any time: the hook names all that came after it.
INDEX = git("rev-parse", "--git-dir").strip() + "/index"
GIVEN = "/tmp/given-index"
EXCLUDE = os.path.dirname(INDEX) + "/info/exclude"


def same(did):
    shape = dice.choice([[], [], [], [], ["-sb"], ["-z"], ["-uall"], ["-unormal"], ["--ignored"]])
    if dice.randrange(2):
        shutil.copy2(GIVEN, INDEX)
    if os.path.exists(INDEX):
        shutil.copy2(INDEX, "/tmp/plain-index")
    want = git(*PLAIN, "status", "--porcelain", *shape, env={"GIT_INDEX_FILE": "/tmp/plain-index"})
    got = git("status", "--porcelain", *shape)
    if want != got:
        print("DIFFER after %s %s of seed %d" % (did, shape, seed))
        print("\n".join("want " + line for line in sorted(set(want.splitlines()) - set(got.splitlines()))))
        print("\n".join("got " + line for line in sorted(set(got.splitlines()) - set(want.splitlines()))))
        sys.exit(1)


def walk():
    for at, folders, files in os.walk("."):
        folders[:] = sorted(f for f in folders if f not in (".git", "many"))
        yield at, sorted(f for f in files if f != ".git" or at != ".")


def folder():
    return dice.choice([at for at, _ in walk()])


def below():
    return dice.choice([at for at, _ in walk() if at != "."] or ["none"])


def file():
    return dice.choice([at + "/" + f for at, files in walk() for f in files] or ["./none"])


def write(path, text="x\n", how="w"):
    with open(path, how) as out:
        out.write(text)


def into(path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    write(path)


def swap(one, other):
    os.rename(one, "swap.tmp")
    os.rename(other, one)
    os.rename("swap.tmp", other)


def to_folder(path):
    os.unlink(path)
    into(path + "/in")


def to_file(path):
    shutil.rmtree(path)
    write(path)


def same_size(path):
    with open(path, "r+b") as out:
        out.write(b"X")


def replaced(path):
    shutil.copy2(path, path + ".copy")
    os.rename(path + ".copy", path)


def nested(path):
    git("init", "-q", path + "/nested")
    write(path + "/nested/file")


def copied(path, to):
    shutil.rmtree("/tmp/part", ignore_errors=True)
    shutil.copytree(path, "/tmp/part", symlinks=True)
    shutil.copytree("/tmp/part", to, symlinks=True)


def excluded(pattern):
    write(EXCLUDE, pattern + "\n", "a")


NAMES = ["new", "new.o", "new.x", "a b", "t1", "t7", "-", "git~1", "\u00e4", "z.tmp"]


def name():
    return dice.choice(NAMES) + dice.choice(["", "", str(dice.randrange(5))])


# What changes files, and what makes git write its index without a look at what is untracked.
CHANGES = [
    lambda: write(file(), "more\n", "a"),
    lambda: write(file(), "more\n", "a"),
    lambda: os.unlink(file()),
    lambda: os.unlink(file()),
    lambda: write(folder() + "/" + name()),
    lambda: write(folder() + "/" + name()),
    lambda: write("./" + name()),
    lambda: shutil.rmtree(below()),
    lambda: into(folder() + "/" + name() + "/" + name() + "/file"),
    lambda: os.makedirs(folder() + "/" + name() + "/empty"),
    lambda: os.rename(file(), folder() + "/" + name()),
    lambda: os.rename(below(), folder() + "/" + name()),
    lambda: swap(below(), below()),
    lambda: swap(file(), file()),
    lambda: os.utime(folder(), (1000000000, 1000000000)),
    lambda: write(folder() + "/.gitignore", dice.choice(["new*\n", "t*\n", "!new\n", "*\n", "a b/\n", "b\n"]), dice.choice("wa")),
    lambda: write(below() + "/.gitignore", dice.choice(["new*\n", "t*\n", "!new\n", "nested\n"]), dice.choice("wa")),
    lambda: os.unlink(below() + "/.gitignore"),
    lambda: os.chmod(file(), 0o755),
    lambda: to_file(below()),
    lambda: to_folder(file()),
    lambda: os.symlink("t1", folder() + "/" + name()),
    lambda: same_size(file()),
    lambda: replaced(file()),
    lambda: nested(folder()),
    lambda: copied(below(), folder() + "/" + name()),
    lambda: excluded(dice.choice(["z*", "new1", "!new1", "/b"])),
]
WRITES = [
    lambda: git("add", "-A"),
    lambda: git("add", "-u"),
    lambda: git("add", "-f", file()),
    lambda: git("rm", "-q", "-f", "--cached", file()),
    lambda: git("rm", "-q", "-rf", file()),
    lambda: git("mv", file(), folder() + "/" + name()),
    lambda: git("commit", "-qam", "x"),
    lambda: git("commit", "-qm", "x", "--", file()),
    lambda: git("diff", "--stat"),
    lambda: git("update-index", "--refresh"),
    lambda: git("update-index", "--force-write-index"),
    lambda: git("status", "-uno"),
    lambda: git("-c", "core.fsmonitor=false", "add", "-u"),
    lambda: git("-c", "core.fsmonitor=false", "status"),
    lambda: git("-c", "core.fsmonitor=/nonexistent", "update-index", "--force-write-index"),
    lambda: git("-c", "core.fsmonitor=/bin/true", "update-index", "--force-write-index"),
    lambda: git("-c", "core.untrackedCache=true", "status"),
    lambda: git("-c", "core.untrackedCache=false", "status"),
    lambda: git("-c", "index.version=%d" % dice.choice([2, 4]), "update-index", "--index-version", str(dice.choice([2, 3, 4]))),
    lambda: git("--work-tree=/tmp/copy", "update-index", "--refresh"),
    lambda: git("--work-tree=/tmp/copy", "status"),
    lambda: git("reset", "-q"),
    lambda: git("reset", "-q", "--", file()),
    lambda: git("reset", "-q", "--hard", "HEAD"),
    lambda: git("reset", "-q", "--hard", "HEAD~1"),
    lambda: git("checkout", "-q", "HEAD", "--", "."),
    lambda: git("switch", "-q", "-c", "b%d" % dice.randrange(1000)),
    lambda: git("switch", "-q", "-d", "HEAD~1"),
    lambda: git("stash", "-q", "-u"),
    lambda: git("stash", "pop", "-q"),
    lambda: git("clean", "-qfd"),
    lambda: git("clean", "-qfdx"),
    lambda: git("read-tree", "HEAD"),
    lambda: git("config", "status.showUntrackedFiles", dice.choice(["all", "normal", "no"])),
    lambda: git("config", "--unset", "status.showUntrackedFiles"),
]


def attempt(which):
    number = dice.randrange(len(which))
    try:
        which[number]()
    except OSError:
        pass
    return number


shutil.copytree(".", "/tmp/copy", symlinks=True, dirs_exist_ok=True)
if many:
    os.mkdir("many")
    for i in range(20100):
        os.close(os.open("many/%d.o" % i, os.O_CREAT | os.O_WRONLY))
for step in range(steps):
    done = []
    for _ in range(dice.randrange(1, 4)):
        done.append("change %d" % attempt(CHANGES))
        if dice.randrange(2):
            done.append("write %d" % attempt(WRITES))
        if os.environ.get("PAUSE") and dice.randrange(2):
            time.sleep(float(os.environ["PAUSE"]))
    same("step %d: %s" % (step, ", ".join(done)))
    if many and step == steps * 2 // 3:
        shutil.rmtree("many")
