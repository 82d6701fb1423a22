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

# reaches OPTIONS...: whether the agent got to its model.
reaches() {
    headgate run --agent claude --service "$port" --ro "$WORLD/programs" "$@" 'go' >"$WORLD/out" 2>&1 || :
    headgate logs "$(last_run).1" | grep -c '^reached' || :
}
check_equal 'without a handshake nothing is reached' 0 "$(reaches)"
git config --file "$settings" worktree.setup "$WORLD/programs/hello"
check_equal "a set-up command's is none of the agent's" 0 "$(reaches)"
headgate show "$(last_run).1" >"$WORLD/show"
check_has 'the person is told why it ended' 'did not shake hands' "$WORLD/show"
check_equal 'nor where programs are not watched' 0 "$(reaches --exec off --engine checkout)"
git config --file "$settings" worktree.setup "(while :; do $WORLD/programs/hello; done) >/dev/null 2>&1 &"
check_equal 'nor is that of what it left running' 0 "$(reaches)"
check "which is told" sh -c "headgate gate log | grep -q 'shook hands.*counts for nothing' || headgate show $(last_run).1 | grep -q 'counts for nothing'"
# The negative control: where it is the agent's own.
touch greets && git add greets && git commit -q -m 'A hook'
check_equal "the agent's own counts, beside it too" 1 "$(reaches)"
git config --file "$settings" --unset worktree.setup
check_equal "the agent's own counts" 1 "$(reaches)"
check_equal 'and where programs are not watched' 1 "$(reaches --exec off)"
exit $FAILED
