#!/bin/sh
# Arguments as deep as may be are shown everywhere; deeper ones are refused before they are on record, since nobody could read a list, a
# log or a snapshot that holds them, of no attempt.
. "$(dirname "$0")/../lib.sh"
command -v python3 >/dev/null || skip 'there is no python3'

make_repo "$WORLD/repo"
cd "$WORLD/repo"
mkdir "$WORLD/calls"
for n in 32 33 48 60; do
    python3 -c 'import sys; n = int(sys.argv[1]); print("{\"tool\":\"Frob\",\"args\":{\"a\":" + "[" * (n - 1) + "]" * (n - 1) + "}}")' $n >"$WORLD/calls/$n"
done
chmod -R a+rX "$WORLD/calls"
headgate run --ladder confirm --ro "$WORLD/calls" --detach -- sh -c "for n in 32 33 48 60; do headgate-hook <$WORLD/calls/\$n & done; wait" >/dev/null
run=$(last_run)
refused() { [ "$(headgate logs "$run.1" | grep -c 'nested deeper')" = 3 ]; }
until_true 20 refused && pass 'deeper ones are refused' || fail "not refused: $(headgate logs "$run.1")"
until_true 20 has_pending || fail 'none is asked'
check 'calls are listed' headgate gate ls
call=$(pending)
check_equal 'one waits' 1 "$(pending | wc -l)"
check 'it is shown' headgate gate show "$call"
check 'and explained' headgate gate explain "$call"
check 'attempts are listed' headgate ls
headgate gate deny "$call" --reason no >/dev/null
until_true 20 is_done "$run.1" || fail "$(headgate show "$run.1")"
check 'logged' headgate gate log "$run"
check 'traced' headgate trace "$run.1"
check 'exported' headgate gate log "$run" --export "$WORLD/deep.log"
check 'and verified' headgate gate verify "$WORLD/deep.log"
exit $FAILED
