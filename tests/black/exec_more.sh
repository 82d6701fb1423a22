#!/bin/sh
# Policy match with the real OpenCode and Gemini CLI: what carries an approved call out is not asked again.
. "$(dirname "$0")/../lib.sh"
. "$TESTS/agents/install.sh"
need_opencode
need_gemini
git config --file "$XDG_CONFIG_HOME/headgate/config" agent.opencode.model openai/gpt-4.1
git config --file "$XDG_CONFIG_HOME/headgate/config" agent.gemini.model gemini-2.5-flash

make_repo "$WORLD/repo"
cd "$WORLD/repo"
# OpenCode searches with ripgrep, and would wait for a person to let it fetch one.
check_status 0 'OpenCode with ripgrep' headgate agent check opencode
check_lacks 'lacks nothing' 'missing:' "$OUT"
check_status 0 'and without' env PATH="$BIN:$WORLD/programs/opencode" headgate agent check opencode
check_has 'which is told' 'missing: .*install ripgrep' "$OUT"
approve_until_done() {
    for call in $(pending); do headgate gate approve "$call" || :; done
    is_done "$run.1"
}
# matches AGENT: with this agent no exec is asked.
matches() {
    start_model
    headgate run --agent "$1" --service "$port" --exec match --ladder confirm --detach '@@main@@ go' >"$WORLD/out" 2>&1 ||
        die "$(cat "$WORLD/out")"
    run=$(last_run)
    until_true 200 approve_until_done || die "$(headgate show "$run.1"; headgate gate ls)"
    check_equal "$1: nothing is asked twice" '' \
        "$(headgate gate ls --all --json | jq -c '.calls[] | select(.source == "exec") | .args.argv')"
    check_equal "$1: outcome" ok "$(outcome_of "$run.1")"
    check_equal "$1: the call was carried out" "it is" "$(git show "headgate/$run/1:file.txt")"
}
cat >"$WORLD/script.json" <<'S'
{"main": [
  {"calls": [{"name": "bash", "input": {"command": "echo 'it is' >file.txt; ls", "description": "write"}}]},
  {"calls": [{"name": "glob", "input": {"pattern": "**/*.txt"}}]},
  {"calls": [{"name": "grep", "input": {"pattern": "two"}}]},
  {"text": "all done"}]}
S
matches opencode
cat >"$WORLD/script.json" <<'S'
{"main": [
  {"calls": [{"name": "run_shell_command", "input": {"command": "echo 'it is' >file.txt; ls", "description": "write"}}]},
  {"calls": [{"name": "glob", "input": {"pattern": "**/*.txt"}}]},
  {"calls": [{"name": "grep_search", "input": {"pattern": "two"}}]},
  {"text": "all done"}]}
S
matches gemini
exit $FAILED
