#!/bin/sh
# Nothing is lost when the server dies at any moment; a box never outlives its keeper.
. "$(dirname "$0")/../lib.sh"

# pid 1 of a keeper's box; its other child holds the box's mounts.
box_of() { pgrep -P "$1" -f '^headgate-box$'; }
make_repo "$WORLD/repo"
cd "$WORLD/repo"
run_agent -n 2 -j 2 --ladder confirm --detach -- 'edit a.txt one
edit b.txt two
commit Done' >/dev/null 2>&1
run=$(last_run)
until_true 20 has_pending 2 || die 'no two calls'
before=$(pending | sort)
kill -9 "$(server_pid)"
check_equal 'pending calls are listed after a kill of the server' "$before" "$(pending | sort)"
for id in $before; do headgate gate approve "$id" >/dev/null || fail "approve $id"; done
until_true 20 has_pending 2 || die 'the agents did not go on'
# Decide, and kill the server at once: the decision is delivered by the next one, once.
for id in $(pending); do
    headgate gate approve "$id" >/dev/null || fail "approve $id"
    kill -9 "$(server_pid)"
done
until_true 30 is_done "$run.1" && until_true 30 is_done "$run.2" || die "$(headgate ls)"
for n in 1 2; do
    check_equal "attempt $n is ok" ok "$(outcome_of "$run.$n")"
    check_equal "attempt $n has its work" two "$(git show "headgate/$run/$n:b.txt")"
done
check_equal 'each call was consumed once' 4 \
    "$(headgate gate ls --all --json | jq '[.calls[] | select(.state == "consumed")] | length')"
check_status 0 'the log verifies' headgate gate verify

# Agents that need nobody go on without a server.
run_agent --ladder auto --detach -- 'await go
edit c.txt alone
commit Alone' >/dev/null 2>&1
run=$(last_run)
until_true 20 is_running "$run.1" || die 'not running'
box=$(box_of "$(headgate show "$run.1" --json | jq -r '.attempts[0].keeper_pid')")
agent=$(pgrep -P "$box" | head -n 1)
kill -9 "$(server_pid)"
as_box touch "/proc/$agent/cwd/go" || die 'the worktree cannot be reached through the agent'
until_true 20 gone "$box" || fail 'the agent did not go on alone'
until_true 20 is_done "$run.1" || die 'not harvested by the next server'
check_equal 'work done without a server is harvested' alone "$(git show "headgate/$run/1:c.txt")"

# The keeper is killed: its whole box dies, the work stays.
run_agent --ladder auto --detach -- 'edit d.txt kept
commit Kept
linger beat
hold' >/dev/null 2>&1
run=$(last_run)
tree=$(headgate show "$run.1" --json | jq -r '.attempts[0].tree')
until_true 20 is_running "$run.1" || die 'not running'
keeper=$(headgate show "$run.1" --json | jq -r '.attempts[0].keeper_pid')
box=$(box_of "$keeper")
until_true 20 sh -c "pgrep -P $box >/dev/null" || die 'no agent'
kill -9 "$keeper"
until_true 20 is_done "$run.1" || die "$(headgate show "$run.1")"
check_equal 'the attempt is lost' lost "$(outcome_of "$run.1")"
check 'pid 1 of the box is gone' gone "$box"
check_equal 'no process of the box is left' '' "$(left_of "$run.1")"
check_equal 'its commit was brought home' kept "$(git show "headgate/$run/1:d.txt")"
