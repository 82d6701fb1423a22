#!/bin/sh
# Records what the real Claude Code asks in a session: record.sh FILE. The model's part is tests/data/session.json; each call that
# the agent's hook asked is a line of FILE, folders named W (worktree) and H (home). By hand, when agent or script change:
#
#     HEADGATE_BIN=build/dev/bin FETCH_AGENTS=1 sh tests/agents/record.sh tests/data/session-claude.jsonl
out=$(realpath "$1")
. "$(dirname "$0")/../lib.sh"
. "$TESTS/agents/install.sh"
need_claude

make_repo "$WORLD/repo"
cd "$WORLD/repo"
cp "$TESTS/data/session.json" "$WORLD/script.json"
start_model
headgate run --agent claude --service "$port" --ladder auto --detach '@@main@@ Add a parser with a test' >"$OUT" 2>&1 || die "$(cat "$OUT")"
run=$(last_run)
until is_done "$run.1"; do
    has_pending && headgate gate deny --all --reason 'not in this recording' >/dev/null
    sleep 0.2
done
headgate gate ls --all --json "$run" | jq -c --arg home "$HOME" '.calls[] | select(.source == "hook")
    | .worktree as $w | {agent, tool, args, cwd, subagent}
    | walk(if type == "string" then gsub($w; "W") | gsub($home; "H") else . end)' >"$out"
pass "$(wc -l <"$out") calls recorded"
