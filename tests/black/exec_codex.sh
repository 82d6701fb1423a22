#!/bin/sh
# Policy match with the real Codex, which a driver starts and which sets its shells up through itself.
. "$(dirname "$0")/../lib.sh"
. "$TESTS/agents/install.sh"
need_codex
git config --file "$XDG_CONFIG_HOME/headgate/config" agent.codex.model gpt-5.5

make_repo "$WORLD/repo"
cd "$WORLD/repo"
cat >"$WORLD/script.json" <<'S'
{"main": [
  {"calls": [{"name": "exec_command", "input": {"cmd": "echo 'it is' >file.txt"}}]},
  {"calls": [{"name": "exec_command", "input": {"cmd": "pwd >where.txt", "workdir": "src"}}]},
  {"calls": [{"name": "spawn_agent", "ns": "multi_agent_v1", "input": {"message": "@@sub@@ do it"}}]},
  {"calls": [{"name": "wait_agent", "ns": "multi_agent_v1", "input": {"targets": ["{{RESULT:agent_id}}"], "timeout_ms": 120000}}]},
  {"text": "all done"}],
 "sub": [
  {"calls": [{"name": "exec_command", "input": {"cmd": "echo sub >sub.txt"}}]},
  {"text": "sub done"}]}
S
approve_until_done() {
    for call in $(pending); do headgate gate approve "$call" || :; done
    is_done "$run.1"
}
start_model
headgate run --agent codex --service "$port" --exec match --ladder confirm --detach '@@main@@ go' >"$WORLD/out" 2>&1 ||
    die "$(cat "$WORLD/out")"
run=$(last_run)
until_true 60 approve_until_done || die "$(headgate show "$run.1"; headgate gate ls)"
check_equal 'nothing is asked twice' '' "$(headgate gate ls --all --json | jq -c '.calls[] | select(.source == "exec") | .args.argv')"
check_equal 'outcome' ok "$(outcome_of "$run.1")"
check_equal 'the calls were carried out' 'it is' "$(git show "headgate/$run/1:file.txt")"
check 'also in another folder' git cat-file -e "headgate/$run/1:src/where.txt"
check "and the subagent's" git cat-file -e "headgate/$run/1:sub.txt"
