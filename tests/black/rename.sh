#!/bin/sh
# Folders of the base are renamed in an overlay worktree: by git, mv, Python, Node and the bare call.
. "$(dirname "$0")/../lib.sh"

make_repo "$WORLD/repo"
cd "$WORLD/repo"
mkdir -p src/deep/er
seq 1000 >src/deep/er/numbers
printf '#!/bin/sh\necho ran\n' >src/run.sh
chmod 755 src/run.sh
ln -s deep/er/numbers src/link
mkdir -p a b c d e f g
for folder in a b c d e f g; do echo "$folder" >$folder/file; done
for i in $(seq 0 19); do
    mkdir -p "many/$i"
    for k in $(seq 20); do echo "$k" >"many/$i/$k"; done
done
git add -A
git commit -qm More

# A program that is under Landlock rules of its own, and what it starts.
cat >"$WORLD/narrow.py" <<'PY'
import ctypes, errno, os, time
libc = ctypes.CDLL(None, use_errno=True)
os.umask(0o022)

def narrow():
    rules = ctypes.c_uint64(1 << 5 | 1 << 7) # to remove a folder, to make one
    fd = libc.syscall(444, ctypes.byref(rules), ctypes.sizeof(rules), 0)
    assert fd >= 0 and libc.syscall(446, fd, 0) == 0

def is_refused(old, new):
    try:
        os.rename(old, new)
    except OSError as e:
        assert e.errno in (errno.EACCES, errno.EXDEV), e
        return True
    return False

def in_child(work):
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(0 if work() else 1)
        finally:
            os._exit(2)
    return pid

def succeeds(pid):
    return os.waitpid(pid, 0)[1] == 0

def orphan_tries():
    ends = os.pipe()
    def begin():
        if os.fork() == 0:
            while os.getppid() == parent:
                pass
            os.write(ends[1], b'held' if is_refused('src', 'lib') else b'free')
            os._exit(0)
        return True
    def narrow_and_begin():
        global parent
        narrow()
        parent = os.getpid()
        return begin()
    assert succeeds(in_child(narrow_and_begin))
    return os.read(ends[0], 4)

rules = ctypes.c_uint64(1 << 7)
if libc.syscall(444, ctypes.byref(rules), ctypes.sizeof(rules), 0) < 0:
    raise SystemExit(0) # a kernel without it
time.sleep(0.03) # who is older is told in hundredths of a second
PY

# inside NAME: what is on standard input runs as the agent; its branch is left in $branch.
inside() {
    cat >"$WORLD/inside.sh"
    check_status 0 "$1" headgate run --ladder auto --exec "${2:-watch}" --ro "$WORLD/inside.sh" --ro "$WORLD/narrow.py" -- sh -eu "$WORLD/inside.sh"
    branch=headgate/$(last_run)/1
}
renames() { git diff --find-renames --name-status main "$branch" | cut -f1 | sort | uniq -c | sed 's/^ *//'; }

inside 'git mv' <<'IN'
git mv src lib
test ! -e src
test "$(lib/run.sh)" = ran
test "$(readlink lib/link)" = deep/er/numbers
git status --porcelain | grep -v '^R' && exit 1
git commit -qm Renamed
test -z "$(git status --porcelain)"
test ! -e .headgate-moving
git mv lib src && git mv src lib && git reset -q --hard
IN
check_equal 'is a rename in the harvest' '4 R100' "$(renames)"

inside 'without the exec gate' off <<'IN'
git mv src lib
git commit -qm Renamed
IN
check_equal 'too' '4 R100' "$(renames)"

inside 'what is in it stays as it was' <<'IN'
touch -d '2020-01-02 03:04:05.123456789' src/app.txt
echo new >src/new && ln src/new src/deep/twin
chmod 640 src/app.txt
mkdir src/closed && echo x >src/closed/x && echo y >src/closed/numbers && ln src/app.txt src/closed/app && chmod 500 src/closed && touch -d '2021-01-01' src/closed src/deep
mkfifo src/fifo
python3 - <<'PY'
import os, stat
os.setxattr('src/deep/er/numbers', 'user.note', b'kept')
os.setxattr('src/deep', 'user.folder', b'kept')
writer = open('src/app.txt', 'a')
reader = open('src/deep/er/numbers')
def seen(top):
    all = {}
    for folder, names, files in os.walk(top):
        for name in ['.'] + names + files:
            path = os.path.join(folder, name)
            st = os.lstat(path)
            all[os.path.relpath(path, top)] = (st.st_mode, st.st_mtime_ns,
                os.readlink(path) if stat.S_ISLNK(st.st_mode) else
                [(n, os.getxattr(path, n)) for n in os.listxattr(path, follow_symlinks=False)])
    return all
before = seen('src')
os.rename('src', 'lib')
after = seen('lib')
for path in sorted(before.keys() | after.keys()):
    assert before.get(path) == after.get(path), (path, before.get(path), after.get(path))
assert not os.path.lexists('src')
writer.write('written by an open file\n'); writer.close()
assert 'open file' in open('lib/app.txt').read()
assert open('lib/app.txt').read() == open('lib/closed/app').read()
assert os.path.samefile('lib/new', 'lib/deep/twin')
assert len(reader.readlines()) == 1000
PY
IN

