#!/bin/sh
# The exec gate: programs that rules deny, execs that a person decides, grants for late approvals, a build under watch.
. "$(dirname "$0")/../lib.sh"

make_repo "$WORLD/repo"
cd "$WORLD/repo"
status_in() { headgate logs "$1" | grep -E "$2" >/dev/null; }

headgate gate rule add deny exec fortune-teller >/dev/null
headgate run -- sh -c 'cp /bin/true fortune-teller; ./fortune-teller; echo status $?; make; make test' >"$WORLD/out" 2>&1 ||
    die "$(cat "$WORLD/out")"
run=$(last_run)
check_has 'the first line names the policy' '^run .*execs watch' "$WORLD/out"
headgate logs "$run.1" >"$WORLD/log"
check_has 'a denied program has an errno' 'status 126' "$WORLD/log"
check_has 'a build runs under watch' '^built$' "$WORLD/log"
check_has 'and its tests' '^passed$' "$WORLD/log"
check_equal 'the layer is active' active "$(headgate show "$run.1" --json |
    jq -r '.attempts[0].layers[] | select(.name == "exec") | .state')"
headgate gate ls --all --json >"$WORLD/calls"
check_has 'the denial is a call of source exec' 'fortune-teller' "$WORLD/calls"

# Asked once; what runs below an approved program is not.
headgate run --exec ask --detach -- sh -c "/bin/sh -c '/bin/true; /bin/echo below'; echo status \$?" >/dev/null
run=$(last_run)
until_true 20 has_pending || die 'no exec was asked'
call=$(pending)
headgate gate show "$call" >"$WORLD/show" 2>&1
check_has 'a card shows the arguments' '/bin/echo below' "$WORLD/show"
check_status 0 'approve' headgate gate approve "$call"
until_true 20 is_done "$run.1" || die 'the attempt did not end'
check 'it ran' status_in "$run.1" 'below'
check 'with its status' status_in "$run.1" 'status 0'

# A deadline is a denial that the caller sees, and a later approval counts for the next try.
printf '[gate]\n\texecDeadline = 1000\n' >>"$XDG_CONFIG_HOME/headgate/config"
headgate run --exec ask --detach -- sh -c \
    '/bin/true; echo first $?; while ! /bin/true; do :; done; echo second $?' >/dev/null
run=$(last_run)
until_true 20 has_pending || die 'no exec was asked again'
call=$(pending | head -n 1)
is_expired() { [ "$(headgate gate ls --all --json | jq -r ".calls[] | select(.id == \"$1\") | .state")" = expired ]; }
until_true 20 is_expired "$call" || fail 'the question did not expire'
check_status 0 'a late approval is a grant' headgate gate approve --grant "$call"
until_true 20 is_done "$run.1" || die 'the late approval did not count for a later try'
headgate logs "$run.1" >"$WORLD/log"
check_has 'the caller was told' '^first 126' "$WORLD/log"
check_has 'the next try ran' '^second 0' "$WORLD/log"
check_status 2 'a rule for a path that no program has is refused' headgate gate rule add deny exec ./docker
check_has 'with what to write' 'whole path as the box sees it' "$OUT"
check_status 2 'an unknown policy is refused' headgate run --exec nonsense -- true

# A question outlives the server; the note says what to do when nobody decides.
headgate show "$run.1" >"$WORLD/show"
check_has 'a note names the call that nobody decided' 'nobody decided c[0-9]+ within 1s; once it is approved' "$WORLD/show"
git config --file "$XDG_CONFIG_HOME/headgate/config" gate.execDeadline 60000
headgate run --exec ask --detach -- sh -c '/bin/true; echo went on $?' >/dev/null
run=$(last_run)
until_true 20 has_pending || die 'no exec was asked'
call=$(pending)
kill -9 "$(server_pid)"
check_equal 'it still waits after a kill of the server' "$call" "$(pending)"
check_status 0 'and is approved through the next' headgate gate approve "$call"
until_true 20 is_done "$run.1" || die 'the attempt did not end'
check 'it ran' status_in "$run.1" 'went on 0'

# By kind of agent, and required by the layer's name.
git config --file "$XDG_CONFIG_HOME/headgate/config" gate.exec watch
git config --file "$XDG_CONFIG_HOME/headgate/config" gate.command.exec match
headgate run -- true >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
check_has "an agent's own policy wins" '^run .*execs match' "$WORLD/out"
headgate show "$(last_run).1" >"$WORLD/out"
check_has 'and is shown' 'exec +active +match' "$WORLD/out"
check_has 'with what it does not cover' 'not covered: what a persistent shell' "$WORLD/out"
check_status 4 'off where it is required' headgate run --require exec --exec off -- true
check_status 0 'required and active' headgate run --require exec,seccomp -- true
check_status 2 'unknown layers are named with it' headgate run --require nonsense -- true
check_has 'among the layers' 'pty, exec' "$OUT"
git config --file "$XDG_CONFIG_HOME/headgate/config" gate.command.exec nonsense
check_status 2 'a bad policy of an agent' headgate run -- true
check_has 'names its key' 'gate.command.exec' "$OUT"
