#!/bin/sh
# Whose handshake counts: the agent's hook alone. A set-up command, a package's script in it say, could shake hands in its place and
# leave something running that does, and an agent without a hook would then speak to its model.
. "$(dirname "$0")/../lib.sh"
. "$TESTS/agents/install.sh"
command -v python3 >/dev/null || skip 'there is no python3'
command -v curl >/dev/null || skip 'there is no curl'

make_repo "$WORLD/repo"
cd "$WORLD/repo"
settings=$XDG_CONFIG_HOME/headgate/config
git config --file "$settings" gate.helloDeadline 3000
git config --file "$settings" run.canary false
export ANTHROPIC_API_KEY=sk-test-000-abcdefghijklmnop
echo '{}' >"$WORLD/script.json"
start_model
mkdir "$WORLD/programs"
cat >"$WORLD/programs/hello" <<'P'
#!/usr/bin/python3
import os, socket
s = socket.socket(socket.AF_UNIX)
s.connect(os.environ["HEADGATE_GATE"])
s.sendall(b'{"v":1,"hello":true}\n')
s.recv(65536)
P
# An agent whose hook is not in force, and one whose hook is.
printf '#!/bin/sh\n[ ! -e greets ] || %s/programs/hello\ncurl -s -m 30 "$ANTHROPIC_BASE_URL/v1/models" | grep -q list && echo reached\n' "$WORLD" >"$WORLD/programs/claude"
chmod -R a+rX "$WORLD/programs" && chmod a+x "$WORLD/programs"/*
PATH="$WORLD/programs:$PATH"

# start OPTIONS...: an attempt in $run. reached RUN: whether its agent got to its model.
start() {
    headgate run --agent claude --service "$port" --ro "$WORLD/programs" --detach "$@" 'go' >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
    run=$(last_run)
}
reached() {
    until_true 120 is_done "$1.1" || die "$(headgate show "$1.1")"
    headgate logs "$1.1" | grep -c '^reached' || :
}
# What a run is set up with is as it was when it was made, so they wait for their deadlines together.
start && bare=$run
git config --file "$settings" worktree.setup "$WORLD/programs/hello"
start && greeted=$run
start --exec off --engine checkout && unwatched=$run
git config --file "$settings" worktree.setup "(while :; do $WORLD/programs/hello; done) >/dev/null 2>&1 &"
start && lingering=$run
check_equal 'without a handshake nothing is reached' 0 "$(reached "$bare")"
check_equal "a set-up command's is none of the agent's" 0 "$(reached "$greeted")"
headgate show "$greeted.1" >"$WORLD/show"
check_has 'the person is told why it ended' 'did not shake hands' "$WORLD/show"
check_equal 'nor where programs are not watched' 0 "$(reached "$unwatched")"
check_equal 'nor is that of what it left running' 0 "$(reached "$lingering")"
check "which is told" sh -c "headgate gate log $lingering.1 | grep -q 'shook hands.*counts for nothing' || headgate show $lingering.1 | grep -q 'counts for nothing'"
# The negative control: where it is the agent's own.
touch greets && git add greets && git commit -q -m 'A hook'
start
check_equal "the agent's own counts, beside it too" 1 "$(reached "$run")"
git config --file "$settings" --unset worktree.setup
start
check_equal "the agent's own counts" 1 "$(reached "$run")"
start --exec off
check_equal 'and where programs are not watched' 1 "$(reached "$run")"
exit $FAILED
