#!/bin/sh
# The real OpenCode in its own interface, in a terminal: what is typed reaches the model, its calls and commands that a person types
# pass the gate, it goes on without a terminal; and no process of its box finds a server of its, or a way around its gate.
. "$(dirname "$0")/../lib.sh"
. "$TESTS/agents/install.sh"
command -v tmux >/dev/null || skip 'tmux is not installed'
command -v curl >/dev/null || skip 'curl is not installed'
use_agent opencode
git config --file "$settings" agent.opencode.model openai/gpt-4.1
cat >"$WORLD/script.json" <<S
{"main": [
  {"calls": [{"name": "bash", "input": {"command": "echo hi >file.txt", "description": "write"}}]},
  {"calls": [{"name": "bash", "input": {"command": "echo no >denied.txt", "description": "write"}}]},
  {"text": "HALF-WAY"},
  {"calls": [{"name": "bash", "input": {"command": "python3 $TESTS/agents/opencode_attack.py", "description": "attack", "timeout": 900000}}]},
  {"text": "AT-THE-END"}],
 "other": [{"text": "nothing"}]}
S
start_model
terminal() { tmux -S "$WORLD/tmux" -f /dev/null "$@"; }
screen() { terminal capture-pane -p -t main; }
shows() { screen | grep -F -- "$1"; }
enter() {
    terminal send-keys -t main -l "$1"
    until_true 180 shows "$1" || die "what is typed is not on the screen: $(screen)"
    terminal send-keys -t main Enter
}
trap 'terminal kill-server 2>/dev/null || :; finish' EXIT

terminal new-session -d -s main -x 120 -y 40 \
    "headgate run -i --agent opencode --service $port --ladder confirm --ro '$TESTS/agents'; echo detached; sleep 300"
check 'its screen comes up' until_true 180 shows 'Ask anything'
run=$(last_run)
enter '@@main@@ go on'
approve_next 'what is typed reaches the model, whose call asks' 'echo hi >file.txt'
deny_next 'then the next' 'echo no >denied.txt' 'GATE-7: use another file, "please"'
check 'the reason reaches the model' until_true 180 reason_reached 'GATE-7: use another file, "please"'
check 'its answer is on the screen' until_true 180 shows HALF-WAY
terminal send-keys -t main C-] d
check 'it goes on without a terminal' until_true 60 shows detached
terminal rename-session -t main before # a server without a session ends, and may do so while it is asked for the next
terminal new-session -d -s main -x 100 -y 30 "headgate attach $run.1; echo detached; sleep 300"
terminal kill-session -t before
check 'it is there again' until_true 180 shows HALF-WAY

# Another process of its box.
enter 'once more'
approve_next 'the attack' "python3 $TESTS/agents/opencode_attack.py"
until_true 600 has_pending || die "$(screen)"
deny_next 'a command through its server asks' 'touch shell-denied.txt' 'not this'
approve_next 'and the next' 'touch shell-allowed.txt'
is_over() { reason_reached 'attempts are over'; }
until_true 600 is_over || die "$(headgate gate ls; screen)"
check 'it goes on' until_true 180 shows AT-THE-END
jq -r '.results[].text' "$WORLD/model.jsonl" | grep -E ': (held|got through)$' | sort -u >"$WORLD/attempts"
check_equal 'attempts were made' 12 "$(wc -l <"$WORLD/attempts")"
while read -r line; do
    case $line in
    control:*': got through' | [!c]*': held') pass "$line" ;;
    *) fail "$line" ;;
    esac
done <"$WORLD/attempts"

# A person's own command, without the model.
# Its screen says when the turn is over; the servers with a port have said so too. Until then it takes no command.
rests() {
    screen >"$WORLD/screen"
    sed -n '/AT-THE-END/,$p' "$WORLD/screen" | grep -Eq '▣.* [0-9.]+s *$' && ! grep -q '⬝' "$WORLD/screen"
}
check 'it waits' until_true 180 rests
terminal send-keys -t main -l '!'
enter 'echo TYPED-$((40 + 2))'
approve_next 'a command that a person types asks too' 'echo TYPED-$((40 + 2))'
check 'and runs then' until_true 60 shows TYPED-42
headgate stop "$run.1" >/dev/null
tip=headgate/$run/1
check_equal 'allowed' hi "$(git show "$tip:file.txt")"
check_status 128 'denied' git cat-file -e "$tip:denied.txt"
exit $FAILED
