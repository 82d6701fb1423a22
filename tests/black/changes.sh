#!/bin/sh
# git in a box is told what has changed, and must never be told too little: whatever is done to the files of a
# worktree, a status that asks and one that looks at every file say the same.
. "$(dirname "$0")/../lib.sh"

git init -q "$WORLD/repo"
cd "$WORLD/repo"
for d in a a/b a/b/c d d/e f g/h; do
    mkdir -p $d
    for n in 1 2 3 4 5 6; do echo "$d $n" >$d/t$n; done
done
printf '*.o\nskip/\n' >.gitignore
printf '*.x\n' >a/.gitignore
git add -A && git commit -qm Base
seq 500 >f/t1 && git commit -qam More

cat >"$WORLD/same.sh" <<'IN'
# In a worktree: compare, after the operation named in $1.
index=$(git rev-parse --git-dir)/index
cp -p "$index" /tmp/plain-index
want=$(GIT_INDEX_FILE=/tmp/plain-index git -c core.fsmonitor=false -c core.untrackedCache=false status --porcelain 2>&1)
got=$(${2:-git} status --porcelain 2>&1)
[ "$want" = "$got" ] || { echo "DIFFER after $1"; echo "$want" >/tmp/want; echo "$got" | diff /tmp/want -; exit 1; }
IN

cp "$TESTS/black/changes.py" "$WORLD"
cat >"$WORLD/inside.sh" <<'IN'
set -eu
cp -p "$(git rev-parse --git-dir)/index" /tmp/given-index
git fsck --no-dangling >/tmp/fsck 2>&1 || { cat /tmp/fsck; exit 1; } # the digest of the index too
here=$(dirname "$0")
believed() { git ls-files -f | grep -c '^h'; }
all=$(git ls-files | wc -l)
GIT_TRACE2_PERF=/tmp/first git status --porcelain
grep -q "opendir:0" /tmp/first || { echo 'the first status lists folders'; exit 1; }
[ "$(believed)" = "$all" ] || { echo "at first $(believed) of $all are known"; exit 1; }
echo more >>a/b/t1
sh "$here/same.sh" 'one edit'
git ls-files -f | grep '^H' | grep -qx 'H a/b/t1' || { echo 'the edit is not known'; exit 1; }
git checkout -q a/b/t1
echo top >top && git status --porcelain | grep -qx '?? top' && git ls-files -f f | grep -q '^h' || { echo 'a file at the top makes git look at all'; exit 1; }
rm top
# A copy of the worktree, and another one of the same git folder, are looked at as they are.
cp -a . /tmp/copy && echo more >>/tmp/copy/d/t1 && (cd /tmp/copy && git status --porcelain 2>/dev/null) | grep -qx ' M d/t1'
git worktree add -q /tmp/other && echo more >>/tmp/other/d/t2 && (cd /tmp/other && git status --porcelain) | grep -qx ' M d/t2'
git worktree remove --force /tmp/other
git --work-tree=/tmp/copy status --porcelain 2>/dev/null | grep -qx ' M d/t1'
sh "$here/same.sh" 'work elsewhere'
# The layer itself can be neither changed nor run from.
! touch /run/headgate/upper/x 2>/dev/null
printf '#!/bin/sh\necho ran\n' >run.sh && chmod +x run.sh && ! /run/headgate/upper/run.sh 2>/dev/null
rm run.sh
for seed in 1 2 3; do
    python3 "$here/changes.py" $seed $([ $seed = 3 ] && echo 30 many || echo 60)
    : >"$(git rev-parse --git-dir)/info/exclude" && git config --unset-all status.showUntrackedFiles || :
    rm -rf /tmp/copy && git clean -qffdx
    git reset -q --hard && git clean -qffdx && git switch -q "headgate/$HEADGATE_RUN/1" && git reset -q --hard "$(git rev-list --max-parents=0 HEAD)"
    git stash clear
done
# The comparison notices what is kept from git.
printf '#!/bin/sh\nprintf "x\\0"\n' >/tmp/mute && chmod +x /tmp/mute
git config core.fsmonitor /tmp/mute && git status >/dev/null && git status >/dev/null
echo more >>a/t1
! sh "$here/same.sh" 'a hook that says nothing' 'git -C .' >/dev/null || { echo 'the comparison sees nothing'; exit 1; }
git config core.fsmonitor false
echo left >>a/b/c/t3 && rm d/t6 && echo left >g/h/left
echo all the same
IN
headgate run --ladder auto --ro "$WORLD/inside.sh" --ro "$WORLD/same.sh" --ro "$WORLD/changes.py" -- sh "$WORLD/inside.sh" >"$WORLD/out" 2>&1 || {
    headgate logs "$(last_run).1" | tail -n 60
    die "in the box: $(tail -n 3 "$WORLD/out")"
}
run=$(last_run)
headgate logs "$run.1" >"$OUT"
check_has 'a status that asks says what one that looks says' 'all the same' "$OUT"
check_equal 'what was left comes home' 'M a/b/c/t3 M a/t1 D d/t6 A g/h/left' "$(git diff --name-status "headgate/$run/1~1" "headgate/$run/1" | tr '\t\n' '  ' | sed 's/ $//')"

# Where the person covers a file of the worktree, nothing of the layer is shown, and git looks itself.
headgate run --ladder auto --mask a/t2 -- sh -c 'ls /run/headgate; echo more >>f/t1; git status --porcelain' >"$WORLD/out" 2>&1
headgate logs "$(last_run).1" >"$OUT"
check_lacks 'with a mask the layer is not there' upper "$OUT"
check_has 'and changes are seen' '^ M f/t1' "$OUT"
