#!/bin/sh
# What is read-only in a box stays so while the host renames, rewrites and deletes the files under it: thousands of times, with
# both engines and in `headgate box`. A mount that goes all the same (a file in a folder of the host that the box writes) is made
# again, and told. Control: where nobody watches, a mount of a single file is gone with the first rename (G10, G11).
. "$(dirname "$0")/../lib.sh"

command -v python3 >/dev/null || skip "needs python3"
WRITER=$TESTS/fake/writer.py
ROUNDS=2000
mkdir -m 777 "$WORLD/signals"

# person WHAT FILE N (tests/fake/person.py); save FILE TEXT: once, as editors and git do it, written beside and renamed over.
person() { python3 "$TESTS/fake/person.py" "$@"; }
save() { printf '%s\n' "$2" >"$1.new" && mv -f "$1.new" "$1"; }
# tries_of PATH FILE, wins_of PATH FILE
tries_of() { awk -v p="$1" '$1 == p { print $2 }' "$2"; }
wins_of() { awk -v p="$1" '$1 == p { print $3 }' "$2"; }
log_of() { headgate show "$1" --json | jq -r '.attempts[0].log'; }
has_line() { grep -q "$1" "$2"; }
# box_pid ATTEMPT: a process of its box.
box_pid() { left_of "$1" | head -n 1 | cut -d/ -f3; }
is_mounted() { grep -q " $2 ro" "/proc/$1/mountinfo"; }

make_repo "$WORLD/repo"
cd "$WORLD/repo"
echo '{}' >.mcp.json
git add .mcp.json
git commit -q -m 'Settings of the project'

# 1. Overlay: nothing of the tree is the host's, nothing of the repository is in the box but objects, read-only.
run_attempt() { # ENGINE STOP PATH...
    engine=$1
    shift
    headgate run --ladder auto --engine "$engine" --detach --ro "$TESTS/fake" --ro "$WORLD/signals" -p x -- \
        sh -c 'for p; do shift; case $p in TREE/*) p=$HEADGATE_WORKTREE/${p#TREE/} ;; esac; set -- "$@" "$p"; done; exec python3 "$@"' sh \
        "$WRITER" "$@" >"$WORLD/run.out" 2>&1 || die "no attempt: $(cat "$WORLD/run.out")"
    last_run
}
paths="$WORLD/repo/.git/config +$WORLD/repo/.git/objects/info/alternates $WORLD/repo/.git/packed-refs TREE/.git TREE/.mcp.json"
# shellcheck disable=SC2086
run=$(run_attempt overlay "$WORLD/signals/one" $paths)
until_true 30 sh -c "grep -q ready '$(log_of "$run.1")'" || die 'the attempt did not start'
tree=$(headgate show "$run.1" --json | jq -r '.attempts[0].tree')
person day .mcp.json $ROUNDS
i=0
while [ $i -lt 100 ]; do # the host's own face of the worktree
    cp "$tree/.git" "$tree/.git.new" && mv "$tree/.git.new" "$tree/.git"
    i=$((i + 1))
