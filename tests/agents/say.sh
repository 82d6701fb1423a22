# Sourced by the scripts say_AGENT: what a person says to a real headless agent is in its model's next request: while it runs, and
# after it has ended.
. "$(dirname "$0")/../lib.sh"
. "$TESTS/agents/install.sh"
use_agent "$agent"

# How it takes a message while it runs.
call=$(shell_call "$agent")
if [ "$agent" = gemini ]; then how=queued; else how=said; fi
requests() { wc -l <"$WORLD/model.jsonl"; }
ended() { until_true 180 is_done "$run.1" || die "$(headgate show "$run.1")"; }
n_of() { headgate show "$run.1" --json | jq ".attempts[0].$1"; }

cat >"$WORLD/script.json" <<S
{"main": [{"calls": [$call]}, {"calls": [$call]}, {"text": "all done"}]}
S
start_model
headgate run --agent "$agent" --service "$port" --ladder confirm --detach '@@main@@ go' >"$OUT" 2>&1 || die "$(cat "$OUT")"
run=$(last_run)
check_equal 'it asks' true "$(next)"
check_equal 'it is said while its call waits' "$how" "$(headgate say --json "$run.1" 'SAID-ONE: use "the helper" in
two lines' | jq -r .how)"
headgate gate approve "$(pending)" >/dev/null
if [ "$how" = said ]; then
    check_equal 'it goes on' true "$(next)"
    check 'the text is in the next request' heard 'SAID-ONE: use "the helper"'
    headgate gate approve "$(pending)" >/dev/null
    ended
else
    check_equal 'it goes on' true "$(next)"
    check_equal 'without the text' '' "$(heard SAID-ONE)"
    headgate gate approve "$(pending)" >/dev/null
    check 'which is its next turn' until_true 180 heard 'SAID-ONE: use "the helper"'
    while ! is_done "$run.1"; do
        has_pending && headgate gate approve --all >/dev/null
        sleep 0.2
    done
fi
check_equal 'outcome' ok "$(outcome_of "$run.1")"

before=$(requests)
check_status 0 'to one that has ended' headgate say "$run.1" 'SAID-TWO: once more'
check_has 'which goes on' 'goes on with it' "$OUT"
ended
check 'with the text' heard 'SAID-TWO: once more'
check 'in a request of its own' test "$(requests)" -gt "$before"
check 'in the same conversation' sh -c "tail -n 1 '$WORLD/model.jsonl' | jq -e '.users | join(\" \") | contains(\"SAID-ONE\")'"
exit $FAILED
