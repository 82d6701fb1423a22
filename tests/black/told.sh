#!/bin/sh
# What a person is told: the words say what is so, what to do next works as it is written, and nothing began that was refused.
. "$(dirname "$0")/../lib.sh"

make_repo "$WORLD/repo"
cd "$WORLD/repo"
as_one_edit='echo "$HEADGATE_ATTEMPT" >src/app.txt; git commit -qam "$HEADGATE_ATTEMPT"'

# Without a terminal, what would be attached is not begun.
check_status 2 'run -i without a terminal' headgate run -i -- cat
check_has 'says what does without' 'needs a terminal' "$OUT"
check_equal 'and begins nothing' 0 "$(headgate ls --json | jq '.attempts | length')"
check_status 0 'detached it needs none' headgate run -i --detach -- sh -c 'exit 0'
run=$(last_run)
until_true 30 is_done "$run.1" || die "$(headgate show "$run.1")"
ended=$(headgate show "$run.1" --json | jq .attempts[0].ended_ms)
check_status 2 'resume -i without a terminal' headgate resume -i "$run.1"
check_equal 'begins nothing either' "done $ended" "$(headgate show "$run.1" --json | jq -r '.attempts[0] | "\(.state) \(.ended_ms)"')"

# A dry run of several tells of what the first would bring.
headgate run -n 2 -- sh -c "$as_one_edit" >"$OUT" 2>&1 || die "$(cat "$OUT")"
run=$(last_run)
check_status 0 'one alone' headgate merge --dry-run "$run.2"
check_status 1 'two that exclude each other' headgate merge --dry-run "$run.1" "$run.2"
check_has 'the first would merge' "^$run.1 would merge cleanly into" "$OUT"
check_has 'the second not any more' "$run.2 conflicts with $run.1, .* src/app.txt" "$OUT"
check_lacks 'which is all that is said of it' "^$run.2 would" "$OUT"

# The advice about a conflict names the branch that it was about.
git branch other
git switch -q other
echo theirs >src/app.txt
git commit -qam Theirs
git switch -q -
check_status 1 'a conflict with a branch that was named' headgate merge --into other "$run.1"
check_has 'goes to the agent for that branch' "headgate merge --to-agent --into other $run.1\$" "$OUT"
echo mine >>src/app.txt
check_status 1 'a file with changes of mine' headgate merge "$run.1"
check_has 'reads as one sentence' 'the merge would overwrite what is yours in src/app.txt; commit, stash or move' "$OUT"
git checkout -q src/app.txt
touch .git/index.lock
check_status 1 'while another git is at work' headgate merge "$run.1"
check_has "git's sentences stay sentences" 'File exists[.;] Another git process .* e[.]g[.] an editor .* all processes are terminated' "$OUT"
rm .git/index.lock

# Bytes that are not UTF-8 are shown as they are, wherever they come from.
name=$(printf 'caf\351.c')
headgate run -- sh -c 'printf "one\ncaf\351 two\n" >"$(printf "caf\351.c")"; printf "caf\351 three\n"' >"$OUT" 2>&1 || die "$(cat "$OUT")"
run=$(last_run)
check_has 'a line of output' '\| caf\\xe9 three$' "$OUT"
check_has 'the last line' 'last line: +caf\\xe9 three$' "$(headgate show "$run.1" >"$WORLD/show"; echo "$WORLD/show")"
check 'a comment on such a file' headgate comment "$run.1" "$name:2" 'Why?'
headgate comment "$run.1" >"$WORLD/comments"
check_has 'is listed by its name' '^1 caf\\xe9.c:2 ' "$WORLD/comments"
check_equal 'and has its line' '"caf􏣩 two"' "$(headgate comment --json "$run.1" | jq -c '.[0].quote')"

# While the server cannot write what happens, the run says so once, and nothing of the agent's twice.
mkdir "$WORLD/gate"
db=$(echo "$XDG_STATE_HOME"/headgate/*/state.db)
headgate run --rw "$WORLD/gate" -- sh -c "echo once; until [ -e '$WORLD/gate/go' ]; do sleep 0.1; done" >"$WORLD/watched" 2>&1 &
watcher=$!
BACKGROUND="$BACKGROUND $watcher"
until_true 30 grep -q '| once' "$WORLD/watched" || die "$(cat "$WORLD/watched")"
sqlite3 "$db" "CREATE TRIGGER full BEFORE UPDATE ON attempt BEGIN SELECT RAISE(ABORT, 'no room at all'); END"
touch "$WORLD/gate/go"
log=$(dirname "$db")/server.log
tried_twice() { [ "$(grep -c 'tried again' "$log")" -ge 2 ]; }
check 'it is tried again' until_true 30 tried_twice
sqlite3 "$db" 'DROP TRIGGER full'
check 'and goes on when it can' wait "$watcher"
check_equal 'the run says why it stood still, once' 1 "$(grep -c '| headgate: .*no room at all' "$WORLD/watched")"
check_equal 'and the line of the agent once' 1 "$(grep -c '| once' "$WORLD/watched")"
check_equal 'which stays its last' once "$(headgate show --json "$(last_run).1" | jq -r '.attempts[0].last_line')"

# Help is for eighty columns.
for command in '' run take merge resume comment box agent 'agent add' gate 'gate rule add' 'gate rule try' 'gate approve' 'gate log'; do
    headgate help $command
done >"$WORLD/help"
check_equal 'help is no wider than a terminal' '' "$(awk 'length($0) > 80' "$WORLD/help")"
check_has 'and begins as ever' '^usage: headgate run \[OPTIONS\]' "$WORLD/help"

# An agent that has no key and ends at once: the run says both, before and after.
mkdir "$WORLD/programs"
printf '#!/bin/sh\necho "set ANTHROPIC_API_KEY" >&2\nexit 41\n' >"$WORLD/programs/claude"
chmod 755 "$WORLD/programs" "$WORLD/programs/claude"
git config --file "$XDG_CONFIG_HOME/headgate/config" run.canary false
PATH="$WORLD/programs:$PATH"
unset ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN CLAUDE_CODE_OAUTH_TOKEN
check_status 1 'an agent without a key' headgate run --agent claude 'do it'
run=$(last_run)
check_has 'is told of before it starts' '^note: no key of Claude Code: none is set \(ANTHROPIC_API_KEY' "$OUT"
check_has 'and what it said on standard error' '\| set ANTHROPIC_API_KEY$' "$OUT"
check_equal 'which is its last line' 'set ANTHROPIC_API_KEY' "$(headgate show --json "$run.1" | jq -r '.attempts[0].last_line')"
export ANTHROPIC_API_KEY=sk-test-000-abcdefghijklmnop
headgate run --agent claude 'do it' >"$OUT" 2>&1 || :
check_lacks 'with a key nothing is told' 'no key of' "$OUT"
run=$(last_run)
headgate serve --stop >/dev/null
(unset ANTHROPIC_API_KEY && headgate say "$run.1" 'Go on') >"$OUT" 2>&1
until_true 30 is_done "$run.1"
check_equal 'a server that forgot the key names its variable' \
    "the key of ANTHROPIC_API_KEY is not known any more, since the server that had it ended; 'headgate resume $run.1' from a shell that has it goes on" \
    "$(headgate show --json "$run.1" | jq -r '.attempts[0].error')"

# A second server in the foreground says why there is none.
check_status 1 'another server' headgate serve --foreground
check_has 'which runs' 'a server runs already' "$OUT"
exit $FAILED