done
touch "$WORLD/signals/one"
until_true 30 is_done "$run.1" || die 'the attempt does not end'
log=$(log_of "$run.1")
for path in $paths; do
    case $path in TREE/*) path=$tree/${path#TREE/} ;; esac
    check "overlay: $path was tried more than $ROUNDS times" test "$(tries_of "$path" "$log")" -gt $ROUNDS
    check_equal "overlay: $path was never writable" 0 "$(wins_of "$path" "$log")"
done
check 'the repository is sound' git fsck --strict

# 2. `headgate box`: the folder .git stays whatever git does in it; a settings file that is replaced is held again.
mkdir -m 777 "$WORLD/work"
cp -r "$WORLD/repo/.git" "$WORLD/repo/.mcp.json" "$WORLD/work/"
[ "$(id -u)" != 0 ] || chown -R headgate "$WORLD/work"
cd "$WORLD/work"
git config --global --add safe.directory "$WORLD/work"
git checkout -q -f main
(exec headgate box --ro "$TESTS/fake" --ro "$WORLD/signals" -- python3 "$WRITER" "$WORLD/signals/two" .git/config +.git/hooks/x .mcp.json) >"$WORLD/box.out" 2>"$WORLD/box.err" &
box=$!
BACKGROUND="$BACKGROUND $box"
until_true 20 has_line ready "$WORLD/box.out" || die "the box did not start: $(cat "$WORLD/box.err")"
person day .mcp.json $ROUNDS
inside=$(pgrep -f "^python3 $WRITER $WORLD/signals/two" | head -n 1)
until_true 10 is_mounted "$inside" "$WORLD/work/.mcp.json" || fail 'box: the settings file is not held again'
touch "$WORLD/signals/two"
wait $box || fail "the box ended with $?: $(tail -n 3 "$WORLD/box.err")"
check "box: .git/config was tried more than $ROUNDS times" test "$(tries_of .git/config "$WORLD/box.out")" -gt $ROUNDS
check_equal 'box: .git/config was never writable' 0 "$(wins_of .git/config "$WORLD/box.out")"
check_equal 'box: nor a hook' 0 "$(wins_of +.git/hooks/x "$WORLD/box.out")"
check_has 'box: what was made again is told' '\.mcp\.json, which is read-only in the box, was replaced or removed on the host.*it was mounted again' "$WORLD/box.err"
check 'box: not two thousand times' test "$(grep -c 'was replaced' "$WORLD/box.err")" -le 20

# What is covered is covered again.
mkdir -m 777 "$WORLD/covered"
cd "$WORLD/covered"
echo secret >token
chmod 644 token
mkfifo "$WORLD/question"
(exec headgate box --mask token -- sh -c 'read -r q; cat token') <"$WORLD/question" >"$WORLD/token.out" 2>"$WORLD/token.err" &
box=$!
BACKGROUND="$BACKGROUND $box"
exec 7>"$WORLD/question"
reads() { pgrep -f '^sh -c read -r q; cat token' | head -n 1; }
is_asking() { [ -n "$(reads)" ] && is_mounted "$(reads)" "$WORLD/covered/token"; }
until_true 20 is_asking || die "the box did not start: $(cat "$WORLD/token.err")"
save token 'another secret'
until_true 10 has_line 'which is covered in the box, was replaced' "$WORLD/token.err" || fail 'covered: it is not told'
check 'covered: the mount is there again' is_asking
echo go >&7
exec 7>&-
wait $box || :
check_equal 'covered: the box reads nothing' '' "$(cat "$WORLD/token.out")"

# 3. Checkout: the tree is the host's, and so are the entries that mounts lie on.
cd "$WORLD/repo"
run=$(run_attempt checkout "$WORLD/signals/three" TREE/.git TREE/.mcp.json)
until_true 30 sh -c "grep -q ready '$(log_of "$run.1")'" || die 'the attempt did not start'
tree=$(headgate show "$run.1" --json | jq -r '.attempts[0].tree')
pid=$(box_pid "$run.1")
cp "$tree/.git" "$WORLD/face"
check 'checkout: .git is held' is_mounted "$pid" "$tree/.git"
i=0
while [ $i -lt 50 ]; do # one by one
    cp "$WORLD/face" "$tree/.git.new" && as_box true && mv -f "$tree/.git.new" "$tree/.git"
    save "$tree/.mcp.json" "{\"n\": $i}"
    until_true 10 is_mounted "$pid" "$tree/.git" || die 'checkout: .git is not held again'
    until_true 10 is_mounted "$pid" "$tree/.mcp.json" || die 'checkout: the settings are not held again'
    i=$((i + 1))
done
pass 'checkout: each was held again, fifty times'
person save "$tree/.mcp.json" $ROUNDS # and faster than anybody can follow
rm -f "$tree/.git"
until_true 10 is_mounted "$pid" "$tree/.git" || fail 'checkout: .git that was removed is not there again'
until_true 10 is_mounted "$pid" "$tree/.mcp.json" || fail 'checkout: the settings are not held again after the burst'
check_equal 'checkout: the host has its own .git as it was' "$(cat "$WORLD/face")" "$(cat "$tree/.git")"
touch "$WORLD/signals/three"
until_true 30 is_done "$run.1" || die 'the attempt does not end'
check_equal 'checkout: the attempt went on' ok "$(outcome_of "$run.1")"
headgate show "$run.1" >"$WORLD/show"
check_has 'checkout: and the attempt' 'note:.*took its mount away' "$WORLD/show"
headgate gate log --json >"$WORLD/log.json"
check_has 'checkout: the log has it' 'was replaced or removed on the host' "$WORLD/log.json"

# The control: 2,000 renames under a mount that nobody watches, and under what Headgate does instead.
headgate doctor --escape --only G10,G11 --json >"$WORLD/control.json" || fail 'G10 and G11'
check_equal 'control: the naive mount is gone and the box writes' 'escapes escapes' "$(jq -r '[.attempts[].control] | join(" ")' "$WORLD/control.json")"
check_equal 'control: tries' "$ROUNDS $ROUNDS" "$(jq -r '[.attempts[].tries | tostring] | join(" ")' "$WORLD/control.json")"

exit "$FAILED"
