# Sourced by the scripts events_AGENT: what a real agent tells of itself while its model's server is busy, fails and answers:
# tokens, tries again, a limit with its time, an error at the end; in show, ls, the log and over a resume.
. "$(dirname "$0")/../lib.sh"
. "$TESTS/agents/install.sh"
use_agent "$agent"

# What differs: whether it tells until when, how many of its tries again, and its tokens after a
# resume (the model server begins anew for some protocols).
call=$(shell_call "$agent")
case $agent in
claude) until='until [0-9]' tries=2 resumed=1116 ;;
codex) until='' tries=1 resumed=232 ;;
gemini) until='' tries=2 resumed=1116 ;;
opencode) until='until [0-9]' tries=2 resumed=232 ;;
esac
pulse_of() { headgate show "$1" --json | jq -c ".attempts[0].pulse$2"; }
start() {
    headgate run --agent "$agent" --service "$port" --detach "$1" >"$OUT" 2>&1 || die "$(cat "$OUT")"
    run=$(last_run)
}
ended() { until_true 120 is_done "$run.1" || die "$(headgate show "$run.1")"; }
is_in_log() { headgate gate log --json "$run.1" | jq -e --arg kind "$1" '.rows[] | select(.kind == "agent" and .body.kind == $kind)'; }

# A server that has too many requests, then fails, then answers.
cat >"$WORLD/script.json" <<S
{"main": [
  {"fail": [{"status": 429, "retry_after": 3, "message": "Rate limit reached"}], "usage": {"in": 111, "cached": 222, "out": 33}, "calls": [$call]},
  {"fail": [{"status": 500, "message": "oops"}], "usage": {"in": 5, "cached": 300, "out": 7}, "text": "all done"},
  {"usage": {"in": 1000, "out": 1}, "text": "again"},
  {"usage": {"in": 1000, "out": 1}, "text": "again"}],
 "refused": [{"fail": [$(printf '{"status": 400, "message": "NO-SUCH-THING"},%.0s' 1 2 3 4 5 6 7 8) {"status": 400}], "text": "never"}]}
S
start_model
start '@@main@@ go'
is_limited() { headgate ls | tee "$WORLD/ls" | grep -E "rate limited $until"; }
check 'ls says that its server takes no more' until_true 60 is_limited
ended
check_equal 'outcome' ok "$(outcome_of "$run.1")"
check_equal 'tokens' '{"in":116,"cached":522,"cache_written":0,"out":40}' "$(pulse_of "$run.1" .tokens)"
check 'tries again' test "$(pulse_of "$run.1" .retries)" -ge "$tries"
check_equal 'it works again' '"working"' "$(pulse_of "$run.1" .state)"
headgate show "$run.1" >"$OUT"
check_has 'tokens for people' 'tokens: +116 in, 522 cached, 40 out' "$OUT"
check_has 'troubles for people' 'troubles: +tried again' "$OUT"
check 'the limit is in the log' is_in_log limit
headgate gate log "$run.1" >"$OUT"
check_has 'in words' "agent +$run.1 limit" "$OUT"

# Resumed, it is counted on.
headgate resume "$run.1" >/dev/null
ended
check_equal 'what a resume uses comes on top, and nothing twice' "$resumed" "$(pulse_of "$run.1" .tokens.in)"

# What cannot be had is an error.
[ "$agent" != opencode ] || git config --file "$settings" agent.opencode.model openai/no-such-thing # it tries all else for minutes
start '@@refused@@ go'
ended
check 'an error is counted' test "$(pulse_of "$run.1" .errors)" -ge 1
headgate show "$run.1" >"$OUT"
# OpenCode keeps the server's words to its own log.
check_has 'in the words of the server' "troubles: .*error.*$([ "$agent" = opencode ] && echo 'Unexpected server error' || echo NO-SUCH-THING)" "$OUT"
check 'and it is in the log' is_in_log error
exit $FAILED
