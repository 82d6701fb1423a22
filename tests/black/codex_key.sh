#!/bin/sh
# The real Codex without its key: it stays outside of the box.
. "$(dirname "$0")/../lib.sh"
. "$TESTS/agents/install.sh"
. "$TESTS/agents/keys.sh"
need_codex

make_repo "$WORLD/repo"
cd "$WORLD/repo"

export OPENAI_API_KEY=sk-real-0123456789-codex
git config --file "$settings" agent.codex.model gpt-5.5
script "$(search_call exec_command cmd)"
works codex 'Bearer sk-real-0123456789-codex'
check_equal 'no other transport than requests is tried' 0 "$(grep -c websocket "$WORLD/model.jsonl")"
control codex
exit $FAILED
