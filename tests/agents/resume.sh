# Sourced by the scripts resume_AGENT: a real agent's finished headless session is opened in its own interface, in a terminal: it
# shows what was, takes what is typed there, and, left alone, what is said.
. "$(dirname "$0")/../lib.sh"
. "$TESTS/agents/install.sh"
command -v tmux >/dev/null || skip 'tmux is not installed'
use_agent "$agent"
git config --file "$settings" agent.codex.model gpt-5.5 # of which it would ask whether a newer one is wanted
git config --file "$settings" agent.opencode.model openai/gpt-4.1
cat >"$WORLD/script.json" <<'S'
{"main": [{"text": "FIRST-ANSWER"}, {"text": "SECOND-ANSWER"}, {"text": "THIRD-ANSWER"}, {"text": "FOURTH-ANSWER"}]}
S
start_model
headgate run --agent "$agent" --service "$port" '@@main@@ go' >"$OUT" 2>&1 || die "$(cat "$OUT"; headgate logs "$(last_run).1")"
run=$(last_run)

terminal() { tmux -S "$WORLD/tmux" -f /dev/null "$@"; }
screen() { terminal capture-pane -p -t main; }
shows() { screen | grep -F -- "$1"; }
# As from a shell of a machine that only builds: a person sits before this terminal all the same.
export CI=true
terminal new-session -d -s main -x 120 -y 40 "headgate resume -i $run.1; echo ended; sleep 100"
check 'it opens where it was' until_true 120 shows FIRST-ANSWER
# Gemini CLI hears nothing any more when something is typed while it loads a session.
waits() { headgate ls | grep 'waiting for input'; }
check 'then it waits for input' until_true 60 waits
terminal send-keys -t main -l 'TYPED-HERE'
check 'what is typed is on the screen' until_true 60 shows TYPED-HERE
terminal send-keys -t main Enter
check 'and reaches the model' until_true 150 heard TYPED-HERE
check 'in the same conversation' sh -c "jq -c 'select(.users | join(\" \") | contains(\"@@main@@\") and contains(\"TYPED-HERE\"))' '$WORLD/model.jsonl' | grep -q ."
check 'the answer is on the screen' until_true 150 shows SECOND-ANSWER
check 'and waits again' until_true 60 waits
terminal send-keys -t main C-] d
check 'it goes on without a terminal' until_true 20 shows ended
headgate say "$run.1" 'SAID-THERE' >/dev/null
check 'what is said reaches the model' until_true 150 heard SAID-THERE
[ "$FAILED" = 0 ] || screen
headgate stop "$run.1" >/dev/null
terminal kill-server
exit $FAILED
