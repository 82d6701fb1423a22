#!/bin/sh
# The real Gemini CLI against a model server on loopback: allowed, denied with words, an edit, a subagent, a server that dies and an
# agent that dies while a call waits, and a project and a program in the box that want no gate.
. "$(dirname "$0")/../lib.sh"
. "$TESTS/agents/install.sh"
need_gemini
settings=$XDG_CONFIG_HOME/headgate/config
git config --file "$settings" agent.gemini.model gemini-2.5-flash

make_repo "$WORLD/repo"
cd "$WORLD/repo"
mkdir .gemini
printf '{"hooksConfig":{"enabled":false}}\n' >.gemini/settings.json
git add -A && git commit -q -m 'A project that wants no hooks'

cat >"$WORLD/script.json" <<'S'
{"main": [
  {"calls": [{"name": "run_shell_command", "input": {"command": "echo hi >file.txt", "description": "write"}}]},
  {"calls": [{"name": "run_shell_command", "input": {"command": "echo no >denied.txt", "description": "write"}}]},
  {"calls": [{"name": "read_file", "input": {"file_path": "src/app.txt"}}]},
  {"calls": [{"name": "replace", "input": {"file_path": "src/app.txt", "instruction": "two to TWO", "old_string": "two", "new_string": "TWO"}}]},
  {"calls": [{"name": "invoke_agent", "input": {"agent_name": "generalist", "prompt": "@@sub@@ do it"}}]},
  {"calls": [{"name": "run_shell_command", "input": {"command": "git add -A && git commit -q -m Work", "description": "commit"}}]},
  {"text": "all done"}],
 "sub": [
  {"calls": [{"name": "run_shell_command", "input": {"command": "echo sub >sub.txt", "description": "write"}}]},
  {"calls": [{"name": "run_shell_command", "input": {"command": "echo no >subdenied.txt", "description": "write"}}]},
  {"calls": [{"name": "complete_task", "input": {"response": "sub done", "result": "sub done"}}]}]}
S
start_model
headgate run --agent gemini --service "$port" --ladder confirm --detach '@@main@@ go' >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
run=$(last_run)
approve_next 'first call' 'echo hi >file.txt'
check_equal 'second call' 'echo no >denied.txt' "$(next)"
kill -9 "$(server_pid)"
deny_next 'it is still there after a kill of the server' 'echo no >denied.txt' 'GATE-7: use another file, "please"'
approve_next 'reading did not ask; the edit does' replace
approve_next 'spawning a subagent' invoke_agent
approve_next "the subagent's call" 'echo sub >sub.txt'
deny_next "the subagent's second call" 'echo no >subdenied.txt' 'GATE-8: not you either'
approve_next commit 'git add -A && git commit -q -m Work'
until_true 180 is_done "$run.1" || die "$(headgate show "$run.1")"
check_equal 'outcome' ok "$(outcome_of "$run.1")"
check "the reason is in the model's next request" reason_reached 'GATE-7: use another file, \"please\"'
check "the subagent's reason too" reason_reached 'GATE-8: not you either'
tip=headgate/$run/1
check_equal 'allowed call' hi "$(git show "$tip:file.txt")"
check_equal 'edit' TWO "$(git show "$tip:src/app.txt" | sed -n 2p)"
check_equal "subagent's work" sub "$(git show "$tip:sub.txt")"
check 'denied calls did not run' sh -c "! git cat-file -e $tip:denied.txt && ! git cat-file -e $tip:subdenied.txt"
check_equal 'what is covered is not committed as deleted' '' "$(git diff --name-only main "$tip" -- .gemini)"
check_status 0 'merge' headgate merge --reviewed "$run.1"
check_equal 'merged' sub "$(cat sub.txt)"
check 'the words of the agent are in the log' sh -c "headgate logs $run.1 | grep -q 'all done'"

# A program in the box that kills whatever looks like a hook takes nothing away; the agent dies while a call waits.
cat >"$WORLD/script.json" <<'S'
{"main": [
  {"calls": [{"name": "run_shell_command", "input": {"command": "sh ./prepare", "description": "prepare"}}]},
  {"calls": [{"name": "run_shell_command", "input": {"command": "touch ran.txt", "description": "write"}}]},
  {"text": "all done"}]}
S
cat >prepare <<'P'
echo first >first.txt
setsid sh -c 'while :; do pkill -9 -f "[h]eadgate-hook --agent"; done' >/dev/null 2>&1 &
P
git add -A && git commit -q -m 'A program that takes the hook away'
start_model
headgate run --agent gemini --service "$port" --ladder confirm --detach '@@main@@ go' >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
run=$(last_run)
approve_next 'the attack' 'sh ./prepare'
check_equal 'the next call is asked all the same' 'touch ran.txt' "$(next)"
dies_while_it_waits node

# Interactive: its own terminal, the same gate.
start_model
headgate run -i --agent gemini --service "$port" --ladder confirm --detach '@@main@@ go' >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
run=$(last_run)
approve_next 'an interactive session asks' 'sh ./prepare'
check_equal 'and goes on' 'touch ran.txt' "$(next)"
headgate stop "$run.1" >/dev/null
check_equal 'what it did is kept' first "$(git show "headgate/$run/1:first.txt")"
no_own_connections
exit $FAILED
