#!/bin/sh
# Git inside a box, and forty attempts at one moment.
. "$(dirname "$0")/../lib.sh"

make_repo "$WORLD/repo"
cd "$WORLD/repo"
git tag v1
git branch side HEAD~1
printf '#!/bin/sh\necho hook ran >>"$(git rev-parse --git-dir)/hook-ran"\n' >.git/hooks/pre-commit
chmod +x .git/hooks/pre-commit
config=$(cat .git/config)

cat >"$WORLD/inside.sh" <<'IN'
set -eux
test -z "$(git status --porcelain)"
git log --oneline -1 side
git rev-parse v1
echo a >a && git add a && git commit -q -m A
test -e "$(git rev-parse --git-dir)/hook-ran"
echo aa >a && git commit -q --amend -a -m A2
git switch -q -c topic side
echo t >t && git add t && git commit -q -m T
git rebase -q "headgate/$HEADGATE_RUN/1"
git switch -q "headgate/$HEADGATE_RUN/1"
git merge -q --no-ff -m M topic
echo wip >>a && git stash -q && git stash list | grep -q . && git stash pop -q && git checkout -q a
git tag inside-tag
git switch -q --detach HEAD && echo d >d && git add d && git commit -q -m Detached
git gc -q --prune=now
git fsck --no-dangling
git init -q /tmp/own && git -C /tmp/own commit -q --allow-empty -m Own
test "$(git -C /tmp/own log -1 --format='%an %ae' main)" = 'Test Person person@example.com'
git config user.email evil@example.com
git config core.fsmonitor 'touch /tmp/evil'
echo more >more
IN
headgate run --ladder auto --ro "$WORLD/inside.sh" -- sh "$WORLD/inside.sh" >"$WORLD/out" 2>&1 || {
    cat "$WORLD/out"
    headgate logs "$(last_run).1"
    die 'git inside a box'
}
run=$(last_run)
pass 'commit, amend, rebase, merge, switch, detached, stash, tag, gc'
check_equal 'the public branch is the HEAD of the box, with its uncommitted work' more "$(git show "headgate/$run/1:more")"
check 'a detached commit came home' git merge-base --is-ancestor "headgate/$run/1~1" "headgate/$run/1"
check 'other branches come home apart' git rev-parse -q --verify "refs/headgate/$run/1/heads/topic"
check "the person's branches are as they were" sh -c 'git for-each-ref --format="%(refname)" refs/heads | grep -v refs/heads/headgate/ | tr "\n" " " | grep -qx "refs/heads/main refs/heads/side "'
check_equal "the person's configuration is as it was" "$config" "$(cat .git/config)"
check 'the repository is whole' git fsck --no-dangling

headgate run -n 40 -j 8 --ladder auto -- sh -c 'echo $HEADGATE_ATTEMPT >mine && git add mine && git commit -q -m Mine' >"$WORLD/out" 2>&1 || {
    tail -n 50 "$WORLD/out"
    die 'forty attempts'
}
run=$(last_run)
good=0
for n in $(seq 40); do [ "$(git show "headgate/$run/$n:mine")" = "$run.$n" ] && good=$((good + 1)); done
check_equal 'forty attempts have their own work' 40 "$good"
check_status 0 'discard them all' headgate discard --force "$run"
check_equal 'and nothing is left of them' '' "$(git for-each-ref "refs/heads/headgate/$run" "refs/headgate/$run" "refs/headgate/keep/$run"; git worktree list | grep "/$run\\.")"

# The checkout engine gives the same.
headgate run --engine checkout --ladder auto -- sh -c 'echo x >>src/app.txt && git commit -qam X && echo y >y' >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
run=$(last_run)
check_equal 'checkout engine: commit and snapshot' 'src/app.txt y' "$(git diff --name-only main "headgate/$run/1" | tr '\n' ' ' | sed 's/ $//')"

# A merge with conflicts changes nothing and names the paths; a dirty file that git would overwrite is refused.
headgate run --ladder auto -- sh -c 'echo theirs >src/app.txt && git commit -qam Theirs' >/dev/null 2>&1
run=$(last_run)
printf 'dirty\n' >src/app.txt
check_status 1 'a dirty file that would be overwritten refuses the merge' headgate merge "$run.1"
check_equal 'and stays' dirty "$(cat src/app.txt)"
git checkout -q src/app.txt
echo ours >src/app.txt && git -c core.hooksPath=/dev/null commit -qam Ours
check_status 1 'conflicts fail the merge' headgate merge "$run.1"
check_has 'and are named' 'src/app.txt' "$OUT"
check_equal 'nothing half done' '' "$(git status --porcelain; ls .git/MERGE_HEAD 2>/dev/null)"
check_status 1 'conflicts' headgate conflicts "$run.1"
check_has 'conflicts names the path' 'src/app.txt' "$OUT"

# An agent whose work cannot be brought home has not done well, however it ended.
check_status 1 'a harvest that fails fails the run' headgate run --ladder auto -- sh -c 'git rev-parse --git-dir >/dev/null && rm -rf "$(git rev-parse --git-dir)"/* ; exit 0'
check_has 'and says so' 'could not be brought home' "$OUT"
check_equal 'outcome' failed "$(outcome_of "$(last_run).1")"

# A submodule is there without a network, and comes home.
git init -q "$WORLD/lib"
(cd "$WORLD/lib" && echo l >l && git add l && git commit -qm Lib)
git -c protocol.file.allow=always submodule --quiet add "$WORLD/lib" vendor/lib
git -c core.hooksPath=/dev/null commit -qm 'Add lib'
mv "$WORLD/lib" "$WORLD/lib.gone"
check_status 0 'work in a submodule' headgate run --ladder auto -- sh -c 'cd vendor/lib && grep -q l l && echo m >l && git commit -qam M && cd ../.. && git commit -qam Moved'
run=$(last_run)
check_equal 'its commit is in the submodule' M "$(git -C vendor/lib log -1 --format=%s "headgate/$run/1")"
check_status 1 'a moved submodule is looked at first' headgate merge "$run.1"
check_status 0 'merge' headgate merge --reviewed "$run.1"
check_has 'says how the checkout follows' 'git submodule update' "$OUT"
check 'it follows' sh -c 'git submodule --quiet update && grep -q m vendor/lib/l'
check_status 0 'discard' headgate discard "$run"

# Each harvest is a pack; a merge has git bring them together when the person's settings call them many.
packs() { find .git/objects/pack -name '*.pack' | wc -l; }
git config gc.autoPackLimit 3 && git config gc.autoDetach false
for n in 1 2 3; do git -c gc.auto=0 -c core.hooksPath=/dev/null commit -q --allow-empty -m "$n" && git repack -q; done
git config gc.auto 0
headgate run -n 2 --ladder auto -- sh -c 'echo "$HEADGATE_ATTEMPT" >"of-$HEADGATE_ATTEMPT" && git add -A && git commit -qm Work' >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
run=$(last_run)
check 'harvests are packs' [ "$(packs)" -ge 5 ]
check_status 0 'a merge where the person wants no gc' headgate merge "$run.1"
check 'leaves them' [ "$(packs)" -ge 5 ]
git config --unset gc.auto
check_status 0 'a merge otherwise' headgate merge "$run.2"
check 'brings them together, but for its own' [ "$(packs)" -le 2 ]
