#!/bin/sh
# Every bad input: one clear line, the right exit code, nothing created.
. "$(dirname "$0")/../lib.sh"

one_line() { # WHAT PATTERN
    check_equal "$1: one line" 1 "$(wc -l <"$OUT")"
    check_has "$1: says what and what next" "$2" "$OUT"
}

mkdir "$WORLD/none"
cd "$WORLD/none"
check_status 2 'no repository' headgate run -- true
one_line 'no repository' 'git init'
git init -q
check_status 2 'no commit' headgate run -- true
one_line 'no commit' 'commit'
make_repo "$WORLD/repo"
cd "$WORLD/repo"
check_status 2 'unknown command' headgate frobnicate
one_line 'unknown command' 'help'
check_status 2 'near command' headgate staus
check_status 2 'unknown option' headgate run --nosuch -- true
one_line 'unknown option' 'nosuch'
check_status 2 'extra words' headgate run fix the bug
check_has 'extra words show the quoted form' '.fix the bug. ' "$OUT"
check_status 2 'no task' headgate run
check_status 2 'a bad number' headgate run -n zero -- true
check_status 2 'too many' headgate run -n 1000000 -- true
check_status 2 'unknown base' headgate run --base nosuch -- true
one_line 'unknown base' 'nosuch'
check_status 2 'unknown agent' headgate run --agent nosuch 'do it'
one_line 'unknown agent' 'known are claude, '
check_status 2 'unknown rung' headgate run --ladder high -- true
check_status 2 'an empty command' headgate run -- ''
one_line 'an empty command' 'make test'
check_status 2 'a mask of what is not there' headgate run --mask /nosuch/file -- true
one_line 'a mask of what is not there' '/nosuch/file'
check_status 2 'nor of one in the repository' headgate run --mask src/nosuch -- true
one_line 'nor of one in the repository' "no $PWD/src/nosuch to cover"
check_status 2 'unknown engine' headgate run --engine zip -- true
check_status 2 'unknown layer' headgate run --require nosuch -- true
check_status 1 'no such attempt' headgate show 99.1
one_line 'no such attempt' '99.1'
check_status 1 'no such call' headgate gate show c999
check_status 2 'not a call' headgate gate show banana
printf '[{"title":"a"},{"number":2}]' >"$WORLD/tasks.json"
check_status 2 'a row without a field' headgate run --tasks "$WORLD/tasks.json" --template 'Fix {{title}}' -- true
one_line 'a row without a field' 'row 2.*title|title.*row 2'
printf '{"title": ' >"$WORLD/tasks.json"
check_status 2 'broken JSON' headgate run --tasks "$WORLD/tasks.json" --template 'Fix {{title}}' -- true
check_status 2 'a missing file' headgate run --tasks "$WORLD/nosuch" -- true
check_equal 'nothing was created' '' "$(git for-each-ref refs/heads/headgate refs/headgate; git worktree list | tail -n +2)"

check_status 1 'a program that is not there' headgate run -- nosuchprogram
check_has 'a program that is not there' 'nosuchprogram' "$OUT"
check_equal 'failed' failed "$(outcome_of "$(last_run).1")"
mkdir "$WORLD/repo/bare-folder"
check_status 1 'a folder that no commit has' sh -c 'cd bare-folder && exec headgate run -- true'
check_has 'a folder that no commit has: says what to do' 'the folder in which true is to start is not there.*commit something in it' "$OUT"
rmdir "$WORLD/repo/bare-folder"
check_status 1 'a failing command' headgate run -- sh -c 'exit 3'
check_equal 'its status is kept' 3 "$(headgate show "$(last_run).1" --json | jq .attempts[0].exit_status)"

git clone -q --bare "$WORLD/repo" "$WORLD/bare.git"
cd "$WORLD/bare.git"
check_status 0 'a bare repository works' headgate run -- sh -c 'echo b >b && git add b && git commit -q -m B'
check 'and gets its branch' git rev-parse -q --verify "refs/heads/headgate/$(last_run)/1"

cd "$WORLD/repo"
git branch "headgate/$(($(last_run) + 1))/1"
check_status 0 'a branch of that name is stepped over' headgate run -- true
headgate serve --stop >/dev/null 2>&1
if [ "$(id -u)" != 0 ]; then
    mkdir "$WORLD/ro" && chmod 500 "$WORLD/ro"
    check_status 5 'a read-only state folder' env HEADGATE_STATE="$WORLD/ro/state" headgate ls
    one_line 'a read-only state folder' 'ro/state'
fi
mkdir -m 755 "$WORLD/open"
check_status 1 'a state folder that others can read' env HEADGATE_STATE="$WORLD/open" headgate ls
one_line 'a state folder that others can read' '0700|chmod'
