#!/bin/sh
# The real OpenCode without its keys: three providers at once, each shown its own key alone.
. "$(dirname "$0")/../lib.sh"
. "$TESTS/agents/install.sh"
. "$TESTS/agents/keys.sh"
need_opencode

make_repo "$WORLD/repo"
cd "$WORLD/repo"

export OPENAI_API_KEY=sk-real-0123456789-openai ANTHROPIC_API_KEY=sk-ant-real-0123456789-anthropic \
    GEMINI_API_KEY=AIzareal-0123456789-google
script "$(search_call bash command)"
git config --file "$settings" agent.opencode.model anthropic/claude-sonnet-4-5
works 'opencode (anthropic)' sk-ant-real-0123456789-anthropic
git config --file "$settings" agent.opencode.model google/gemini-2.5-flash
works 'opencode (google)' AIzareal-0123456789-google
control opencode
exit $FAILED
