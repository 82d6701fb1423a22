#!/bin/sh
# The gate: asked, approved, denied with words, subagents, vanished callers, deadlines, grants, the chained log.
. "$(dirname "$0")/../lib.sh"

make_repo "$WORLD/repo"
cd "$WORLD/repo"

run_agent --ladder confirm --detach -- 'edit a.txt allowed
shell echo from-shell >b.txt
as s1 reviewer edit c.txt from-subagent
commit Done' >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
run=$(last_run)
until_true 20 has_pending || die 'no call became pending'
first=$(pending | head -n 1)
headgate gate show "$first" >"$WORLD/show" 2>&1
check_has 'show has the exact arguments' 'a.txt' "$WORLD/show"
check_status 2 'deny needs words' headgate gate deny "$first"
check_status 0 'approve' headgate gate approve "$first"
check_status 1 'a second decision loses' headgate gate deny "$first" --reason late
check_has 'the loser is told by whom' "$(id -un)" "$OUT"

until_true 20 has_pending || die 'the second call did not come'
words='no: use "make test" instead
second line, ünïcode'
headgate gate deny "$(pending)" --reason "$words" >/dev/null
until_true 20 has_pending || die 'the third call did not come'
check_equal 'a call of a subagent says whose it is' reviewer \
    "$(headgate gate ls --json | jq -r '.calls[0].subagent.type')"
headgate gate approve "$(pending)" >/dev/null
until_true 20 is_done "$run.1" || die 'the attempt did not end'
check_equal 'approved edit' allowed "$(git show "headgate/$run/1:a.txt")"
check 'a denied call did not run' sh -c "! git cat-file -e headgate/$run/1:b.txt"
check_equal "the subagent's edit" from-subagent "$(git show "headgate/$run/1:c.txt")"
git show "headgate/$run/1:denied.log" >"$WORLD/denied"
check_has 'the words reached the caller' 'no: use .*make test.* instead' "$WORLD/denied"
check_has 'all of the words' 'second line, ünïcode' "$WORLD/denied"

# A caller that vanished.
run_agent --ladder confirm --detach -- 'ungated (printf "{\"tool\":\"Bash\",\"args\":{\"command\":\"make lost\"}}" | timeout 1 headgate-hook) || true
await go' >/dev/null 2>&1
run=$(last_run)
# By then it may wait or be orphaned already.
only_call() { headgate show "$run.1" --json | jq -er '.attempts[0].calls[0].id'; }
until_true 20 only_call || die 'no call'
lost=$(only_call)
is_state() { [ "$(headgate gate show "$1" --json | jq -r .state)" = "$2" ]; }
until_true 20 is_state "$lost" orphaned || die "the vanished call is $(headgate gate show "$lost" --json)"
check_status 1 'approving a vanished call fails' headgate gate approve "$lost"
check_has 'and offers a grant' '--grant' "$OUT"
check_status 0 'a one-shot grant' headgate gate approve --grant "$lost"
check_has 'says what it is' "^$lost stays orphaned; $run.1 may do the same once when it asks again\$" "$OUT"
headgate stop "$run" >/dev/null
check_equal 'stopped' stopped "$(outcome_of "$run.1")"

# A deadline is told as a deadline, and a late approval is a grant.
git config --file "$XDG_CONFIG_HOME/headgate/config" gate.deadline 300
run_agent --ladder confirm --detach -- 'shell echo first
await go
shell echo first >granted.txt' >/dev/null 2>&1
run=$(last_run)
expired_of() { headgate gate ls --all --json | jq -r --arg a "$1.1" '.calls[] | select(.attempt == $a and .state == "expired") | .id'; }
has_expired() { [ -n "$(expired_of "$run")" ]; }
until_true 20 has_expired || die 'the call did not expire'
headgate trace "$run.1" >"$WORLD/trace" 2>&1
check_has 'the trace tells a timeout' 'expired' "$WORLD/trace"
headgate stop "$run" >/dev/null
headgate logs "$run.1" >"$WORLD/log" 2>&1
check_has 'the caller is told to retry after approval' 'retry|again' "$WORLD/log"
check_lacks "not as a person's denial" 'denied by' "$WORLD/log"

check_status 0 'the log verifies' headgate gate verify
check_status 0 'the log is listed' headgate gate log
sqlite3 "$(echo "$XDG_STATE_HOME"/headgate/*/state.db)" "UPDATE call SET request = replace(request, 'make lost', 'make found')"
check_status 1 'a call that was changed behind the log' headgate gate verify
check_has 'is named' 'row [0-9]+: call c[0-9]+, which it is about, asks something else' "$OUT"
sqlite3 "$(echo "$XDG_STATE_HOME"/headgate/*/state.db)" "UPDATE call SET request = replace(request, 'make found', 'make lost')"
check_status 0 'changed back, it verifies' headgate gate verify
db=$(echo "$XDG_STATE_HOME"/headgate/*/state.db)
headgate serve --stop >/dev/null 2>&1
sqlite3 "$db" "$(sqlite3 "$db" "SELECT 'DROP TRIGGER ' || name || ';' FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'log'") UPDATE log SET body = replace(body, 'approved', 'denied') WHERE seq = (SELECT min(seq) FROM log WHERE body LIKE '%approved%');" || die 'could not tamper'
check_status 1 'a changed row is found' headgate gate verify
