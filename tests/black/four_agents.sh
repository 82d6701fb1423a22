#!/bin/sh
# The four real agents at once, each in its own worktree; then three are opened again in their own terminals, where it was, and spoken to.
. "$(dirname "$0")/../lib.sh"
. "$TESTS/agents/install.sh"
need_claude
need_codex
need_gemini
need_opencode
settings=$XDG_CONFIG_HOME/headgate/config
git config --file "$settings" agent.codex.model gpt-5.4
git config --file "$settings" agent.opencode.model openai/gpt-4.1
git config --file "$settings" agent.gemini.model gemini-2.5-flash

make_repo "$WORLD/repo"
cd "$WORLD/repo"
# turns AGENT TOOL ARGUMENT: a conversation of this name.
turns() {
    printf '"%s": [{"calls": [{"name": "%s", "input": {"%s": "echo %s >%s.txt && git add -A && git commit -q -m %s"%s}}]},' "$1" "$2" "$3" "$1" "$1" "$1" "$4"
    printf '{"text": "first-answer-of-%s"},{"calls": [{"name": "%s", "input": {"%s": "echo more >more.txt"%s}}]},{"text": "second-answer-of-%s"}]' "$1" "$2" "$3" "$4" "$1"
}
{
    printf '{'
    turns claude Bash command ', "description": "write"'
    printf ','
    turns codex exec_command cmd ''
    printf ','
    turns gemini run_shell_command command ', "description": "write"'
    printf ','
    turns opencode bash command ', "description": "write"'
    printf '}'
} >"$WORLD/script.json"
start_model
for agent in claude codex gemini opencode; do
    headgate run --agent $agent --service "$port" --detach "@@$agent@@ go" >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
done
n=0
for agent in claude codex gemini opencode; do
    n=$((n + 1))
    until_true 180 is_done $n.1 || die "$(headgate show $n.1)"
    check_equal "$agent: outcome" ok "$(outcome_of $n.1)"
    check_equal "$agent: its commit alone" "$agent" "$(git log --format=%s "main..headgate/$n/1")"
done
check_equal 'on the default rung nobody is asked' 0 "$(headgate gate ls --all --json | jq '[.calls[] | select(.why == "person" or .state == "pending")] | length')"
check_status 0 'all four are merged' headgate merge --reviewed 1.1 2.1 3.1 4.1
check_equal 'their work' 'claude.txt codex.txt gemini.txt opencode.txt' "$(echo *.txt)"

shown() { headgate logs --raw "$1" | grep -a -c "first-answer-of-$2" || :; }
shows_more() { [ "$(shown "$1" "$2")" -gt "$3" ]; }
said() { jq -c --arg a "$1" 'select(.conversation == $a and .turn == 3)' "$WORLD/model.jsonl" | grep .; }
# Gemini CLI draws an earlier session in pieces that no search in its bytes finds for certain, and takes no return while it loads
# one; that it opens is seen by hand. Started by root one is enough: whose its home is then is the same for all.
reopened='claude codex opencode'
[ "$(id -u)" != 0 ] || reopened=claude
for agent in $reopened; do
    case $agent in claude) n=1 ;; codex) n=2 ;; opencode) n=4 ;; esac
    before=$(shown $n.1 $agent)
    headgate resume -i --json $n.1 >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
    until_true 60 is_running $n.1 || die "$(headgate show $n.1)"
    if until_true 120 shows_more $n.1 $agent "$before"; then pass "$agent: its terminal shows what was"; else fail "$agent: its terminal does not show what was"; fi
    headgate say $n.1 'go on' >/dev/null
    if until_true 180 said $agent >/dev/null; then pass "$agent: goes on where it was"; else fail "$agent: did not go on: $(headgate logs $n.1 | tail -n 5)"; fi
    headgate stop $n.1 >/dev/null
    check_equal "$agent: what it did then" more "$(git show "headgate/$n/1:more.txt")"
done
exit $FAILED
