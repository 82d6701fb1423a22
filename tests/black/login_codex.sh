#!/bin/sh
# The real Codex works on the person's ChatGPT login, whose tokens end in the middle, and the person's own Codex renews it as well.
. "$(dirname "$0")/../lib.sh"
. "$TESTS/agents/install.sh"
. "$TESTS/agents/issuer.sh"

need_codex
settings=$XDG_CONFIG_HOME/headgate/config
FILE=$HOME/.codex/auth.json
make_certificate
make_repo "$WORLD/repo"
cd "$WORLD/repo"
mkdir -p "$WORLD/flags"
cat >"$WORLD/script.json" <<S
{"main": [
  {"calls": [{"name": "exec_command", "input": {"cmd": "until [ -e $WORLD/flags/go ]; do sleep 0.1; done", "yield_time_ms": 30000}}]},
  {"calls": [{"name": "exec_command", "input": {"cmd": "cat /proc/*/environ 2>/dev/null | tr '\\\\0' '\\\\n' | grep -c 'secre[t]-[0-9]' | sed s/^/found=/; grep -rl 'secre[t]-[0-9]' ~ /tmp /etc /run . 2>/dev/null | wc -l | sed s/^/found=/; cat /proc/*/environ 2>/dev/null | tr '\\\\0' '\\\\n' | grep -q 'headgate-placeholde[r]' && echo seen"}}]},
  {"calls": [{"name": "exec_command", "input": {"cmd": "echo done >done.txt && git add done.txt && git commit -q -m Done"}}]},
  {"text": "all done"}]}
S
start_model
export OPENAI_API_KEY=sk-secret-0-of-the-shell
start_issuer codex 3600 "$port"
new_login "$FILE"
git config --file "$settings" agent.codex.model gpt-5.5
git config --file "$settings" agent.codex.login true
git config --file "$settings" agent.codex.loginUrl "$ISSUER/backend-api/codex"
git config --file "$settings" agent.codex.issuer "$ISSUER/oauth/token"
git config --file "$settings" agent.codex.ca "$WORLD/tls.pem"
calls() { jq -r "select(.event == \"call\") | $1" "$WORLD/issuer.jsonl"; }

# own_codex WORDS: the person's own Codex, on the same login, in place of this shell.
own_codex() {
    exec env -u OPENAI_API_KEY -u OPENAI_BASE_URL CODEX_REFRESH_TOKEN_URL_OVERRIDE="$PLAIN_ISSUER/oauth/token" timeout 60 codex \
        -c chatgpt_base_url="$PLAIN_ISSUER/backend-api" -c openai_base_url="$PLAIN_ISSUER/backend-api/codex" "$@" </dev/null
}
check 'the person is logged in' sh -c "codex login status 2>&1 | grep -q ChatGPT"

headgate run --agent codex -n 3 -j 3 --ro "$WORLD/flags" --detach '@@main@@ go' >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
run=$(last_run)
all_began() { [ "$(jq -r 'select(.conversation == "main" and .turn == 0) | .turn' "$WORLD/model.jsonl" 2>/dev/null | wc -l)" -ge 3 ]; }
until_true 120 all_began || die "Codex does not begin: $(headgate logs "$run.1")"
check_equal 'nobody renewed a token that is good' 0 "$(events renew)"
issuer 'slow?0.5' >/dev/null
issuer expire >/dev/null
touch "$WORLD/flags/go"
for i in 1 2 3; do
    until_true 120 is_done "$run.$i" || die "$run.$i does not end: $(headgate logs "$run.$i")"
    check_equal "$run.$i did its work" done "$(git show "headgate/$run/$i:done.txt")"
done
check_equal 'three met an end: one renewal' 1 "$(events renew)"
check_equal 'each request says whose login it is' acc-test "$(calls .account | sort -u)"
check_equal 'and no key of the shell' null "$(calls .key | sort -u)"
check_equal 'the model alone was asked' '/backend-api/codex/responses' "$(calls .path | sed 's/[?].*//' | grep -v '/models$' | sort -u)"
check_equal 'no token in any box, where the same search finds what is' 3 \
    "$(jq -r 'select(.turn == 2) | .results[]?.text' "$WORLD/model.jsonl" | tr '\n' ' ' | grep -o 'found=0 found=0 seen' | wc -l)"
check 'Codex reads what was renewed' sh -c "codex login status 2>&1 | grep -q ChatGPT"

# The person's own Codex finds its token refused and renews, with what Headgate left there; Headgate goes on with what that left.
issuer expire >/dev/null
own_codex exec --skip-git-repo-check --disable plugins 'hello' >"$WORLD/own" 2>&1 &
own=$!
own_renewed() { [ "$(events renew)" -ge 2 ]; }
until_true 30 own_renewed && pass 'the own Codex renewed it with the token that Headgate left' || fail "$(cat "$WORLD/own")"
is_settled() { jq -e . "$FILE" >/dev/null && ! grep -q 'rt-secret-2-' "$FILE"; }
until_true 30 is_settled || fail 'it did not write what it renewed'
kill "$own" 2>/dev/null || :
wait "$own" || :
headgate run --agent codex --ro "$WORLD/flags" '@@main@@ go' >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out"; headgate logs "$(last_run).1")"
check_equal 'and Headgate goes on with its' done "$(git show "headgate/$(last_run)/1:done.txt")"
check_equal 'no refresh token came twice' 0 "$(($(events reuse) + $(events unknown)))"

# The login ends.
before=$(sha256sum "$FILE")
issuer revoke >/dev/null
headgate run --agent codex --ro "$WORLD/flags" '@@main@@ go' >"$WORLD/out" 2>&1 && fail 'it works without a login' || pass 'Codex gives up'
check 'the person is told' sh -c "headgate show '$(last_run).1' | grep -q 'log in again with .codex login.'"
check 'by the agent too' sh -c "headgate logs '$(last_run).1' | grep -q 'log in again with'"
check_equal 'the file is as it was' "$before" "$(sha256sum "$FILE")"

check 'control: the file of the login has its token' grep -rqa 'rt-secret-[0-9]' "$HOME/.codex"
check 'the state folder has none' sh -c "! grep -rqa '[ra]t-secret-[0-9]' '$XDG_STATE_HOME' '$XDG_RUNTIME_DIR' '$XDG_CONFIG_HOME' '$WORLD/repo'"
exit $FAILED