inside 'programs of all kinds' <<'IN'
python3 - <<'PY'
import os
here = os.open('.', os.O_RDONLY)
there = os.open('b', os.O_RDONLY)
os.rename('a', 'a2', src_dir_fd=here, dst_dir_fd=here)
os.rename('a2', 'in', src_dir_fd=here, dst_dir_fd=there)
assert open('b/in/file').read() == 'a\n'
os.chdir('src')
os.rename('../c/', '../c2/')
os.chdir('..')
os.mkdir('empty')
os.rename('d', os.getcwd() + '/empty')
assert open('empty/file').read() == 'd\n'
PY
mv e e2
perl -e 'use autodie; rename "f", "f2"'
if command -v node; then node -e 'require("fs").renameSync("g", "g2")'; else mv g g2; fi
test "$(cat b/in/file c2/file empty/file e2/file f2/file g2/file | tr -d '\n')" = acdefg
! ls -d a c d e f g 2>/dev/null
git add -A && git commit -qm Renamed
IN
check_equal 'are renames' '6 R100' "$(renames)"

inside 'what rename(2) refuses, it refuses with the same errno' <<'IN'
python3 - <<'PY'
import os, errno
def fails(why, old, new):
    try:
        os.rename(old, new)
    except OSError as e:
        assert e.errno == why, (old, new, errno.errorcode[e.errno])
    else:
        raise SystemExit(f'{old} became {new}')
fails(errno.ENOTEMPTY, 'a', 'b')
fails(errno.EINVAL, 'src', 'src/deep/src')
fails(errno.ENOTDIR, 'a', 'README')
fails(errno.ENOENT, 'absent', 'b2')
fails(errno.ENOENT, 'a', 'absent/a')
fails(errno.EXDEV, 'a', '/tmp/a')
fails(errno.EXDEV, '/usr/share/doc', 'doc') if os.access('/usr/share', os.W_OK) else None
PY
mv -nT a b 2>/dev/null || :
test -z "$(git status --porcelain)"
IN

inside 'who stands in a folder keeps it where it is' <<'IN'
cd src/deep
! git mv ../../src ../../lib 2>err
grep -q 'Device or resource busy' err
! mv ../../src ../../lib 2>>err # it would copy, and leave this shell in a folder that is gone
rm err
test -z "$(git status --porcelain)"
test "$(wc -l <er/numbers)" = 1000
cd ../..
git mv src lib && git mv lib src
IN
check_status 0 'the attempt' headgate show "$(last_run).1"
check_has 'says who' 'note: +src was not renamed \(EBUSY\): sh, process ' "$OUT"

inside 'two at a time: one wins' <<'IN'
python3 - <<'PY'
import os, threading
wins = []
def move(to):
    try:
        os.rename('src', to)
        wins.append(to)
    except FileNotFoundError:
        pass
threads = [threading.Thread(target=move, args=(f'to{i}',)) for i in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
assert len(wins) == 1, wins
assert [n for n in os.listdir() if n.startswith('to')] == wins
assert len(open(wins[0] + '/deep/er/numbers').readlines()) == 1000
PY
IN

inside 'a caller that is killed leaves either' <<'IN'
python3 - <<'PY'
import os, signal, time
for i in range(20):
    old, new = f'many/{i}', f'many/new{i}'
    pid = os.fork()
    if pid == 0:
        os.rename(old, new)
        os._exit(0)
    time.sleep(i / 2000)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.rename('a' if i % 2 == 0 else 'a2', 'a2' if i % 2 == 0 else 'a') # has its turn after that one
    assert os.path.exists(old) != os.path.exists(new), i
    assert len(os.listdir(old if os.path.exists(old) else new)) == 20
PY
IN

inside 'what a killed box left is in nobody'"'"'s way' <<'IN'
mkdir -p .headgate-moving/new && echo left >.headgate-moving/new/file
test -z "$(git status --porcelain)"
git mv src lib
test ! -e .headgate-moving
mkdir -p .headgate-moving/new && echo left >.headgate-moving/new/file
IN
check_lacks 'nor in the harvest' headgate-moving /dev/stdin <<HARVEST
$(git ls-tree -r --name-only "$branch")
HARVEST

inside 'what a program may not rename by its own Landlock, nobody renames for it' <<IN
python3 - <<'PY'
exec(open('$WORLD/narrow.py').read())
os.rename('a', 'a2')
assert succeeds(in_child(lambda: narrow() or is_refused('b', 'b2') and succeeds(in_child(lambda: is_refused('src', 'lib')))))
assert orphan_tries() == b'held'
os.rename('c', 'c2') # others go on as before
assert libc.prctl(36, 1, 0, 0, 0) == 0 # orphans are this one's now
assert orphan_tries() == b'held'
assert os.path.exists('src') and not os.path.exists('lib')
PY
IN

inside 'nor for a child that it gives to its parent' <<IN
python3 - <<'PY'
exec(open('$WORLD/narrow.py').read())
clone = 56 if os.uname().machine == 'x86_64' else 220
ends = os.pipe()
def narrow_and_give():
    narrow()
    if libc.syscall(clone, 0x8000 | 17, 0, 0, 0, 0) == 0: # CLONE_PARENT, SIGCHLD
        os.write(ends[1], b'held' if is_refused('src', 'lib') else b'free')
        os._exit(0)
    return True
assert succeeds(in_child(narrow_and_give))
assert os.read(ends[0], 4) == b'held'
PY
IN

# Hosts where no rename can wait: as Linux alone has it, and mv copies.
POOR=$BIN/../tests/poorhost
for host in 'notify-interrupted off' 'notify-interrupted watch' 'notify-taken off'; do
    headgate serve --stop >/dev/null 2>&1 || :
    check_status 0 "$host" "$POOR" "${host% *}" -- headgate run --ladder auto --exec "${host#* }" -- sh -c '! git mv src lib 2>err && grep -q cross-device err && rm err && mv src lib && git add -A && git commit -qm Renamed'
    branch=headgate/$(last_run)/1
    check_equal 'mv and git add do it' '4 R100' "$(renames)"
done

[ "$FAILED" = 0 ]
