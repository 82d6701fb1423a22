#!/bin/sh
# What could run on this host next: each kind, wherever it lies, in `show`, `review`, `diff` and the dashboard, and before `merge`.
. "$(dirname "$0")/../lib.sh"

make_repo "$WORLD/repo"
cd "$WORLD/repo"
mkdir -p deep
echo x >deep/file
echo '{"name": "x"}' >package.json
printf '#!/bin/sh\n' >old.sh
chmod +x old.sh
git add -A
git commit -q -m 'More of a sample'

# Both committed and not: what is left at the end is a snapshot.
mkdir -m 755 "$WORLD/scripts"
cat >"$WORLD/scripts/work.sh" <<'END'
set -e
put() { mkdir -p "$(dirname "$1")"; echo x >"$1"; }
for f in .github/workflows/x.yml .gitlab-ci.yml a/Jenkinsfile .husky/pre-commit sub/.pre-commit-config.yaml .envrc \
    b/.mcp.json .claude/agents/x.md c/AGENTS.md .idea/x.xml d/it.code-workspace e/.gitattributes .gitmodules f/.cargo/config.toml; do put "$f"; done
echo '#!/bin/sh' >new.sh; chmod +x new.sh
echo 'echo changed' >>old.sh
echo '{"name": "x", "scripts": {"postinstall": "evil"}}' >package.json
git add -A; git commit -qm Work
ln -s /etc/passwd absolute
ln -s ../../../etc/passwd deep/above
ln -s ../README deep/inside
git init -q nested; git -C nested -c user.name=a -c user.email=a@b commit -q --allow-empty -m x
mkfifo deep/pipe
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'
truncate -s 1T sparse
echo harmless >src/plain.txt
END
headgate run --ladder auto --ro "$WORLD/scripts" -- sh "$WORLD/scripts/work.sh" >"$WORLD/run.out" 2>&1 || die "the run failed: $(cat "$WORLD/run.out")"
run=$(last_run)

expected() {
    cat <<'END'
agent settings	.claude/agents/x.md
agent settings	b/.mcp.json
agent settings	c/AGENTS.md
ci	.github/workflows/x.yml
ci	.gitlab-ci.yml
ci	a/Jenkinsfile
editor settings	.idea/x.xml
editor settings	d/it.code-workspace
executable	new.sh
executable	old.sh
git attributes	e/.gitattributes
hooks	.husky/pre-commit
hooks	sub/.pre-commit-config.yaml
nested repository	nested
package scripts	package.json
shell settings	.envrc
special file, left out	deep/pipe
special file, left out	socket
submodules	.gitmodules
symlink out of the tree	absolute
symlink out of the tree	deep/above
too large, left out	sparse
tool settings	f/.cargo/config.toml
END
}
headgate review --json "$run.1" >"$WORLD/review.json"
jq -r '.[0].review[]' "$WORLD/review.json" | LC_ALL=C sort >"$WORLD/got"
expected | LC_ALL=C sort >"$WORLD/want"
check 'each kind is there, and nothing else' diff "$WORLD/want" "$WORLD/got"

n=$(wc -l <"$WORLD/want")
headgate show "$run.1" >"$WORLD/show"
check_has 'show: the list' 'editor settings +d/it\.code-workspace' "$WORLD/show"
check_has 'show: the note says what was left out' 'too large were left out' "$WORLD/show"
headgate review "$run.1" >"$WORLD/review"
check_has 'review: the list' "$n changes that could run on this host next" "$WORLD/review"
headgate diff "$run.1" >"$WORLD/patch" 2>"$WORLD/patch.err"
check_has 'diff: says so beside the patch' "$run\\.1 has $n changes that could run on this host next; see 'headgate review $run\\.1'" "$WORLD/patch.err"
check_lacks 'diff: the patch is a patch' 'could run on this host' "$WORLD/patch"
if command -v script >/dev/null; then
    script -qec "headgate diff $run.1" /dev/null </dev/null >"$WORLD/terminal" 2>&1
    check_has 'diff: on a terminal the list comes first' "$n changes that could run on this host next" "$WORLD/terminal"
fi

before=$(git rev-parse HEAD)
check_status 1 'merge is refused' headgate merge "$run.1"
check_has 'merge: shows the list' 'package scripts +package\.json' "$OUT"
check_has 'merge: says what to do' "headgate review $run\\.1.*--reviewed" "$OUT"
check_equal 'merge: nothing happened' "$before" "$(git rev-parse HEAD)"

if command -v tmux >/dev/null; then
    term() { tmux -S "$WORLD/t" -f /dev/null "$@"; }
    trap 'term kill-server 2>/dev/null || :; finish' EXIT
    term new-session -d -s ui -x 100 -y 60 "cd '$WORLD/repo' && headgate"
    shows() { term capture-pane -p -t ui | grep -Eq -- "$1"; }
    until_true 20 shows "$run\\.1" || fail 'the dashboard does not come'
    term send-keys -t ui Enter
    if until_true 20 shows 'this could run on the host'; then pass 'dashboard: the list'; else fail "dashboard: $(term capture-pane -p -t ui)"; fi
    check 'dashboard: with its lines' until_true 10 shows 'hooks.*\.husky/pre-commit'
    term kill-server
fi

check_status 0 'merge --reviewed' headgate merge --reviewed "$run.1"
check_equal 'is a merge' "harmless" "$(cat src/plain.txt)"
check 'what was left out did not come' sh -c '! test -e sparse && ! test -e deep/pipe && ! test -e socket'
check_status 1 'discard asks while the worktree alone has the large file' headgate discard "$run.1"
check_has 'discard: says where it is' 'too large to be brought home' "$OUT"
check_status 0 'and obeys' headgate discard --force "$run.1"

# An attempt that changes none of it asks for nothing.
headgate run --ladder auto -- sh -c 'echo more >>src/plain.txt' >"$WORLD/run.out" 2>&1
run=$(last_run)
check_equal 'nothing to review' 0 "$(headgate review --json "$run.1" | jq '.[0].review | length')"
headgate diff "$run.1" >/dev/null 2>"$WORLD/patch.err"
check_equal 'diff says nothing then' '' "$(cat "$WORLD/patch.err")"
check_status 0 'merge without a word' headgate merge "$run.1"

exit "$FAILED"
