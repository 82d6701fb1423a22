# Sourced by the scripts rest_AGENT: a real agent in its own terminal says by itself that its turn is over, each time; that a terminal
# is still is what is left for those that say nothing.
. "$(dirname "$0")/../lib.sh"
. "$TESTS/agents/install.sh"
use_agent "$agent"
git config --file "$settings" agent.opencode.model openai/gpt-4.1
cat >"$WORLD/script.json" <<S
{"main": [{"calls": [$(shell_call "$agent")]}, {"text": "FIRST"}, {"text": "SECOND"}]}
S
start_model
headgate run -i --detach --agent "$agent" --service "$port" --ladder confirm '@@main@@ go' >"$OUT" 2>&1 || die "$(cat "$OUT")"
run=$(last_run)
own_word='its turn is over'
said() { headgate gate log --json "$run.1" | jq -e --arg text "$own_word" --argjson n "$1" '[.rows[] | select(.kind == "agent" and .body.kind == "waiting" and .body.text == $text)] | length == $n'; }
stands() { [ "$(headgate show "$run.1" --json | jq -r '.attempts[0].pulse | "\(.state) \(.why // "")"')" = "$1" ]; }
approve_next 'its call asks' true
check 'it says that its turn is over' until_true 180 said 1
check 'and stands so' stands "waiting $own_word"
headgate ls >"$OUT"
check_has 'ls says so' 'waiting for input' "$OUT"
headgate say "$run.1" 'and now' >/dev/null
check 'what it is told reaches the model' until_true 180 heard 'and now'
check 'then it says so again' until_true 180 said 2
check 'and stands so' stands "waiting $own_word"
headgate stop "$run.1" >/dev/null
exit $FAILED
