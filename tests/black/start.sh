#!/bin/sh
# What a run starts from: uncommitted work, a branch, what a remote has.
. "$(dirname "$0")/../lib.sh"

make_repo "$WORLD/up"
git clone -q "$WORLD/up" "$WORLD/repo"
cd "$WORLD/repo"

printf 'mine\n' >>README
printf 'new\n' >notes
printf 'secret\n' >.env
before=$(git status --porcelain=v1; git for-each-ref refs/heads; md5sum README notes .git/index)
check_status 0 'a run on uncommitted work' headgate run --ladder auto --wip -- sh -c 'grep -q mine README && test -f notes && test ! -e .env && echo x >>src/app.txt && git commit -qam "By an agent"'
check_has 'the first line says so' 'base main with uncommitted work [0-9a-f]{10}' "$OUT"
run=$(last_run)
check_equal 'nothing of the person changed' "$before" "$(git status --porcelain=v1; git for-each-ref refs/heads | grep -v headgate/; md5sum README notes .git/index)"
check_equal 'the diff has the work of the agent alone' 'src/app.txt' "$(headgate diff "$run.1" --stat | awk '/\|/ { print $1 }')"
check_status 0 'merge leaves the uncommitted work out' headgate merge "$run.1"
check_equal 'one commit more' 'By an agent' "$(git log --format=%s origin/main..main)"
check_equal 'and what was uncommitted still is' ' M README
?? notes' "$(git status --porcelain)"
check_status 0 'it is known as merged' headgate discard "$run.1"
check_equal 'no ref is left' '' "$(git for-each-ref refs/headgate)"
git checkout -q README && rm notes
check_status 0 'without uncommitted work it starts from HEAD' headgate run --ladder auto --wip -- true
check_has 'and says so' 'note: there is no uncommitted work' "$OUT"

git -C "$WORLD/up" checkout -q -b topic
printf 't\n' >"$WORLD/up/topic"
git -C "$WORLD/up" add topic
git -C "$WORLD/up" commit -qm Topic
check_status 2 'a branch that is only on the remote' headgate run --ladder auto --base topic -- true
check_has 'names the way' '--fetch' "$OUT"
check_status 0 'is fetched when asked' headgate run --ladder auto --base topic --fetch -- test -f topic
check_has 'and the commit is told' "origin/topic was fetched; it is at $(git -C "$WORLD/up" rev-parse --short=12 topic)" "$OUT"
run=$(last_run)
check_equal 'its base is held' "$(git -C "$WORLD/up" rev-parse topic)" "$(git rev-parse "refs/headgate/base/$run/1")"
check_status 0 'discard' headgate discard "$run"
check_equal 'and then no more' '' "$(git for-each-ref "refs/headgate/base/$run" refs/headgate/held)"

git branch feature
check_status 0 'on a branch' headgate run --ladder auto --on feature -- sh -c 'echo f >f && git add f && git commit -qm Feature'
run=$(last_run)
check_status 0 'merges into that branch' headgate merge "$run.1"
check_has 'and says so' 'merged into feature' "$OUT"
check_equal 'feature' Feature "$(git log -1 --format=%s feature)"
check "main is as it was" sh -c '! git cat-file -e main:f 2>/dev/null'
check_status 2 'one start only' headgate run --on feature --wip -- true
check_status 0 'an attempt that waits holds its base' headgate run --detach -j 1 -n 2 --ladder auto --base topic --fetch -- sh -c 'sleep 300'
run=$(last_run)
check_equal 'both' 2 "$(git for-each-ref "refs/headgate/base/$run" | wc -l)"
check_status 0 'stop' headgate stop "$run"
check_status 0 'discard --force' headgate discard --force "$run"
check_equal 'none is left' '' "$(git for-each-ref "refs/headgate/base/$run")"
