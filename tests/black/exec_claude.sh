#!/bin/sh
# Policy match with the real Claude Code: what carries out an approved call is not asked a second time, nor is what it starts
# by itself; the control with policy ask shows that these are execs all the same.
. "$(dirname "$0")/../lib.sh"
. "$TESTS/agents/install.sh"

need_claude
make_repo "$WORLD/repo"
cd "$WORLD/repo"
cat >"$WORLD/script.json" <<'S'
{"main": [
  {"calls": [{"name": "Bash", "input": {"command": "echo 'it is' \"$HOME\" | cat >file.txt", "description": "quotes"}}]},
  {"calls": [{"name": "Bash", "input": {"command": "cat <<'EOF' >here.txt\nline 'q'\nEOF\ngit status", "description": "brings its own input"}}]},
  {"calls": [{"name": "Bash", "input": {"command": "ls", "description": "one word"}}]},
  {"calls": [{"name": "Bash", "input": {"command": "cd src", "description": "moves"}}]},
  {"calls": [{"name": "Bash", "input": {"command": "pwd >where.txt", "description": "in the folder it moved to"}}]},
  {"calls": [{"name": "Agent", "input": {"description": "sub", "prompt": "@@sub@@ do it", "subagent_type": "general-purpose", "run_in_background": false}}]},
  {"text": "all done"}],
 "sub": [
  {"calls": [{"name": "Bash", "input": {"command": "echo sub >sub.txt", "description": "write"}}]},
  {"text": "sub done"}]}
S
run_with() { # POLICY: run it with every question approved
    start_model
    headgate run --agent claude --service "$port" --exec "$1" --ladder confirm --detach '@@main@@ go' >"$WORLD/out" 2>&1 ||
        die "$(cat "$WORLD/out")"
    run=$(last_run)
    until_true 60 approve_until_done || die "$(headgate show "$run.1"; headgate gate ls)"
}
approve_until_done() {
    for call in $(pending); do headgate gate approve "$call" || :; done
    is_done "$run.1"
}
execs() { headgate gate ls --all --json | jq --arg a "$run.1" '[.calls[] | select(.attempt == $a and .source == "exec")] | length'; }

run_with match
check_equal 'nothing is asked twice' 0 "$(execs)"
check_equal 'outcome' ok "$(outcome_of "$run.1")"
check_equal 'the calls were carried out' "line 'q'" "$(git show "headgate/$run/1:here.txt")"
check 'also where the shell had moved to' git cat-file -e "headgate/$run/1:src/where.txt"
check "and the subagent's" git cat-file -e "headgate/$run/1:src/sub.txt"

run_with ask
check 'the control: with ask the same execs are questions' [ "$(execs)" -gt 5 ]
