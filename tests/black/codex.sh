#!/bin/sh
# The real Codex against a model server on loopback: allowed, denied with words, a patch, a subagent, a server that dies and an
# agent that dies while a call waits, and attempts to get around its hook.
. "$(dirname "$0")/../lib.sh"
. "$TESTS/agents/install.sh"
need_codex
settings=$XDG_CONFIG_HOME/headgate/config
git config --file "$settings" agent.codex.model gpt-5.5

make_repo "$WORLD/repo"
cd "$WORLD/repo"
mkdir .codex
printf '[features]\nhooks = false\n' >.codex/config.toml
git add -A && git commit -q -m 'A project that wants no hooks'

cat >"$WORLD/script.json" <<'S'
{"main": [
  {"calls": [{"name": "exec_command", "input": {"cmd": "echo hi >file.txt"}}]},
  {"calls": [{"name": "exec_command", "input": {"cmd": "echo no >denied.txt"}}]},
  {"calls": [{"name": "apply_patch", "custom": true, "input": "*** Begin Patch\n*** Update File: src/app.txt\n@@\n one\n-two\n+TWO\n three\n*** End Patch"}]},
  {"calls": [{"name": "spawn_agent", "ns": "multi_agent_v1", "input": {"message": "@@sub@@ do it"}}]},
  {"calls": [{"name": "wait_agent", "ns": "multi_agent_v1", "input": {"targets": ["{{RESULT:agent_id}}"], "timeout_ms": 120000}}]},
  {"calls": [{"name": "exec_command", "input": {"cmd": "git add -A && git commit -q -m \"It's work\""}}]},
  {"text": "all done"}],
 "sub": [
  {"calls": [{"name": "exec_command", "input": {"cmd": "echo sub >sub.txt"}}]},
  {"calls": [{"name": "exec_command", "input": {"cmd": "echo no >subdenied.txt"}}]},
  {"text": "sub done"}]}
S
start_model
headgate run --agent codex --service "$port" --ladder confirm --detach '@@main@@ go' >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
run=$(last_run)
approve_next 'first call' 'echo hi >file.txt'
check_equal 'second call' 'echo no >denied.txt' "$(next)"
kill -9 "$(server_pid)"
deny_next 'it is still there after a kill of the server' 'echo no >denied.txt' 'GATE-7: use another file, "please"'
check_equal 'the patch' '*** Begin Patch' "$(next | head -n 1)"
headgate gate approve "$(pending)" >/dev/null
approve_next 'spawning a subagent' spawn_agent
check_equal "the subagent's call" 'echo sub >sub.txt' "$(next)"
check_equal 'its type' default "$(headgate gate ls --json | jq -r '.calls[0].subagent.type')"
headgate gate approve "$(pending)" >/dev/null
deny_next "the subagent's second call" 'echo no >subdenied.txt' 'GATE-8: not you either'
approve_next commit "git add -A && git commit -q -m \"It's work\""
until_true 180 is_done "$run.1" || die "$(headgate show "$run.1")"
check_equal 'outcome' ok "$(outcome_of "$run.1")"
check_equal 'every call was asked once' 7 "$(headgate gate ls --all --json | jq '[.calls[] | select(.source != "net" and .why == "person")] | length')"
check "the reason is in the model's next request" reason_reached 'GATE-7: use another file, "please"'
check "the subagent's reason too" reason_reached 'GATE-8: not you either'
tip=headgate/$run/1
check_equal 'allowed call' hi "$(git show "$tip:file.txt")"
check_equal 'patch' TWO "$(git show "$tip:src/app.txt" | sed -n 2p)"
check_equal "subagent's work" sub "$(git show "$tip:sub.txt")"
check 'denied calls did not run' sh -c "! git cat-file -e $tip:denied.txt && ! git cat-file -e $tip:subdenied.txt"
check_status 0 'merge' headgate merge --reviewed "$run.1"
check_equal 'merged' sub "$(cat sub.txt)"
check 'the words of the agent are in the log' sh -c "headgate logs $run.1 | grep -q 'all done'"

# On the default rung the same work raises no card.
start_model
headgate run --agent codex --service "$port" '@@main@@ go' >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out"; headgate logs "$(last_run).1")"
run=$(last_run)
check_equal 'no card on the default rung' 0 "$(headgate gate ls --all --json | jq --arg a "$run.1" '[.calls[] | select(.attempt == $a and .why == "person")] | length')"
check 'its calls are in the log all the same' sh -c "[ \"\$(headgate gate ls --all --json | jq '[.calls[] | select(.attempt == \"$run.1\")] | length')\" -ge 7 ]"

