#!/bin/sh
# The command that runs last in each box: of the person's own, and of the repository after consent.
. "$(dirname "$0")/../lib.sh"

make_repo "$WORLD/repo"
cd "$WORLD/repo"
config="$XDG_CONFIG_HOME/headgate/config"
git config -f "$config" worktree.teardown 'echo "torn down $HEADGATE_ATTEMPT"; cat mine >down'

check_status 1 'the outcome is the agent'"'"'s' headgate run --ladder auto -- sh -c 'echo agent >mine; exit 3'
check_has 'with its status' 'failed with exit code 3' "$OUT"
run=$(last_run)
check_equal 'what it wrote comes home' agent "$(git show "headgate/$run/1:down")"
headgate logs "$run.1" >"$OUT"
check_has 'and what it said' "^torn down $run.1$" "$OUT"

headgate run --detach --ladder auto -- sh -c 'echo stopped >mine; echo ready; exec sleep 300' >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
run=$(last_run)
is_up() { headgate logs "$run.1" | grep -qx ready; }
until_true 30 is_up || die 'it does not run'
check_status 0 'one that is stopped' headgate stop "$run.1"
check_equal 'is torn down too' stopped "$(git show "headgate/$run/1:down")"
check_equal 'and is called stopped' stopped "$(outcome_of "$run.1")"

git config -f "$config" --unset worktree.teardown
printf '[worktree]\n\tteardown = echo theirs >down\n' >.headgate
check_status 2 'a repository asks first' headgate run --ladder auto -- true
check_has 'and its command is shown' 'a command that runs in each box last: echo theirs >down' "$OUT"
hash=$(sed -n 's/.*--consent \([0-9a-f]\{64\}\).*/\1/p' "$OUT")
check_status 0 'with consent' headgate run --ladder auto --consent "$hash" -- true
check_equal 'it runs' theirs "$(git show "headgate/$(last_run)/1:down")"
check_status 0 'without' headgate run --ladder auto --consent none -- true
check_status 128 'it does not' git show "headgate/$(last_run)/1:down"
