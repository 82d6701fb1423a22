#!/bin/sh
# Stopping leaves no process; limits of memory, processes, time and output end what runs away, and say so.
. "$(dirname "$0")/../lib.sh"

make_repo "$WORLD/repo"
cd "$WORLD/repo"
git config --file "$XDG_CONFIG_HOME/headgate/config" run.grace 300

run_agent --ladder auto --detach -- 'ignore-term
ungated echo work >work.txt
linger beat
hold' >/dev/null 2>&1
run=$(last_run)
has_lingering() { [ "$(left_of "$run.1" | wc -l)" -ge 4 ]; }
until_true 20 has_lingering || die "the processes did not start: $(headgate show "$run.1")"
check_status 0 'stop' headgate stop "$run.1"
check_equal 'no process is left' '' "$(left_of "$run.1")"
check_equal 'outcome' stopped "$(outcome_of "$run.1")"
check_equal 'work of a stopped attempt is kept' work "$(git show "headgate/$run/1:work.txt")"

run_agent --ladder auto --timeout 1s -- 'ignore-term
hold' >"$WORLD/out" 2>&1 && fail 'a timeout is not success'
check_equal 'time limit' timeout "$(outcome_of "$(last_run).1")"
check_equal 'nothing is left' '' "$(left_of "$(last_run).1")"

run_agent --ladder auto --memory 200M -- 'memory 600' >"$WORLD/out" 2>&1 && fail 'a memory hog is not success'
check_equal 'memory limit' failed "$(outcome_of "$(last_run).1")"
check_has 'and the reason is told' 'memory' "$WORLD/out"

run_agent --ladder auto --pids 60 --timeout 4s -- 'fork-bomb' >"$WORLD/out" 2>&1 && fail 'a fork bomb is not success'
check 'the machine lives on' true
check_equal 'nothing of the bomb is left' '' "$(left_of "$(last_run).1")"

run_agent --ladder auto --output-limit 1M -- 'flood 50' >"$WORLD/out" 2>&1 && fail 'a flood is not success'
check_has 'output limit' 'output' "$WORLD/out"
log=$(headgate show "$(last_run).1" --json | jq -r '.attempts[0].log')
check "the log is bounded" test "$(stat -c %s "$log")" -le 1100000

# A box alone is held too, with a cgroup or without: one process that takes too much, and many that do together.
mkdir -m 777 "$WORLD/alone"
cd "$WORLD/alone"
check_status 137 'memory of a box' headgate box --memory 100M -- python3 -c 'b = bytearray(400 << 20); import time; time.sleep(20)'
check_status 137 'memory of many' headgate box --memory 100M -- python3 -c 'import os, time
for i in range(20):
    if os.fork() == 0:
        b = bytearray(20 << 20); time.sleep(20); os._exit(0)
while os.wait()[1] == 0: pass
os.kill(os.getpid(), 9)'
check_status 0 'and no more than it needs is no matter' headgate box --memory 200M -- python3 -c 'b = bytearray(50 << 20); import time; time.sleep(0.5)'
cd "$WORLD/repo"

# Resume: the worktree and its commits are there again.
run_agent --ladder auto -- 'ungated echo again >>a.txt
commit Again' >/dev/null 2>&1
run=$(last_run)
check_status 0 'resume' headgate resume "$run.1"
until_true 20 is_done "$run.1"
check_equal 'it went on where it was' 2 "$(git show "headgate/$run/1:a.txt" | wc -l)"
check_equal 'resumed attempt is ok' ok "$(outcome_of "$run.1")"
