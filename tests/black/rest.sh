#!/bin/sh
# An agent in its own terminal says that it waits for its person: news, which holds until somebody types or it asks for a call, and on
# which no answer rests.
. "$(dirname "$0")/../lib.sh"

make_repo "$WORLD/repo"
cd "$WORLD/repo"
cat >"$WORLD/agent.py" <<'P'
import json, os, socket, sys
def ask(message):
    s = socket.socket(socket.AF_UNIX)
    s.connect(os.environ["HEADGATE_GATE"])
    s.sendall((json.dumps(message) + "\n").encode())
    return json.loads(s.makefile().readline())
call = {"source": "hook", "agent": "command", "tool": "Bash", "args": {"command": "true"}, "cwd": os.getcwd()}
for line in sys.stdin:
    word = line.strip()
    print("heard", word, flush=True)
    if word == "rest":
        answer = ask({"v": 1, "rest": "it has a \x1b[31mquestion\nof two lines"})
    elif word == "both":
        answer = ask({"v": 1, "rest": "it has a call", **call, "args": {"command": "touch both"}})
    elif word == "call":
        answer = ask({"v": 1, **call})
    print(word, "ANSWER", answer["decision"], answer["why"], flush=True)
    print("moving" * 3, flush=True)
P
headgate run -i --detach --ladder confirm --ro "$WORLD/agent.py" -- python3 "$WORLD/agent.py" >"$OUT" 2>&1 || die "$(cat "$OUT")"
run=$(last_run)
until_true 120 is_running "$run.1" || die 'it does not run'
stands() { headgate show "$run.1" --json | jq -r '.attempts[0].pulse | "\(.state) \(.why // "")"' | grep -F -- "$1"; }
prints() { headgate logs "$run.1" | grep -F -- "$1"; }

headgate say "$run.1" rest >/dev/null
check 'its word is news' until_true 120 stands 'waiting it has a'
check 'answered as such' until_true 120 prints 'rest ANSWER allow rest'
headgate show "$run.1" >"$OUT"
check 'nothing of it reaches the terminal as it is' sh -c "! grep -q '$(printf '\033')' '$OUT'"
check_has 'its first line is shown' 'waiting for input \(it has a .*question\)' "$OUT"

headgate say "$run.1" call >/dev/null
check 'a call asks' until_true 120 has_pending
check 'and ends the rest' until_true 120 stands working
headgate gate deny "$(pending)" --reason no >/dev/null
check 'it is denied as ever' until_true 120 prints 'call ANSWER deny person'

# News does not carry a call.
headgate say "$run.1" both >/dev/null
check 'a call that says that it is news asks all the same' until_true 120 has_pending
headgate gate deny "$(pending)" --reason no >/dev/null
check 'and is denied' until_true 120 prints 'both ANSWER deny person'
check_equal 'no call was let pass' '' "$(headgate gate ls --all --json | jq -r '.calls[] | select(.state != "denied") | .id')"
check 'who says nothing waits when its terminal is still' until_true 120 stands 'waiting its terminal is still'
headgate stop "$run.1" >/dev/null
exit $FAILED
