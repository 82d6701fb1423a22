#!/bin/sh
# What clean and discard remove is told by run and attempt, base checkouts by their names, whichever was gone first.
. "$(dirname "$0")/../lib.sh"

make_repo "$WORLD/repo"
cd "$WORLD/repo"
echo junk >.gitignore && git add .gitignore && git commit -qm Junk
# The first attempt of each run is the longest to remove.
work='case $HEADGATE_ATTEMPT in *.1) mkdir junk && cd junk && seq 3000 | xargs touch ;; esac'
for n in 1 2 3; do
    echo "# $n" >.gitattributes && git add .gitattributes && git commit -qm "Base $n" # of its own: no delta of the one before
    headgate run -n 3 --ladder auto -- sh -c "$work" >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
done
headgate clean -n --json | jq -c '.removed' >"$WORLD/told"
headgate clean --json | jq -c '.removed' >"$WORLD/done"
check_equal 'by run and attempt' '1.1 1.2 1.3 2.1 2.2 2.3 3.1 3.2 3.3' "$(jq -r '[.[].what | select(startswith("attempt ")) | .[8:]] | join(" ")' "$WORLD/done")"
check_equal 'as it was told before' "$(jq -c 'map(.what, .path)' "$WORLD/told")" "$(jq -c 'map(.what, .path)' "$WORLD/done")"
jq -r '.[] | select(.what == "base") | .path' "$WORLD/done" >"$WORLD/bases"
case $(headgate doctor --json | jq -r '.engines[] | select(.taken) | .name') in
checkout) ;;
*) check_equal 'three bases' 3 "$(wc -l <"$WORLD/bases")" ;;
esac
check 'by their names' env LC_ALL=C sort -c "$WORLD/bases"

headgate run -n 3 --ladder auto -- sh -c "$work" >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
run=$(last_run)
check_status 0 'discard' headgate discard "$run.1" "$run.3" "$run.2"
check_equal 'as they were asked for' "$run.1 removed,$run.3 removed,$run.2 removed" "$(paste -sd, <"$OUT")"

# What calls asked goes on request, and what that leaves unproved is told; what waits and the log stay.
seq 20000 | paste -sd' ' | sed 's/.*/{"tool":"Write","args":{"file_path":"x","content":"&"}}/' >"$WORLD/call"
chmod 644 "$WORLD/call"
headgate run --ladder auto --ro "$WORLD/call" -- sh -c "for i in 1 2 3; do headgate-hook <$WORLD/call; done" >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
headgate run --ladder confirm --detach --ro "$WORLD/call" -- sh -c "headgate-hook <$WORLD/call" >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
until_true 20 has_pending || die 'no call waits'
old=$(headgate gate ls --all --json | jq -r '[.calls[] | select(.tool == "Write")][0].id')
waiting=$(headgate gate ls --json | jq -r '.calls[0].id')
check_status 0 'the log before' headgate gate log --export "$WORLD/before"
size() { cat "$XDG_STATE_HOME"/headgate/*/state.db "$XDG_STATE_HOME"/headgate/*/state.db-wal | wc -c; }
large=$(size)
check_status 0 'younger calls' headgate clean --arguments 1d
check_lacks 'keep their arguments' 'arguments of' "$OUT"
check_status 0 'what would go' headgate clean -n --arguments 0s
check_has 'is told by attempt' 'arguments of 3 calls of ' "$OUT"
check_status 0 'and stays' sh -c "headgate gate show $old | grep -q '19999 20000'"
check_status 0 'and goes' headgate clean --arguments 0s
check 'which makes the store smaller' [ $((large - $(size))) -gt 200000 ]
check_status 0 'such a call' headgate gate show "$old"
check_has 'says so' "dropped then by 'headgate clean'" "$OUT"
check_lacks 'and has none' '19999 20000' "$OUT"
check_status 1 'nor can it be explained' headgate gate explain "$old"
check_status 0 'what waits has them' sh -c "headgate gate show $waiting | grep -q '19999 20000'"
check_status 0 'the log verifies' headgate gate verify
check_has 'and says what it cannot prove' '^3 calls have no arguments any more, .* last at .* exported before' "$OUT"
check_status 0 'the log after' headgate gate log --export "$WORLD/after"
for file in before after; do check_status 0 "both verify alone: $file" headgate gate verify "$WORLD/$file"; done
check_has 'of the latter it is said too' '^3 calls have no arguments' "$OUT"
sed 's/"dropped_ms":[0-9]*/"dropped_ms":1/' "$WORLD/after" >"$WORLD/other"
check_status 1 'not with calls that no row tells of' headgate gate verify "$WORLD/other"
check_has 'which is said' "no row says that the call's arguments are gone" "$OUT"
