#!/bin/sh
# merge --ref-only: the branch moves, and a checkout that git could not update stays as it is.
. "$(dirname "$0")/../lib.sh"

make_repo "$WORLD/it's a repo"
cd "$WORLD/it's a repo"
quiet() { headgate run --ladder auto "$@" >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"; }
state() { GIT_OPTIONAL_LOCKS=0 git status --porcelain; md5sum .git/index; cat src/app.txt; }
# the_way_back: the command of the sentence, as a person would copy it.
the_way_back() { sed -n 's/.* HEAD detached at [0-9a-f]*: \(git -C .* switch [a-z]*\) goes back.*/\1/p' "$OUT"; }

quiet -n 3 -- sh -c 'n=${HEADGATE_ATTEMPT#*.}; echo "$n" >"of.$n"; git add . && git commit -qm "One $n" && echo "$n" >>src/app.$n && git add . && git commit -qm "Two $n"'
run=$(last_run)
quiet -- sh -c 'echo theirs >src/app.txt && git commit -qam Theirs'
edit=$(last_run).1
before=$(git rev-parse main)

# What is mine collides: refused with both ways, then left as it is.
echo mine >src/app.txt
check_status 1 'a file of mine collides' headgate merge "$edit"
check_has 'both ways are named' 'commit, stash or move what is yours there, then merge again, or merge with --ref-only' "$OUT"
was=$(state)
check_status 0 'a dry run' headgate merge --dry-run --ref-only "$edit"
check_has 'says what would stay' 'would stay as it is, its HEAD detached at' "$OUT"
check_equal 'and changes nothing' "$was $before refs/heads/main" "$(state) $(git rev-parse main) $(git symbolic-ref HEAD)"
check_status 0 'the branch alone' headgate merge --ref-only "$edit"
check_has 'says so' "^$edit merged into main by fast-forward, now [0-9a-f]{10}; the checkout at .*it's a repo stays as it is, its HEAD detached at $(echo "$before" | cut -c1-10)" "$OUT"
check_equal 'files and index are as they were' "$was" "$(state)"
check_equal 'off the branch' "$before" "$(cat .git/HEAD)"
check_has 'as git says' '^HEAD detached at ' "$(git status >"$WORLD/status"; echo "$WORLD/status")"
check_equal 'the branch has it' theirs "$(git show main:src/app.txt)"
check_equal 'it counts as merged' "$(git rev-parse main)" "$(headgate show --json "$edit" | jq -r '.attempts[0].merged_commit')"
way=$(the_way_back)
check 'the way back refuses what collides' sh -c "! $way 2>/dev/null"
git stash -qu
check 'with it put aside the words work as they are written' sh -c "$way"
check_equal 'on the branch with the work' 'refs/heads/main theirs' "$(git symbolic-ref HEAD) $(cat src/app.txt)"
check 'nothing is lost' sh -c '! git stash pop >/dev/null 2>&1 && git show stash@{0}:src/app.txt | grep -q mine'
git checkout -q -f && git stash drop -q

# Several, and each way to merge: all go to the branch that was checked out at first.
echo mine >loose
git add loose
was=$(state)
check_status 0 'several' headgate merge --ref-only --squash "$run.1" "$run.2"
check_has 'the second finds no checkout any more' "^$run.2 merged into main as one commit, now [0-9a-f]*$" "$OUT"
check_equal 'they are there' '1 2' "$(git show main:of.1 main:of.2 | tr '\n' ' ' | sed 's/ $//')"
check_status 2 'without a branch the next has no target' headgate merge "$run.3"
check_has 'and says which words it needs' 'as with --into main, or switch to it there first' "$OUT"
check_status 0 'which it has' headgate merge --ref-only --rebase --trailers --into main "$run.3" --json
check_equal 'told to programs' "$run.3 main false 0" "$(jq -r '.[0] | "\(.attempt) \(.into) \(.ff) \(.left | length)"' "$OUT")"
check_equal 'commit by commit' 'Two 3/One 3' "$(git log -2 --format=%s main | paste -sd/)"
check_equal 'nothing of it in the checkout' "$was" "$(state)"
git commit -qm Mine
check_equal 'nor does a commit there take it back' 3 "$(git show main:of.3)"
git switch -q main 2>/dev/null
check 'and what was committed meanwhile comes too' git merge -q -m Back -
check_equal 'all of it' '3 mine' "$(cat of.3 loose | tr '\n' ' ' | sed 's/ $//')"

# Parts, a linked worktree by the side of another, JSON, a submodule.
git init -q "$WORLD/lib"
(cd "$WORLD/lib" && echo l >l && git add l && git commit -qm Lib)
git -c protocol.file.allow=always submodule --quiet add "$WORLD/lib" lib && git commit -qm 'Add lib'
git worktree add -q -f "$WORLD/second" main
quiet -- sh -c 'cd lib && echo m >l && git commit -qam M && cd .. && git commit -qam Moved && echo p >part && git add part && git commit -qm Part'
run=$(last_run)
check_status 1 'checked out twice' headgate merge --reviewed "$run.1"
check_has 'names both' "main is checked out at .*it's a repo and .*second, and only one" "$OUT"
check_status 1 'a part neither' headgate take "$run.1" part
check_status 0 'a part alone' headgate take --ref-only --into main "$run.1" part
check_has 'leaves both' 'repo stays as it is.*second stays as it is' "$OUT"
git switch -q main
check_status 0 'a submodule' headgate merge --reviewed --ref-only --json "$run.1"
check_equal 'one checkout is left' "$PWD false" "$(jq -r '.[0] | "\(.left[0].path) \(.ff)"' "$OUT")"
check_has 'and what follows then' 'git submodule update' "$OUT"
jq -r '.[0].left[0].next' "$OUT" >"$WORLD/next"
check 'the command is one' sh -c ". '$WORLD/next' 2>/dev/null && git submodule --quiet update && grep -q m lib/l"
check_equal 'and the other one is where it was' off "$(git -C "$WORLD/second" symbolic-ref -q HEAD || echo off)"

# What is under way in the checkout is finished or given up there, off the branch; none of it takes the merge back.
git switch -q -c apart && echo apart >src/app.txt && git commit -qam Apart && echo more >src/app.txt && git commit -qam More
git switch -q main && echo mine >src/app.txt && git commit -qam Mine
git format-patch -q -o "$WORLD/mail" apart~2..apart
start=$(git rev-parse main)
quiet -- sh -c 'echo w >while && git add while && git commit -qm While'
run=$(last_run)
for kind in "am -q $WORLD/mail/0001-Apart.patch" 'cherry-pick apart~1' 'revert apart'; do
    for end in abort continue; do
        check "$kind stops" sh -c "! git $kind >/dev/null 2>&1"
        check_status 0 'the branch alone' headgate merge --ref-only --squash "$run.1"
        check_has 'says what to finish' "HEAD detached at [0-9a-f]{10}: finish the ${kind%% *} there or give it up, then git -C" "$OUT"
        merged=$(git rev-parse main)
        echo both >src/app.txt
        [ $end = abort ] || git add src/app.txt
        check "$end" env GIT_EDITOR=true git "${kind%% *}" --$end
        check_equal 'the branch is where it was, the checkout off it' "$merged w off" "$(git rev-parse main) $(git show main:while) $(git symbolic-ref -q HEAD || echo off)"
        git reset -q --hard && git switch -q -C main "$start"
    done
done

# While somebody rebases it there is no way but to wait.
quiet -- sh -c 'echo r >r && git add r && git commit -qm R'
run=$(last_run)
echo e >e && git add e && git commit -qm E
GIT_SEQUENCE_EDITOR='sed -i s/^pick/edit/' git rebase -q -i HEAD~1 2>/dev/null
check_status 1 'a rebase' headgate merge --ref-only "$run.1"
check_has 'says why' 'is being rebased at .*which sets it when it ends' "$OUT"
git rebase --abort
check 'the repository is whole' git fsck --no-dangling
check_equal 'without a lock' '' "$(find .git -name '*.lock')"
exit $FAILED
