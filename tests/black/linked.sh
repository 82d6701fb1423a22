#!/bin/sh
# Runs that start in a linked worktree: their work belongs to the branch of that worktree.
. "$(dirname "$0")/../lib.sh"

make_repo "$WORLD/repo"
git -C "$WORLD/repo" worktree add -q "$WORLD/side" -b side
quiet() { headgate run --ladder auto "$@" >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"; }

cd "$WORLD/side"
quiet -- sh -c 'echo s >s && git add s && git commit -qm S && echo ours >src/app.txt && git commit -qam Ours'
side=$(last_run).1
cd "$WORLD/repo"
quiet -- sh -c 'echo m >m && git add m && git commit -qm M && echo theirs >src/app.txt && git commit -qam Theirs'
main=$(last_run).1

# Both are attempts of one repository, wherever they began.
headgate conflicts --json >"$OUT" || :
check_equal 'they are compared with each other, and each with its own branch' "$main>main $main>$side $side>side" "$(jq -r '[.[] | "\(.what)>\(.into)"] | join(" ")' "$OUT")"
check_status 0 'a merge goes to the branch of the worktree' headgate merge "$side"
check_has 'and says so' "$side merged into side by fast-forward" "$OUT"
check_equal 'the worktree has it, the main checkout has not' 's main' "$(cat "$WORLD/side/s") $(git log -1 --format=%s main | grep -q Describe && echo main)"
check_status 0 'the other one goes to the main checkout' headgate merge "$main"
check_equal 'as ever' m "$(cat m)"

# The worktree goes, the work stays within reach.
cd "$WORLD/side"
quiet -- sh -c 'echo t >t && git add t && git commit -qm T'
late=$(last_run).1
cd "$WORLD/repo"
git worktree remove --force "$WORLD/side"
check_status 0 'diff, when the worktree is gone' headgate diff "$late"
check_has 'shows the work' '^\+t' "$OUT"
check_status 0 'merge' headgate merge "$late"
check_equal 'is in its branch' t "$(git show side:t)"
check_status 0 'discard' headgate discard "$side" "$main" "$late"
check 'the repository is whole' git fsck --no-dangling
