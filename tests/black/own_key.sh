#!/bin/sh
# Agents of the person's own without their keys: one whose key is known by its variable, one that says all of it.
. "$(dirname "$0")/../lib.sh"
. "$TESTS/agents/install.sh"
. "$TESTS/agents/keys.sh"
command -v curl >/dev/null || skip 'no curl'

make_repo "$WORLD/repo"
cd "$WORLD/repo"

mkdir "$WORLD/tool"
cat >"$WORLD/tool/mine" <<P
#!/bin/sh
curl -sS -o answer.txt -H "\$1\$MY_KEY\$OPENAI_API_KEY" -H 'content-type: application/json' \
    -d '{"messages":[{"role":"user","content":"@@main@@"}],"tools":[{"function":{"name":"x"}}]}' \
    "\$MY_URL\$OPENAI_BASE_URL/chat/completions" || exit
{ $SEARCH; } >found.txt
P
chmod -R a+rX "$WORLD/tool" && chmod 755 "$WORLD/tool/mine"
PATH="$WORLD/tool:$PATH"
printf '{"main": [{"text": "all done"}]}\n' >"$WORLD/script.json"
own_works() {
    git config --file "$settings" agent.mine.ca "$WORLD/tls.pem"
    headgate run --agent mine 'go' >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
    check_equal "$1: the model gets the real key" "$2" "$(keys_seen)"
    check_equal "$1: nothing in the box has it" 'found=0 found=0 ' "$(git show "headgate/$(last_run)/1:found.txt" | tr '\n' ' ')"
    check_equal "$1: the answer came" 'all done' "$(git show "headgate/$(last_run)/1:answer.txt" | jq -r '.choices[0].message.content')"
    check_has "$1: its host is not opened to the agent" 'asks for every host' "$WORLD/out"
}

export OPENAI_API_KEY=sk-real-0123456789-own
start_tls
check 'a key that is known by its variable' headgate agent add --key OPENAI_API_KEY mine -- mine 'authorization: Bearer '
own_works 'own agent' 'Bearer sk-real-0123456789-own'
unset OPENAI_API_KEY OPENAI_BASE_URL
export MY_KEY=real-0123456789-mine
start_tls
unset OPENAI_BASE_URL
check_status 2 'a key of which nothing is known' headgate agent add --key MY_KEY mine -- mine
check_has 'says what is missing' 'key-url-env' "$OUT"
check_status 2 'a server in the clear' headgate agent add --key MY_KEY --key-url http://localhost --key-url-env MY_URL mine -- mine
check_status 2 'a place without a key' headgate agent add --key-url https://localhost --key-url-env MY_URL mine -- mine
check 'a key of which all is said' headgate agent add --key MY_KEY --key-url "https://localhost:$tls_port/v7" --key-url-env MY_URL \
    --key-header 'x-api-key: Token' mine -- mine 'x-api-key: Token '
own_works 'own agent, own header' 'Token real-0123456789-mine'
first=$(last_run)

# A server that ended has forgotten the key; who resumes brings the one of today.
headgate serve --stop >/dev/null
export MY_KEY=real-0123456789-renewed
check_status 0 'resumed' headgate resume "$first.1"
until_true 60 is_done "$first.1" || die "$(headgate show "$first.1")"
check_has 'with the key of today' 'Token real-0123456789-renewed' "$WORLD/model.jsonl"
unset MY_KEY
check_status 0 'resumed without one' headgate resume "$first.1"
until_true 60 is_done "$first.1" || die "$(headgate show "$first.1")"
check_equal 'which the server still knows' 2 "$(grep -c 'Token real-0123456789-renewed' "$WORLD/model.jsonl")"
git config --file "$settings" agent.mine.keyCommand 'echo real-0123456789-asked'
own_works 'own agent, a command' "$(printf 'Token real-0123456789-%s\n' asked mine renewed)"
git config --file "$settings" --unset agent.mine.keyCommand
export MY_KEY=real-0123456789-mine
check 'nothing of Headgate has written it' sh -c "! grep -raq 'real-0123456789' '$XDG_STATE_HOME'"
headgate agent ls --json >"$WORLD/ls.json"
check_equal 'it is said how it is kept' relay "$(jq -r '.[] | select(.name == "mine") | .key' "$WORLD/ls.json")"
git config --file "$settings" agent.mine.key inside
check_equal 'and that it is passed in' 'passed in' "$(headgate agent ls --json | jq -r '.[] | select(.name == "mine") | .key')"
headgate run --agent mine --service "$tls_port" 'go' >"$WORLD/out" 2>&1 || :
check_has 'control: then its host is opened' "lists localhost:$tls_port" "$WORLD/out"
git config --file "$settings" --unset agent.mine.key
for url in https://user:word@localhost/v1 'https://[::1]/v1' ftp://localhost localhost https://localhost:99999; do
    check_status 2 "a server that is no such: $url" env MY_URL="$url" headgate run --agent mine go
done
check_has 'says which variable' 'MY_URL names no server' "$OUT"
check_status 2 'a key of two lines' env MY_KEY="$(printf 'real-0123456789\ntwo')" headgate run --agent mine go
check_has 'says which variable holds it' 'the value of MY_KEY is no key' "$OUT"
check_lacks 'and not the key' 'real-0123456789' "$OUT"
unset MY_KEY
check_equal 'and that there is none' none "$(headgate agent ls --json | jq -r '.[] | select(.name == "mine") | .key')"
git config --file "$settings" agent.mine.keyCommand 'echo real-0123456789-asked'
check_equal 'a command counts' relay "$(headgate agent ls --json | jq -r '.[] | select(.name == "mine") | .key')"
exit $FAILED
