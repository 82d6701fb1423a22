#!/bin/sh
# The real Gemini CLI without its key: it stays outside of the box.
. "$(dirname "$0")/../lib.sh"
. "$TESTS/agents/install.sh"
. "$TESTS/agents/keys.sh"
need_gemini

make_repo "$WORLD/repo"
cd "$WORLD/repo"

export GEMINI_API_KEY=AIzareal-0123456789-gemini
git config --file "$settings" agent.gemini.model gemini-2.5-flash
script "$(search_call run_shell_command command)"
works gemini AIzareal-0123456789-gemini
control gemini
exit $FAILED
