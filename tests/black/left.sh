#!/bin/sh
# What only a worktree has is told with the harvest, and discard asks for it: what git cannot record, may not enter, was told to
# overlook, or holds under other names than branches. All of that which git can hold comes home.
. "$(dirname "$0")/../lib.sh"

make_repo "$WORLD/repo"
cd "$WORLD/repo"
printf '*.utf16 working-tree-encoding=UTF-16\n' >.gitattributes
echo three >third && git add -A && git commit -qm 'Attributes'
start=$(git rev-parse HEAD)

# agent SCRIPT: an attempt, in $run, and its note.
agent() {
    headgate run --ladder auto --engine "$engine" -- sh -c "$1" >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
    run=$(last_run).1
    headgate show "$run" --json | jq -r '.attempts[0].note' >"$WORLD/note"
}
# asks WHAT NOTE REASON: the note has that, and merged or not the attempt is kept for that reason.
asks() {
    check_has "$engine: $1: the note" "$2" "$WORLD/note"
    headgate merge --reviewed --squash "$run" >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
    headgate clean >"$WORLD/out" 2>&1 || :
    check_status 1 "$engine: $1: is kept" headgate discard "$run"
    check_has "$engine: $1: discard says why" "$3" "$OUT"
    check_status 0 "$engine: $1: goes by force" headgate discard --force "$run"
}

for engine in overlay checkout; do
    git reset -q --hard "$start" && git clean -qffdx
    agent 'printf "\377abc" >a.utf16; echo x >b; echo y >c; printf "\377" >z.utf16'
    check "$engine: files beside one that git gives up on are there" sh -c "git cat-file -e headgate/${run%.1}/1:b && git cat-file -e headgate/${run%.1}/1:c"
    asks 'a file that git cannot encode' 'could not be recorded.*UTF-16' 'files that git could not record'

    agent 'echo x >open; echo x >shut; chmod 0 shut; mkdir d; echo x >d/f; chmod 0 d'
    asks 'what may not be read' 'cannot be entered.*\(d\).*could not be recorded.*shut' 'cannot be entered \(d\), files that git could not record'

    agent 'mkdir n && cd n && git init -q && echo s >s && git add s && git -c user.name=a -c user.email=a@b commit -qm S && echo more >more'
    asks 'a repository in it' 'repositories inside the worktree.*\(n\)' 'repositories of their own \(n\)'

    agent 'mkdir -p out/n && cd out/n && git init -q && echo s >s'
    check_equal "$engine: an ignored repository is no news" null "$(cat "$WORLD/note")"
    check_status 0 "$engine: and nothing is asked" headgate discard "$run"

    agent 'git worktree add -q --detach out/w && cd out/w && echo w >w && git add w && git commit -qm W && echo more >more'
    check "$engine: what a worktree of the agent's committed on no branch comes home" git cat-file -e "refs/headgate/${run%.1}/1/worktrees/0:w"
    asks 'uncommitted work in a worktree of its own' 'repositories inside the worktree.*\(out/w\)' 'repositories of their own \(out/w\)'

    agent 'git update-index --assume-unchanged README && echo more >>README
        git update-index --skip-worktree third && echo more >>third; git update-index --skip-worktree src/app.txt && rm src/app.txt'
    check_equal "$engine: what git was told to overlook is recorded" 'README,third' "$(git diff --name-only "HEAD..headgate/${run%.1}/1" | paste -sd,)"
    headgate discard --force "$run" >/dev/null 2>&1

    agent 'git notes add -m Note; git update-ref refs/mine/x "$(git commit-tree -m X HEAD^{tree})"; git tag words "$(echo words | git hash-object -w --stdin)"
        echo more >>README; git stash -q; echo change >>third; git commit -qam Third; echo dirty >>README; git rebase -q --autostash -x "exit 1" HEAD~1 || :'
    check_equal "$engine: all refs come home" 'other/mine/x other/notes/commits stash/0 stash/1 tags/words' \
        "$(git for-each-ref --format='%(refname:lstrip=4)' "refs/headgate/${run%.1}/1/" | grep / | paste -sd' ')"
    git merge -q "headgate/${run%.1}/1"
    for ref in other/mine/x other/notes/commits stash/0 stash/1; do git branch "kept-$(echo $ref | tr / -)" "refs/headgate/${run%.1}/1/$ref"; done
    check_status 1 "$engine: a tagged file is asked for" headgate discard "$run"
    check_has "$engine: by its name" "git tag NAME refs/headgate/${run%.1}/1/tags/words" "$OUT"
    git tag -f words "refs/headgate/${run%.1}/1/tags/words" >/dev/null 2>&1
    check_status 0 "$engine: and is safe by another" headgate discard "$run"
    git tag -d words >/dev/null
    git for-each-ref --format='delete %(refname)' 'refs/heads/kept-*' | git update-ref --stdin
done

exit "$FAILED"
