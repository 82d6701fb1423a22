#!/bin/sh
# A hostile repository's settings for Claude Code, its servers and its PATH: none of them counts, and git sees no difference.
. "$(dirname "$0")/../lib.sh"
. "$TESTS/agents/install.sh"
. "$TESTS/agents/project.sh"

need_claude
settings=$XDG_CONFIG_HOME/headgate/config
evil_repo claude
start_agent claude -i
end_agent -i
check_equal 'claude -i: no program of the repository ran' '' "$(what_ran)"
check_equal 'claude -i: git saw nothing' '' "$(git diff --stat main "headgate/$run/1")"
# Settings behind a link to another folder are found there.
git mv .claude conf && ln -s conf .claude && git add -Af . && git commit -q -m 'By a link'
start_agent claude
end_agent
check_equal 'claude: headless, settings behind a link: none ran' '' "$(what_ran)"
check_equal 'claude: headless, settings behind a link: git saw nothing' '' "$(git diff --stat main "headgate/$run/1")"
# The negative control: as the person wants it.
git config --file "$settings" agent.claude.projectSettings true
start_agent claude
end_agent
check_equal 'claude: where they count they run all of it' 'helper path server' "$(what_ran)"
git config --file "$settings" --unset agent.claude.projectSettings
# A link that leads out of the worktree: what it leads to cannot be known to be harmless.
git rm -q --cached .claude && rm .claude && ln -s /usr/share .claude && git add .claude && git commit -q -m 'A link out'
check_status 1 'a link that leads out' headgate run --agent claude --no-canary 'go'
headgate show "$(last_run).1" >"$WORLD/show" 2>&1
check_has 'is told' 'leads out of the worktree' "$WORLD/show"
exit $FAILED
