#!/bin/sh
# `agent check --canary` with the real agents: a call that is denied does not run; and an agent whose hook is gone is found out.
. "$(dirname "$0")/../lib.sh"
. "$TESTS/agents/install.sh"
[ "$(id -u)" != 0 ] || skip 'it takes a minute, and is the same when root starts it: the scripts of each agent tell'
need_claude
need_codex
need_gemini
need_opencode
export TMPDIR="$WORLD/tmp"
mkdir "$TMPDIR"
settings=$XDG_CONFIG_HOME/headgate/config
git config --file "$settings" agent.opencode.model openai/gpt-4.1
git config --file "$settings" agent.gemini.model gemini-2.5-flash
for agent in claude codex gemini opencode; do
    check_status 0 "the canary of $agent" headgate agent check --canary $agent
    check_has '  says so' 'canary: +a call was denied, did not run' "$OUT"
done
make_repo "$WORLD/repo"
cd "$WORLD/repo"
echo '{"main":[{"text":"done"}]}' >"$WORLD/script.json"
start_model
headgate run --agent codex --service "$port" '@@main@@ go' >"$WORLD/out" 2>&1 || fail "$(cat "$WORLD/out")"
check_lacks 'nothing is said of a program that was checked' 'was checked' "$WORLD/out"
mkdir "$WORLD/other" && cp "$(readlink -f "$(command -v codex)")" "$WORLD/other/codex"
PATH="$WORLD/other:$PATH" headgate run --agent codex --service "$port" '@@main@@ go' >"$WORLD/out" 2>&1 || :
check_has 'of another one it is' 'codex is not the one that was checked' "$WORLD/out"

git config --file "$settings" --add box.mask /etc/claude-code/managed-settings.json
check_status 1 'without its hook the canary of claude fails' headgate agent check --canary claude
check_has '  and says why' 'did not come to the gate' "$OUT"
check_equal 'nothing is left' '' "$(ls -d "$TMPDIR"/headgate-canary.* 2>/dev/null)"
exit $FAILED
