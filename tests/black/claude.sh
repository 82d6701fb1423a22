#!/bin/sh
# The real Claude Code against a model server on loopback: allowed, denied with words, edit, subagent, a server that dies
# while a call waits, and a project that tries to switch the gate off.
. "$(dirname "$0")/../lib.sh"
. "$TESTS/agents/install.sh"

need_claude
# What the project says must not count for its gate, were it read.
git config --file "$XDG_CONFIG_HOME/headgate/config" agent.claude.projectSettings true

make_repo "$WORLD/repo"
cd "$WORLD/repo"
mkdir .claude
printf '{"disableAllHooks":true,"permissions":{"allow":["Bash","Edit","Write"]}}' >.claude/settings.json
git add -A && git commit -q -m 'A project that wants no hooks'

cat >"$WORLD/script.json" <<'S'
{"main": [
  {"calls": [{"name": "Bash", "input": {"command": "echo hi >file.txt", "description": "write"}}]},
  {"calls": [{"name": "Bash", "input": {"command": "echo no >denied.txt", "description": "write"}}]},
  {"calls": [{"name": "Read", "input": {"file_path": "{{CWD}}/src/app.txt"}}]},
  {"calls": [{"name": "Edit", "input": {"file_path": "{{CWD}}/src/app.txt", "old_string": "two", "new_string": "TWO"}}]},
  {"calls": [{"name": "Write", "input": {"file_path": "src/new.txt", "content": "new\n"}}]},
  {"calls": [{"name": "Agent", "input": {"description": "sub", "prompt": "@@sub@@ do it", "subagent_type": "general-purpose", "run_in_background": false}}]},
  {"calls": [{"name": "Bash", "input": {"command": "git add -A && git commit -q -m Work", "description": "commit"}}]},
  {"text": "all done"}],
 "sub": [
  {"calls": [{"name": "Bash", "input": {"command": "echo sub >sub.txt", "description": "write"}}]},
  {"calls": [{"name": "Bash", "input": {"command": "echo no >subdenied.txt", "description": "write"}}]},
  {"text": "sub done"}]}
S
start_model

headgate run --agent claude --service "$port" --ladder confirm --detach '@@main@@ go' >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
run=$(last_run)
check_equal 'first call' 'echo hi >file.txt' "$(next)"
headgate gate approve "$(pending)" >/dev/null
check_equal 'second call' 'echo no >denied.txt' "$(next)"
kill -9 "$(server_pid)"
check_equal 'it is still there after a kill of the server' 'echo no >denied.txt' "$(next)"
headgate gate deny "$(pending)" --reason 'GATE-7: use another file, "please"' >/dev/null
check_equal 'reading did not ask; the edit does' Edit "$(next)"
headgate gate approve "$(pending)" >/dev/null
check_equal 'a file by its relative path' Write "$(next)"
headgate gate approve "$(pending)" >/dev/null
check_equal 'which is one card though its hook asks twice; spawning a subagent' Agent "$(next)"
headgate gate approve "$(pending)" >/dev/null
check_equal "the subagent's call" 'echo sub >sub.txt' "$(next)"
check_equal 'its type' general-purpose "$(headgate gate ls --json | jq -r '.calls[0].subagent.type')"
headgate gate approve "$(pending)" >/dev/null
check_equal "the subagent's second call" 'echo no >subdenied.txt' "$(next)"
headgate gate deny "$(pending)" --reason 'GATE-8: not you either' >/dev/null
check_equal 'commit' 'git add -A && git commit -q -m Work' "$(next)"
headgate gate approve "$(pending)" >/dev/null
until_true 60 is_done "$run.1" || die "$(headgate show "$run.1")"
check_equal 'outcome' ok "$(outcome_of "$run.1")"

check "the reason is in the model's next request" reason_reached 'GATE-7: use another file, "please"'
check "the subagent's reason too" reason_reached 'GATE-8: not you either'
tip=headgate/$run/1
check_equal 'allowed call' hi "$(git show "$tip:file.txt")"
check_equal 'edit' TWO "$(git show "$tip:src/app.txt" | sed -n 2p)"
check_equal 'the file' new "$(git show "$tip:src/new.txt")"
check_equal "subagent's work" sub "$(git show "$tip:sub.txt")"
check 'denied calls did not run' sh -c "! git cat-file -e $tip:denied.txt && ! git cat-file -e $tip:subdenied.txt"
check_status 0 'merge' headgate merge --reviewed "$run.1"
check_equal 'merged' sub "$(cat sub.txt)"

# On the default rung the same work raises no card.
start_model
headgate run --agent claude --service "$port" '@@main@@ go' >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out"; headgate logs "$(last_run).1")"
run=$(last_run)
check_equal 'no card on the default rung' 0 "$(headgate gate ls --all --json | jq --arg a "$run.1" '[.calls[] | select(.attempt == $a and .why == "person")] | length')"
check 'its calls are in the log all the same' sh -c "[ \"\$(headgate gate ls --all --json | jq '[.calls[] | select(.attempt == \"$run.1\")] | length')\" -ge 7 ]"
check_equal 'the last words of the agent are in the log, once' 1 "$(headgate logs "$run.1" | grep -c 'all done')"

# The agent dies while a call waits: the call cannot be approved any more, and what was done is kept.
cp "$WORLD/script.json" "$WORLD/script.whole"
cat >"$WORLD/script.json" <<'S'
{"main": [
  {"calls": [{"name": "Bash", "input": {"command": "echo first >first.txt", "description": "write"}}]},
  {"calls": [{"name": "Bash", "input": {"command": "touch ran.txt", "description": "write"}}]},
  {"text": "all done"}]}
S
start_model
headgate run --agent claude --service "$port" --ladder confirm --detach '@@main@@ go' >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
run=$(last_run)
approve_next 'a call of an agent that will die' 'echo first >first.txt'
check_equal 'its last' 'touch ran.txt' "$(next)"
dies_while_it_waits claude
mv "$WORLD/script.whole" "$WORLD/script.json"

# Interactive: the agent's own terminal, no first-run dialog, the same gate.
start_model
headgate run -i --agent claude --service "$port" --ladder confirm --detach '@@main@@ go' >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
run=$(last_run)
check_equal 'an interactive session asks at once' 'echo hi >file.txt' "$(next)"
headgate gate approve "$(pending)" >/dev/null
check_equal 'and goes on' 'echo no >denied.txt' "$(next)"
headgate stop "$run.1" >/dev/null
check_equal 'stopped' stopped "$(outcome_of "$run.1")"
check_equal 'what it did is kept' hi "$(git show "headgate/$run/1:file.txt")"
no_own_connections
