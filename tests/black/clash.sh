#!/bin/sh
# Conflicts between attempts, and with the branch, seen while the agents run.
. "$(dirname "$0")/../lib.sh"

make_repo "$WORLD/repo"
cd "$WORLD/repo"
seq 60 >numbers && git add numbers && git commit -qm Numbers

# with RUN.N: whom it would meet, as "3.2:numbers:9 main:numbers:9".
with() {
    headgate show "$1" --json | jq -r '[.attempts[0].conflicts[] | (.with // .into) as $w | .paths[] | "\($w):\(.path):\(.line)"] | sort | join(" ")'
}
is_with() { [ "$(with "$1")" = "$2" ]; }

headgate run --detach -n 3 -j 3 --ladder auto -- sh -c 'n=${HEADGATE_ATTEMPT#*.}
case $n in 1) sed -i "9s/.*/one/" numbers ;; 2) sed -i "10s/.*/two/" numbers ;; 3) sed -i "40s/.*/three/" numbers ;; esac
git commit -qam "$n"; sleep 300' >"$WORLD/out" || die "$(cat "$WORLD/out")"
run=$(last_run)
check 'two that touch neighbouring lines are told while they run' until_true 30 is_with "$run.1" "$run.2:numbers:10"
check_equal 'from both sides' "$run.1:numbers:10" "$(with "$run.2")"
check_equal 'who is apart meets nobody' '' "$(with "$run.3")"
headgate ls >"$OUT"
check_has 'ls has a column for it' 'ASKS +CONFLICTS' "$OUT"
check_has 'and names the other and the place' "^$run.1 .* $run.2 numbers:10 " "$OUT"
headgate show "$run.1" >"$OUT"
check_has 'show does too' "conflicts: +$run.2 numbers:10\$" "$OUT"
check_status 1 'conflicts' headgate conflicts
check_has 'names path and line' "$run.1 +$run.2 +numbers:10" "$OUT"
check_has 'and that the rest is clean' "$run.3 +main +none" "$OUT"

check_status 0 'stop' headgate stop "$run"
check_status 0 'merge one' headgate merge "$run.1"
check 'then the other meets the branch' until_true 30 is_with "$run.2" main:numbers:10
check_equal 'and the merged one meets nobody' '' "$(with "$run.1")"
# The branch moves by the person's own work, and nothing comes home meanwhile.
sed -i '40s/.*/mine/' numbers && git commit -qam 'Mine'
check "a commit of the person's own is seen" until_true 30 is_with "$run.3" main:numbers:40
git reset -q --hard HEAD~1
check 'and that it was taken back' until_true 30 is_with "$run.3" ''
git switch -qc team/next && sed -i '40s/.*/team/' numbers && git commit -qam 'Team'
check 'a switch to another branch is seen' until_true 30 is_with "$run.3" team/next:numbers:40
git switch -q main
check 'and back' until_true 30 is_with "$run.3" ''
git update-ref refs/heads/main team/next && git pack-refs --all
check 'a ref that moves without a checkout is seen, packed too' until_true 30 is_with "$run.3" main:numbers:40
git reset -q --hard HEAD~1
check 'a packed one that moves back' until_true 30 is_with "$run.3" ''

headgate serve --stop >/dev/null
check 'a new server finds out again' until_true 30 is_with "$run.2" main:numbers:10
check_status 0 'discard' headgate discard --force "$run.2" "$run.3"
headgate ls >"$OUT"
check_lacks 'the column goes with the conflict' 'CONFLICTS' "$OUT"
