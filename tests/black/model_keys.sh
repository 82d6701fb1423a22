#!/bin/sh
# The keys of models stay outside of the box for the other agents too: the real Codex, Gemini CLI and OpenCode, and agents of the
# person's own, against a model server behind TLS.
. "$(dirname "$0")/../lib.sh"
. "$TESTS/agents/install.sh"
. "$TESTS/agents/tls.sh"
settings=$XDG_CONFIG_HOME/headgate/config

make_repo "$WORLD/repo"
cd "$WORLD/repo"

# script CALL: look for the key, then end.
script() { printf '{"main": [%s, {"text": "all done"}]}\n' "$1" >"$WORLD/script.json"; }
# works NAME WANT: the agent does its task by the relay, and the server sees WANT as its key.
works() {
    start_tls
    git config --file "$settings" "agent.${1%% *}.ca" "$WORLD/tls.pem"
    headgate run --agent "${1%% *}" '@@main@@ go' >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out"; headgate logs "$(last_run).1")"
    check_equal "$1: the model gets the real key each time" "$2" "$(keys_seen)"
    check_equal "$1: nothing in the box has it" 'found=0 found=0 ' "$(found)"
    check_has "$1: its host is not opened to the agent" 'asks for every host' "$WORLD/out"
    check "$1: nothing of Headgate has written it" sh -c "! grep -raq 'real-0123456789' '$XDG_STATE_HOME'"
    check_equal "$1: no card was raised" 0 "$(headgate gate ls --all --json | jq '[.calls[] | select(.why == "person" or .source == "net")] | length')"
}
# control NAME: with the key inside, the same searches find it.
control() {
    start_model
    git config --file "$settings" "agent.$1.key" inside
    headgate run --agent "$1" --service "$port" '@@main@@ go' >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out"; headgate logs "$(last_run).1")"
    check "$1: control: a key inside is found" sh -c "echo '$(found)' | grep -q '=[1-9]'"
    git config --file "$settings" --unset "agent.$1.key"
}
installed=

if (need_codex) >"$WORLD/why"; then
    need_codex
    export OPENAI_API_KEY=sk-real-0123456789-codex
    git config --file "$settings" agent.codex.model gpt-5.5
    script "$(search_call exec_command cmd)"
    works codex 'Bearer sk-real-0123456789-codex'
    installed="$installed codex"
else
    cat "$WORLD/why"
fi

if (need_gemini) >"$WORLD/why"; then
    need_gemini
    export GEMINI_API_KEY=AIzareal-0123456789-gemini
    git config --file "$settings" agent.gemini.model gemini-2.5-flash
    script "$(search_call run_shell_command command)"
    works gemini AIzareal-0123456789-gemini
    installed="$installed gemini"
else
    cat "$WORLD/why"
fi

# Three providers at once, each with a key of its own that no other sees.
if (need_opencode) >"$WORLD/why"; then
    need_opencode
    export OPENAI_API_KEY=sk-real-0123456789-openai ANTHROPIC_API_KEY=sk-ant-real-0123456789-anthropic \
        GEMINI_API_KEY=AIzareal-0123456789-google
    script "$(search_call bash command)"
    git config --file "$settings" agent.opencode.model openai/gpt-4.1
    works 'opencode (openai)' 'Bearer sk-real-0123456789-openai'
    git config --file "$settings" agent.opencode.model anthropic/claude-sonnet-4-5
    works 'opencode (anthropic)' sk-ant-real-0123456789-anthropic
    git config --file "$settings" agent.opencode.model google/gemini-2.5-flash
    works 'opencode (google)' AIzareal-0123456789-google
    installed="$installed opencode"
else
    cat "$WORLD/why"
fi

# The controls come last, since what is in a box is in the state folder too.
for agent in $installed; do
    case $agent in
    codex) script "$(search_call exec_command cmd)" ;;
    gemini) script "$(search_call run_shell_command command)" ;;
    opencode) script "$(search_call bash command)" ;;
    esac
    control $agent
done
[ -z "$installed" ] || check 'control: and in the state folder' grep -raq 'real-0123456789' "$XDG_STATE_HOME"
exit $FAILED
