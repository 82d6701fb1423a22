#!/bin/sh
# Eight agents work on one login of the person's: its tokens end in the middle, the person's own program renews it as well, the
# server dies, and nobody is logged out. Its refresh token is nowhere but in its file.
. "$(dirname "$0")/../lib.sh"
. "$TESTS/agents/install.sh"
. "$TESTS/agents/issuer.sh"

settings=$XDG_CONFIG_HOME/headgate/config
FILE=$HOME/.claude/.credentials.json
make_certificate
make_repo "$WORLD/repo"
cd "$WORLD/repo"
mkdir -p "$WORLD/fake" "$WORLD/flags"
cp "$TESTS/fake/model_client.sh" "$WORLD/fake/claude"
chmod 755 "$WORLD/fake" "$WORLD/fake/claude"
FAKE_PATH=$WORLD/fake:$PATH
has_claude=
(need_claude) >"$WORLD/why" && has_claude=1 || cat "$WORLD/why"
[ -z "$has_claude" ] || need_claude
export ANTHROPIC_API_KEY=sk-ant-secret-0-of-the-shell

# point: the login is renewed and used at $ISSUER.
point() {
    git config --file "$settings" agent.claude.loginUrl "$ISSUER"
    git config --file "$settings" agent.claude.issuer "$ISSUER/v1/oauth/token"
    git config --file "$settings" agent.claude.ca "$WORLD/tls.pem"
}
# said ATTEMPT WORD: what follows this word in the lines of the attempt's output.
said() { sed -n "s/^$2 //p" "$XDG_STATE_HOME"/headgate/*/attempts/"$1"/log 2>/dev/null | tr -d '\r'; }
has_answers() { [ "$(said "$1" answer | wc -l)" -ge "$2" ]; }
# fakes N: start so many stand-ins in one run, its number in $fakes, and wait until all ask.
fakes() {
    rm -f "$WORLD/flags/stop"
    PATH=$FAKE_PATH headgate run --agent claude --no-canary -n "$1" -j "$1" --detach --ro "$WORLD/flags" --env CLIENT_FLAGS="$WORLD/flags" \
        --env CLIENT_ASKS="$CLIENT_ASKS" --ladder auto go >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
    fakes=$(last_run)
    n_fakes=$1
    for i in $(seq "$1"); do
        until_true 120 has_answers "$fakes.$i" 3 || die "$fakes.$i asks nothing: $(headgate logs "$fakes.$i"; headgate show "$fakes.$i")"
    done
}
# more N: each stand-in got N answers more.
more() {
    for i in $(seq "$n_fakes"); do
        now=$(said "$fakes.$i" answer | wc -l)
        until_true 60 has_answers "$fakes.$i" $((now + $1)) || die "$fakes.$i asks no more: $(headgate show "$fakes.$i")"
    done
}
# end_fakes: they end; what they said stays in $WORLD/answers and $WORLD/found.
end_fakes() {
    touch "$WORLD/flags/stop"
    : >"$WORLD/answers" >"$WORLD/found"
    for i in $(seq "$n_fakes"); do
        until_true 120 is_done "$fakes.$i" || die "$fakes.$i does not end"
        said "$fakes.$i" answer >>"$WORLD/answers"
        said "$fakes.$i" found >>"$WORLD/found"
    done
}
CLIENT_ASKS='/v1/messages/../oauth/token /api/oauth/claude_cli/create_api_key /v1/models'

cat >"$WORLD/script.json" <<S
{"main": [
  {"calls": [{"name": "Bash", "input": {"command": "until [ -e $WORLD/flags/go ]; do sleep 0.1; done", "description": "wait"}}]},
  {"calls": [{"name": "Bash", "input": {"command": "echo done >done.txt && git add done.txt && git commit -q -m Done", "description": "work"}}]},
  {"text": "all done"}]}
S
start_model
start_issuer claude 3600 "$port"
new_login "$FILE"
point

# Without a word of the person's nothing is used.
check_status 2 'a login that is not there is told with the command that makes one' env HOME="$WORLD" PATH="$FAKE_PATH" \
    XDG_CONFIG_HOME="$XDG_CONFIG_HOME" headgate run --agent claude --login go
check_has 'which' 'log in with .claude auth login.' "$OUT"
check_status 2 'logins of other agents are not known' headgate run --login -- true
git config --file "$settings" agent.claude.login '~/.claude/.credentials.json'

if [ -n "$has_claude" ]; then
    check_status 0 'how it is kept' headgate agent check claude
    check_has 'is told' 'key:.*credentials.json stays outside of the box; Headgate renews it .*good for' "$OUT"
    chmod 644 "$FILE"
    check_status 0 'a file that others can read' headgate agent check claude
    check_has 'is told too' 'key:.*chmod 600' "$OUT"
    chmod 600 "$FILE"
fi

# ---- eight at once, all tokens end at one moment ----
if [ -n "$has_claude" ]; then
    headgate run --agent claude --ro "$WORLD/flags" --detach '@@main@@ go' >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
    real=$(last_run)
fi
fakes 7
if [ -n "$has_claude" ]; then
    until_true 120 grep -q '"conversation": "main"' "$WORLD/model.jsonl" || die "Claude Code does not begin: $(headgate logs "$real.1")"
fi
check_equal 'nobody renewed a token that is good' 0 "$(events renew)"
issuer 'slow?0.5' >/dev/null
issuer expire >/dev/null
more 5
if [ -n "$has_claude" ]; then
    touch "$WORLD/flags/go"
    until_true 120 is_done "$real.1" || die "Claude Code does not end: $(headgate logs "$real.1")"
    check_equal 'Claude Code did its work' done "$(git show "headgate/$real/1:done.txt")"
fi
check_equal 'eight met an end: one renewal' 1 "$(events renew)"
end_fakes
check_equal 'every request was answered' 200 "$(sort -u "$WORLD/answers" | tr '\n' ' ' | tr -d ' ')"
check_equal 'no token in any box, where the same search finds what is' '0 seen' "$(sort -u "$WORLD/found")"
check_equal 'a model was asked, and nothing else with the login' '/v1/models 200' \
    "$(said "$fakes.1" asked | grep 200)"
check_equal 'the others were refused' 2 "$(said "$fakes.1" asked | grep -c '40[03]$')"
check_equal 'and never got out' 0 "$(jq -r 'select(.event == "call") | .path' "$WORLD/issuer.jsonl" | grep -c oauth)"
check_equal 'a key of the shell is not used beside it' null "$(jq -r 'select(.event == "call") | .key' "$WORLD/issuer.jsonl" | sort -u)"
[ -z "$has_claude" ] || check 'Claude Code says itself that it is a login' \
    sh -c "jq -r 'select(.event == \"call\") | .beta' '$WORLD/issuer.jsonl' | grep -q true"

# ---- tokens that live for seconds, and the person's own program beside ----
CLIENT_ASKS=
start_issuer claude 6 "$port"
new_login "$FILE"
point
python3 "$TESTS/agents/login_lock.py" "$FILE" "$ISSUER/v1/oauth/token" "$WORLD/tls.pem" 3 >"$WORLD/own" 2>&1 &
own=$!
fakes 4
wait $own && pass 'the person'\''s program renewed as well' || fail "$(cat "$WORLD/own")"
three_more() { [ "$(events renew)" -ge 6 ]; }
until_true 60 three_more || die 'nothing is renewed'
more 3
end_fakes
check_equal 'every request was answered, whatever ended meanwhile' 200 "$(sort -u "$WORLD/answers" | tr '\n' ' ' | tr -d ' ')"
check_equal 'no refresh token came twice' 0 "$(($(events reuse) + $(events unknown)))"
last=$(jq -r 'select(.event == "renew") | .token' "$WORLD/issuer.jsonl" | sort | uniq -d | wc -l)
check_equal 'each was used once' 0 "$last"

# ---- the server dies ----
start_issuer claude 3600 "$port"
new_login "$FILE"
point
fakes 1
kill -9 "$(server_pid)"
issuer expire >/dev/null
expired_seen() { [ "$(jq -r 'select(.event == "call") | .status' "$WORLD/issuer.jsonl" | grep -c 401)" -ge 1 ]; }
until_true 60 expired_seen || die 'nobody asked'
check_equal 'nobody renews without a server' 0 "$(events renew)"
headgate ls >/dev/null
more 3
end_fakes
check_equal 'the next server renews, and no request was lost' 200 "$(sort -u "$WORLD/answers" | tr -d '\n')"
check_equal 'once' 1 "$(events renew)"

# ---- the person logs in anew, and an attempt that ended goes on ----
fakes 1
new_login "$FILE"
more 3
end_fakes
check_equal 'a new login is taken up, though tokens of before are refused in other words' 200 "$(sort -u "$WORLD/answers" | tr -d '\n')"
check 'which they were' sh -c "jq -r 'select(.event == \"call\") | .status' '$WORLD/issuer.jsonl' | grep -q 403"
check_equal 'without a renewal' 1 "$(events renew)"
rm -f "$WORLD/flags/stop"
had=$(said "$fakes.1" answer | wc -l)
PATH=$FAKE_PATH headgate resume "$fakes.1" >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
until_true 60 has_answers "$fakes.1" $((had + 3)) || die "no answers: $(headgate show "$fakes.1")"
end_fakes
check_equal 'resumed, it works on the login still' 200 "$(sort -u "$WORLD/answers" | tr -d '\n')"
check_equal 'without a key of the shell that resumed it' null "$(jq -r 'select(.event == "call") | .key' "$WORLD/issuer.jsonl" | sort -u)"

# ---- the login ends ----
fakes 2
before=$(sha256sum "$FILE")
issuer revoke >/dev/null
has_note() { headgate show "$1" | grep -q 'log in again with .claude auth login.'; }
for i in 1 2; do
    until_true 60 has_note "$fakes.$i" && pass "the person is told, of $fakes.$i" || fail "$(headgate show "$fakes.$i")"
done
check_equal 'its file is as it was' "$before" "$(sha256sum "$FILE")"
check_equal 'the issuer was asked once' 1 "$(events unknown)"
was_told() { said "$1" refusal | grep -q 'log in again with'; }
until_true 60 was_told "$fakes.1" && pass 'the agent is told as well' || fail "told: $(said "$fakes.1" refusal | head -n 3)"
if [ -n "$has_claude" ]; then
    rm -f "$WORLD/flags/go"
    headgate run --agent claude --ro "$WORLD/flags" '@@main@@ go' >"$WORLD/out" 2>&1 && fail 'it works without a login' || pass 'Claude Code gives up'
    check 'and says why' sh -c "headgate logs '$(last_run).1' | grep -q 'log in again with'"
fi
new_login "$FILE"
# A stand-in asks again within the second in which the end of the login is not asked about anew.
goes_on() { [ "$(said "$1" answer | tail -n 1)" = 200 ]; }
for i in 1 2; do
    check "logged in again, $fakes.$i goes on" until_true 60 goes_on "$fakes.$i"
done
end_fakes

# ---- a token that lives for a year is a key ----
if [ -n "$has_claude" ]; then
    git config --file "$settings" --unset agent.claude.login
    git config --file "$settings" agent.claude.keyEnv CLAUDE_CODE_OAUTH_TOKEN
    git config --file "$settings" agent.claude.keyCommand "jq -r .claudeAiOauth.accessToken '$FILE'"
    start_issuer claude 3600 "$port"
    new_login "$FILE"
    touch "$WORLD/flags/go"
    (unset ANTHROPIC_API_KEY && export ANTHROPIC_BASE_URL="$ISSUER" &&
        headgate run --agent claude --ro "$WORLD/flags" '@@main@@ go' >"$WORLD/out" 2>&1) || die "$(cat "$WORLD/out")"
    check_equal 'a setup-token works, with the header that it needs' 'true 200' \
        "$(jq -r 'select(.event == "call" and (.path | startswith("/v1/messages"))) | "\(.beta) \(.status)"' "$WORLD/issuer.jsonl" | sort -u)"
fi

# ---- nowhere ----
check 'control: the file of the login has its token' grep -rqa 'rt-secret-[0-9]' "$HOME/.claude"
check 'the state folder has none' sh -c "! grep -rqa 'rt-secret-[0-9]' '$XDG_STATE_HOME' '$XDG_RUNTIME_DIR' '$XDG_CONFIG_HOME' '$WORLD/repo'"
check 'nor an access token' sh -c "! grep -rqa 'at-secret-[0-9]' '$XDG_STATE_HOME' '$XDG_RUNTIME_DIR' '$XDG_CONFIG_HOME' '$WORLD/repo'"
check_equal 'no lock is left' 0 "$(find "$HOME" -name '*.lock' | wc -l)"
exit $FAILED
