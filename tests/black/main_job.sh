#!/bin/sh
# The main job: four agents, each in its own worktree and branch; diff, merge, discard; the person's checkout untouched.
. "$(dirname "$0")/../lib.sh"

make_repo "$WORLD/repo"
cd "$WORLD/repo"
printf 'local change\n' >>README
printf 'untracked\n' >notes.local
before=$(git status --porcelain=v1; git rev-parse HEAD; git stash list; cat README)

run_agent -n 4 -j 4 --ladder auto -- 'edit src/app.txt changed
ungated echo $HEADGATE_ATTEMPT >mine.txt
commit Change the app
edit left.txt uncommitted work' >"$WORLD/run.out" 2>&1 || die "the run failed: $(cat "$WORLD/run.out")"
check_has 'the first line names rung, base and network' 'auto.*' "$WORLD/run.out"
run=$(last_run)
after=$(git status --porcelain=v1; git rev-parse HEAD; git stash list; cat README)
check_equal "the person's checkout is untouched" "$before" "$after"

for n in 1 2 3 4; do
    check_equal "attempt $run.$n is ok" ok "$(outcome_of "$run.$n")"
    check "branch $n holds the commit" sh -c "git log --format=%s main..headgate/$run/$n | grep -qx 'Change the app'"
    check "branch $n holds the uncommitted work" git cat-file -e "headgate/$run/$n:left.txt"
    check "keep refs of $n" sh -c "git for-each-ref refs/headgate/keep/$run/$n/ | grep -q ."
done
check_equal 'worktrees are listed' 5 "$(git worktree list | wc -l)"
check "the repository is whole" git fsck --no-dangling
check "git status in a host face is clean" sh -c "cd $(headgate show "$run.1" --json | jq -r '.attempts[0].tree') && test -z \"\$(git status --porcelain)\""

check_status 0 'diff --stat' headgate diff "$run.1" --stat
check_has 'diff names the file' 'src/app.txt' "$OUT"
check_status 0 'diff' headgate diff "$run.1"
check_has 'diff shows the line' '^\+changed' "$OUT"

git checkout -q -- README
check_status 0 'dry run of a merge' headgate merge --dry-run "$run.1"
check_equal 'a dry run moves nothing' "$(printf '%s' "$before" | sed -n 3p)" "$(git rev-parse HEAD)"
check_status 0 'merge' headgate merge "$run.1"
check_equal 'the merge is in the checkout' changed "$(cat src/app.txt)"
check_equal 'nothing is left staged' '?? notes.local' "$(git status --porcelain)"
check_status 0 'discard of a merged attempt' headgate discard "$run.1"
check "its branch is gone" sh -c "! git rev-parse -q --verify refs/heads/headgate/$run/1"
check_status 1 'discard of unmerged work is refused' headgate discard "$run.2"
check "its branch is still there" git rev-parse -q --verify "refs/heads/headgate/$run/2"
check_status 0 'discard --force' headgate discard --force "$run.2" "$run.3" "$run.4"
check_equal 'no worktree entry is left' 1 "$(git worktree list | wc -l)"
check_equal 'no ref is left' '' "$(git for-each-ref refs/heads/headgate refs/headgate)"
check_status 0 'clean' headgate clean
