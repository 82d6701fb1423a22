#!/bin/sh
# What comes of agents that are left alone is told by the person's own command: limits, waiting for input, failures, the end of a run;
# each once, many in one message, and only the kinds that are asked for.
. "$(dirname "$0")/../lib.sh"

make_repo "$WORLD/repo"
cd "$WORLD/repo"
config() { git config --file "$XDG_CONFIG_HOME/headgate/config" "$@"; }
told=$WORLD/told
: >"$told"
config gate.notifyCommand "cat >>'$told'"
told_of() { jq -c "select(.news == \"$1\")" "$told"; }
named_in() { told_of "$1" | jq -r '.attempts[]'; }
names() { named_in "$1" | grep -Fx "$2"; }
names_all() { [ "$(named_in "$1" | sort -u | wc -l)" -ge "$2" ]; }
start() {
    headgate run --detach "$@" >"$OUT" 2>&1 || die "$(cat "$OUT")"
    run=$(last_run)
}
has_pulse() { [ "$(headgate show "$1" --json | jq -r '.attempts[0].pulse.state')" = "$2" ]; }

# Eight meet the limit of their account together, and say so three times each.
mkdir "$WORLD/fake" "$WORLD/flags"
cp "$TESTS/fake/limited.sh" "$WORLD/fake/claude"
chmod 755 "$WORLD/fake" "$WORLD/fake/claude" "$WORLD/flags"
began=$(date +%s)
limited() { PATH="$WORLD/fake:$PATH" ANTHROPIC_API_KEY=sk-test start --agent claude --no-canary --ro "$WORLD/flags" --env FLAGS="$WORLD/flags" "$@" 'Wait for it'; }
limited -n 8 -j 8
limited=$run
check 'all that are limited are told' until_true 240 names_all limit 8
check_equal 'each once' 8 "$(named_in limit | wc -l)"
check 'many in one message' test "$(told_of limit | wc -l)" -le $((($(date +%s) - began) / 15 + 1))
check_equal 'by whom and why' 'claude Wait for it rate_limit (HTTP 429), try 1 of 9' "$(told_of limit | jq -rs '.[0] | "\(.agent) \(.task) \(.reason)"')"
check 'until when' test "$(told_of limit | jq -s '.[0].until_ms')" -gt "${began}000"
touch "$WORLD/flags/works"
until_true 180 has_pulse "$limited.8" working || die 'it does not work again'
touch "$WORLD/flags/again"

# Input. Who looks at the terminal sees it by himself.
command -v tmux >/dev/null || skip 'no tmux'
term() { tmux -S "$WORLD/t" -f /dev/null "$@"; }
trap 'term kill-server 2>/dev/null || :; finish' EXIT
term new-session -d -s main -x 80 -y 24 'headgate run -i -- cat; sleep 600'
begun() { [ "$(last_run)" != "$limited" ]; }
until_true 180 begun || die 'the interactive run did not start'
watched=$(last_run).1
start -i -- cat
alone=$run.1

# The end of a run.
start -n 3 -j 3 -- true
has_ended() { [ "$(told_of ended | wc -l)" = 1 ]; }
check 'the end of a run is told' until_true 180 has_ended
check_equal 'once' 1 "$(named_in ended | grep -c "^$run\\.")"
until_true 180 has_pulse "$watched" waiting || die 'it does not wait for input'
check 'one that waits for input is told' until_true 180 names waiting "$alone"

is_told_again() { [ "$(names limit "$limited.8" | wc -l)" = 2 ]; }
check 'it has worked meanwhile: told again' until_true 240 is_told_again
headgate stop "$limited" >/dev/null

# A failure.
start -- sh -c 'exit 3'
check 'a failure is told' until_true 180 names failed "$run.1"
check_equal 'and that its run is over with it is not news' '' "$(names ended "$run.1")"
check_equal 'who waited, waits: once' 1 "$(names waiting "$alone" | wc -l)"
check_equal 'not the one that was watched' '' "$(names waiting "$watched")"
check_equal 'nor what was stopped' '' "$(named_in failed | grep "^$limited\\.")"

# Kinds.
config gate.notify 'ended, retry'
start -- false
failed=$run
until_true 180 is_done "$failed.1" || die 'it does not end'
start -- true
ended_too() { names ended "$run.1"; }
check 'what is listed is told' until_true 180 ended_too
check_equal 'what is not is not' '' "$(names failed "$failed.1")"
config gate.notify 'ended, loud'
check_status 2 'a word that is no kind is an error' headgate run -- true
check_has 'that names it' "gate.notify: 'loud' is none of call, limit" "$OUT"
config gate.notify none
exit $FAILED
