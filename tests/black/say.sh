#!/bin/sh
# What is said to an agent that takes no messages while it runs is its next turn: kept through a killed server, for one that was
# stopped until it is resumed, and given once.
. "$(dirname "$0")/../lib.sh"

make_repo "$WORLD/repo"
cd "$WORLD/repo"
cat >"$WORLD/agent" <<'IN'
if [ -n "${HEADGATE_MESSAGE:-}" ]; then
    printf '%s\n' "$HEADGATE_MESSAGE" >>message && git add message && git commit -qm Got
else
    echo '{"tool": "Bash", "args": {"command": "true"}}' | headgate-hook >/dev/null
fi
IN
start() {
    headgate run --ladder confirm --ro "$WORLD/agent" --detach -p 'The task' -- sh "$WORLD/agent" >"$OUT" 2>&1 || die "$(cat "$OUT")"
    run=$(last_run)
    until_true 30 has_pending || die 'no call waits'
}
message() { git show "headgate/$run/1:message"; }
has_message() { [ "$(message)" = "$1" ]; }

start
check_status 0 'to one that runs' headgate say "$run.1" 'First of all'
check_has 'says when it is told' "$run.1 takes no messages while it runs: this is its next turn" "$OUT"
check_equal 'as JSON too' queued "$(headgate say --json "$run.1" 'and then' | jq -r .how)"
kill -9 "$(server_pid)"
headgate gate approve --all >/dev/null
both='First of all

and then'
check 'it goes on by itself, with all of it' until_true 30 has_message "$both"
until_true 30 is_done "$run.1" || die 'it does not end'
check_equal 'outcome' ok "$(outcome_of "$run.1")"
check_status 0 'to one that has ended' headgate say "$run.1" 'Once more'
check_has 'says so' "$run.1 had ended and goes on with it" "$OUT"
check 'and it does' until_true 30 has_message "$both
Once more"
until_true 30 is_done "$run.1" || die 'it does not end'

start
headgate say "$run.1" 'Not now' >/dev/null
headgate stop "$run.1" >/dev/null
check_equal 'one that was stopped stays so' 'done stopped' "$(state_of "$run.1") $(outcome_of "$run.1")"
headgate resume "$run.1" >/dev/null
check 'a resume gives what waited' until_true 30 has_message 'Not now'
until_true 30 is_done "$run.1" || die 'it does not end'
headgate resume "$run.1" >/dev/null
until_true 30 has_pending || die 'no call waits'
headgate gate approve --all >/dev/null
until_true 30 is_done "$run.1" || die 'it does not end'
check 'once' has_message 'Not now'
check_status 2 'nothing is no message' headgate say "$run.1" ''
exit $FAILED
