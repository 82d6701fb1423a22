#!/bin/sh
# A hostile repository's .env would give Gemini CLI another home, with hooks and servers, and its shells a start-up file: it is not read.
. "$(dirname "$0")/../lib.sh"
. "$TESTS/agents/install.sh"
. "$TESTS/agents/project.sh"

need_gemini
settings=$XDG_CONFIG_HOME/headgate/config
git config --file "$settings" agent.gemini.model gemini-2.5-flash
evil_repo gemini
start_agent gemini
end_agent
check_equal 'gemini: no program of the repository ran, nor with an approved one' '' "$(what_ran)"
# The negative control: the same without Headgate.
mkdir -p "$HOME/.gemini" && echo '{"security":{"auth":{"selectedType":"gemini-api-key"}}}' >"$HOME/.gemini/settings.json"
(GEMINI_CLI_TRUST_WORKSPACE=true HEADGATE_WORKTREE=$PWD timeout 60 gemini --approval-mode=yolo -m gemini-2.5-flash -p '@@main@@ go' >"$WORLD/alone" 2>&1 </dev/null) || :
check_equal 'gemini: what runs without it' 'bashenv hook server' "$(for f in ran.*; do echo "${f#ran.}"; done | xargs)"
exit $FAILED