# What runs in the box cannot take the hook away: start-up files that end its shell with success, and kills of it.
cat >"$WORLD/script.json" <<'S'
{"main": [
  {"calls": [{"name": "exec_command", "input": {"cmd": "sh ./prepare"}}]},
  {"calls": [{"name": "exec_command", "input": {"cmd": "touch ran.txt"}}]},
  {"calls": [{"name": "apply_patch", "custom": true, "input": "*** Begin Patch\n*** Add File: patched.txt\n+text\n*** End Patch"}]},
  {"text": "all done"}]}
S
cat >prepare <<'P'
for f in .bash_profile .profile .bashrc; do
    echo 'case $BASH_EXECUTION_STRING in *headgate-hook*) exit 0 ;; esac' >~/$f
done
setsid sh -c 'while :; do pkill -9 -f "[h]eadgate-hook --agent"; done' >/dev/null 2>&1 &
P
git add -A && git commit -q -m 'A program that takes the hook away'
start_model
headgate run --agent codex --service "$port" --ladder confirm --detach '@@main@@ go' >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
run=$(last_run)
approve_next 'the attack' 'sh ./prepare'
waits_for() { headgate gate ls --json | jq -e --arg w "$1" '[.calls[] | select(.state == "pending" and .source == "confirm" and (.args.command | contains($w)))] | length == 1'; }
until_true 60 waits_for 'touch ran.txt' || die "a command went around: $(headgate logs "$run.1")"
pass 'without its hook a command is asked all the same'
headgate gate deny --all --reason no >/dev/null
until_true 60 waits_for 'patched.txt' || die "a patch went around: $(headgate logs "$run.1")"
pass 'and a patch'
headgate gate deny --all --reason no >/dev/null
until_true 180 is_done "$run.1" || die "$(headgate show "$run.1")"
for file in ran.txt patched.txt; do check_status 128 "$file was not made" git cat-file -e "headgate/$run/1:$file"; done

# The agent dies while a call waits: the call cannot be approved any more, and what was done is kept.
cat >"$WORLD/script.json" <<'S'
{"main": [
  {"calls": [{"name": "exec_command", "input": {"cmd": "echo first >first.txt"}}]},
  {"calls": [{"name": "exec_command", "input": {"cmd": "touch ran.txt"}}]},
  {"text": "all done"}]}
S
start_model
headgate run --agent codex --service "$port" --ladder confirm --detach '@@main@@ go' >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
run=$(last_run)
approve_next 'a call of an agent that will die' 'echo first >first.txt'
check_equal 'its last' 'touch ran.txt' "$(next)"
dies_while_it_waits codex

# Interactive: its own terminal, no first-run dialog, the hook; and a model that calls tools from programs of its own.
cat >"$WORLD/script.json" <<'S'
{"main": [
  {"calls": [{"name": "exec", "ns": "functions", "custom": true, "input": "text(await tools.exec_command({cmd: \"echo first >first.txt; echo \\\"$NO_PROXY\\\" >proxy.txt; command -v git >shim.txt\"}));"}]},
  {"calls": [{"name": "exec", "ns": "functions", "custom": true, "input": "text(await tools.exec_command({cmd: \"touch ran.txt\"}));"}]},
  {"text": "all done"}]}
S
git config --file "$settings" agent.codex.model gpt-6.2-sol
start_model
headgate run -i --agent codex --service "$port" --ladder confirm --detach '@@main@@ go' >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
run=$(last_run)
approve_next 'an interactive session asks' 'echo first >first.txt; echo "$NO_PROXY" >proxy.txt; command -v git >shim.txt'
check_equal 'and goes on' 'touch ran.txt' "$(next)"
headgate stop "$run.1" >/dev/null
check_equal 'what it did is kept' first "$(git show "headgate/$run/1:first.txt")"
check_equal 'its commands find the git that asks' /run/headgate/shims/git "$(git show "headgate/$run/1:shim.txt")"
check_equal 'what it starts may ask for every host' '127.0.0.1,localhost,::1' "$(git show "headgate/$run/1:proxy.txt")"

# Without its hook nothing begins.
git config --file "$settings" box.mask /etc/codex/requirements.toml
start_model
check_status 1 'without its hook it does not start' headgate run --agent codex --service "$port" '@@main@@ go'
check 'and says why' sh -c "headgate logs $(last_run).1 | grep -q 'its hook is not in force'"
check_equal 'the model was not asked' 0 "$(wc -l <"$WORLD/model.jsonl")"
no_own_connections
exit $FAILED
