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
got=$(git status --porcelain 2>&1)
[ "$want" = "$got" ] || { echo "DIFFER after $1"; echo "$want" >/tmp/want; echo "$got" | diff /tmp/want -; exit 1; }
IN

# One operation out of many, on a file or folder that is there or was, chosen by a number.
cat >"$WORLD/random.sh" <<'IN'
same=$1 seed=$2 steps=$3
pick() { find . -name .git -prune -o $2 -print | sort | awk -v n="$1" '{ l[NR] = $0 } END { if (NR) print l[n % NR + 1] }'; }
numbers=$(awk -v s="$seed" -v n="$steps" 'BEGIN { srand(s); for (i = 0; i < n * 3; i++) print int(rand() * 30000) }')
set -- $numbers
i=0
while [ $# -ge 3 ]; do
    i=$((i + 1)) op=$(($1 % 24)) file=$(pick "$2" '-type f') dir=$(pick "$3" '-type d') other=$(pick "$2" '-type d')
    case $op in
    0) echo more >>"$file" ;;
    1) rm -f "$file" ;;
    2) echo new >"$dir/new$i" ;;
    3) [ "$dir" = . ] || rm -rf "$dir" ;;
    4) mkdir -p "$dir/sub$i/deep" && echo x >"$dir/sub$i/deep/file" ;;
    5) mv -f "$file" "$dir/moved$i" ;;
    6) git add -A ;;
    7) git add -A && git commit -qm "$i" ;;
    8) git checkout -q HEAD -- . ;;
    9) [ "$dir" = . ] || mv "$dir" "$other/was$i" 2>/dev/null ;;
    10) touch -d '2001-01-01' "$dir" ;;
    11) git stash -q -u ;;
    12) git stash pop -q 2>/dev/null ;;
    13) git rm -q -f "$file" 2>/dev/null ;;
    14) echo 'new*' >>"$dir/.gitignore" ;;
    15) chmod +x "$file" ;;
    16) [ "$dir" = . ] || { rm -rf "$dir" && echo file >"$dir"; } ;;
    17) rm -f "$file" && mkdir -p "$file" && echo in >"$file/in" ;;
    18) git reset -q --hard HEAD~1 2>/dev/null ;;
    19) git switch -q -c "b$i" ;;
    20) ln -sf t1 "$dir/link$i" ;;
    21) [ -s "$file" ] && printf X | dd of="$file" conv=notrunc status=none ;;
    22) git clean -qfd ;;
    23) cp -p "$file" "$file.copy" && mv -f "$file.copy" "$file" ;;
    esac </dev/null >/dev/null 2>&1
    sh "$same" "step $i of seed $seed: operation $op on $file, $dir, $other" || exit 1
    shift 3
done
IN

cat >"$WORLD/inside.sh" <<'IN'
set -eu
here=$(dirname "$0")
believed() { git ls-files -f | grep -c '^h'; }
all=$(git ls-files | wc -l)
git status --porcelain
[ "$(believed)" = "$all" ] || { echo "at first $(believed) of $all are known"; exit 1; }
echo more >>a/b/t1
sh "$here/same.sh" 'one edit'
git ls-files -f | grep '^H' | grep -qx 'H a/b/t1' || { echo 'the edit is not known'; exit 1; }
git checkout -q a/b/t1
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
for seed in 1 2; do
    sh "$here/random.sh" "$here/same.sh" $seed 60
    git reset -q --hard && git clean -qfdx && git switch -q "headgate/$HEADGATE_RUN/1" && git reset -q --hard "$(git rev-list --max-parents=0 HEAD)"
    git stash clear
done
# The comparison notices what is kept from git.
printf '#!/bin/sh\nprintf "x\\0"\n' >/tmp/mute && chmod +x /tmp/mute
git config core.fsmonitor /tmp/mute && git status >/dev/null && git status >/dev/null
echo more >>a/t1
! sh "$here/same.sh" 'a hook that says nothing' >/dev/null || { echo 'the comparison sees nothing'; exit 1; }
git config core.fsmonitor false
echo left >>a/b/c/t3 && rm d/t6 && echo left >g/h/left
echo all the same
IN
headgate run --ladder auto --ro "$WORLD/inside.sh" --ro "$WORLD/same.sh" --ro "$WORLD/random.sh" -- sh "$WORLD/inside.sh" >"$WORLD/out" 2>&1 || {
    headgate logs "$(last_run).1" | grep -A 200 DIFFER
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
