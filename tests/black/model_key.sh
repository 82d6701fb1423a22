#!/bin/sh
# The key of a model stays outside of the box: the real Claude Code against a model server behind TLS, a key in the person's
# environment, a placeholder in the agent's.
. "$(dirname "$0")/../lib.sh"
. "$TESTS/agents/install.sh"
. "$TESTS/agents/keys.sh"

need_claude

KEY=sk-ant-real-0123456789-abcdefghij
make_repo "$WORLD/repo"
cd "$WORLD/repo"

cat >"$WORLD/script.json" <<S
{"main": [
  $(search_call Bash command),
  {"calls": [{"name": "Bash", "input": {"command": "echo done >done.txt && git add -A && git commit -q -m Done", "description": "work"}}]},
  {"text": "all done"}]}
S
export ANTHROPIC_API_KEY=$KEY
git config --file "$XDG_CONFIG_HOME/headgate/config" agent.claude.ca "$WORLD/tls.pem"
start_tls
headgate run --agent claude '@@main@@ go' >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out"; headgate logs "$(last_run).1")"
run=$(last_run)
check_equal 'the agent did its work' done "$(git show "headgate/$run/1:done.txt")"
check_equal 'the model got the real key each time' "$KEY" "$(keys_seen)"
check_equal 'nothing in the box has it' 'found=0 found=0 ' "$(found)"
check 'nothing of Headgate has written it' sh -c "! grep -raq 'real-0123456789' '$XDG_STATE_HOME'"
check_has 'its host is not opened to the agent' 'asks for every host' "$WORLD/out"
check_equal 'no card was raised' 0 "$(headgate gate ls --all --json | jq --arg a "$run.1" '[.calls[] | select(.attempt == $a and .why == "person")] | length')"

# A key that only a command of the person knows, and one that a hosting service's token is: neither is written.
ANTHROPIC_API_KEY=
unset ANTHROPIC_API_KEY
git config --file "$XDG_CONFIG_HOME/headgate/config" agent.claude.keyCommand "printf '%s\\n' $KEY"
start_tls
GH_TOKEN=gh-real-0123456789 headgate run --agent claude '@@main@@ go' >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out"; headgate logs "$(last_run).1")"
check_equal 'a key of a command' "$KEY" "$(keys_seen)"
check 'is not written either' sh -c "! grep -raq 'real-0123456789' '$XDG_STATE_HOME'"
git config --file "$XDG_CONFIG_HOME/headgate/config" agent.claude.keyCommand 'exit 3'
check_status 2 'a command without a key starts nothing' headgate run --agent claude '@@main@@ go'
check_has 'and says which' 'agent.claude.keyCommand' "$OUT"
git config --file "$XDG_CONFIG_HOME/headgate/config" --unset agent.claude.keyCommand
export ANTHROPIC_API_KEY=$KEY

# The control: a key that the person wants inside is found by the same search.
git config --file "$XDG_CONFIG_HOME/headgate/config" agent.claude.key inside
start_model
headgate run --agent claude --service "$port" '@@main@@ go' >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
check 'control: a key inside is found' sh -c "echo '$(found)' | grep -q '=[1-9]'"
git config --file "$XDG_CONFIG_HOME/headgate/config" --unset agent.claude.key

# Who cannot prove the name gets no key.
git config --file "$XDG_CONFIG_HOME/headgate/config" --unset agent.claude.ca
start_tls
headgate run --agent claude --detach '@@main@@ go' >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
run=$(last_run)
says_why() { headgate logs "$run.1" | grep -q 'could not prove'; }
until_true 60 says_why && pass 'the agent is told why its model is not reached' || fail "no reason in: $(headgate logs "$run.1")"
headgate stop "$run.1" >/dev/null
check_equal 'a server that cannot prove its name hears nothing' '' "$(keys_seen)"

# A server of Headgate's that dies takes the key along for what has not started, and says how to go on.
git config --file "$XDG_CONFIG_HOME/headgate/config" agent.claude.ca "$WORLD/tls.pem"
start_tls
headgate run --agent claude -j 1 --ladder confirm --detach -p '@@main@@ go' -p '@@main@@ go' >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
run=$(last_run)
until_true 60 has_pending || die 'no call came'
kill -9 "$(server_pid)"
while ! is_done "$run.1"; do
    until_true 60 sh -c "[ \"\$(headgate show $run.1 --json | jq -r '.attempts[0].state')\" = done ] || headgate gate ls --json | jq -e '[.calls[] | select(.state == \"pending\")] | length > 0' >/dev/null" ||
        die 'it hangs'
    for call in $(pending); do headgate gate approve "$call" >/dev/null; done
done
check_equal 'what runs goes on, with its key' ok "$(outcome_of "$run.1")"
until_true 60 is_done "$run.2" || die "$run.2 does not end"
check_equal 'what had not started cannot' failed "$(outcome_of "$run.2")"
check 'and says what to do' sh -c "headgate show $run.2 | grep -q 'headgate resume $run.2'"
check_status 0 'resumed from a shell that has the key' headgate resume "$run.2"
until_true 60 has_pending && pass 'it works on' || fail "resumed: $(headgate show "$run.2")"
headgate stop "$run.2" >/dev/null
