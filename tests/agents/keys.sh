# Sourced by the black-box scripts about keys of models: the model server behind a certificate that only $WORLD/tls.pem vouches
# for, and what looks for a key in a box.
settings=$XDG_CONFIG_HOME/headgate/config
command -v socat >/dev/null || skip 'no socat'

openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost \
    -keyout "$WORLD/tls.key" -out "$WORLD/tls.pem" 2>/dev/null || die 'no certificate'
chmod 644 "$WORLD/tls.pem"

tls_listens() {
    inode=$(readlink /proc/$tls_pid/fd/* 2>/dev/null | sed -n 's/^socket:\[\([0-9]*\)\]$/\1/p' | tr '\n' '|')
    tls_port=$(awk -v all="|$inode" '$4 == "0A" && index(all, "|" $10 "|") { split($2, a, ":"); print a[2] }' /proc/net/tcp)
    [ -n "$tls_port" ] && tls_port=$((0x$tls_port))
}
# start_tls: a new model server and TLS in front of it, where agents are pointed to; its port in $tls_port.
start_tls() {
    start_model
    socat "openssl-listen:0,bind=127.0.0.1,cert=$WORLD/tls.pem,key=$WORLD/tls.key,verify=0,fork,reuseaddr" \
        "TCP:127.0.0.1:$port" 2>/dev/null &
    BACKGROUND="$BACKGROUND $!"
    tls_pid=$!
    until_true 60 tls_listens || die 'no TLS server'
    export ANTHROPIC_BASE_URL="https://localhost:$tls_port" OPENAI_BASE_URL="https://localhost:$tls_port/v1" \
        GOOGLE_GEMINI_BASE_URL="https://localhost:$tls_port"
}
keys_seen() { jq -r .key "$WORLD/model.jsonl" 2>/dev/null | sort -u; }

# What an agent's shell call tells of a key that has real-0123456789 in it: how often processes have it, how many files, and
# nothing that has it itself.
SEARCH='cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr "\0" "\n" | grep -c "real-012345678[9]" | sed s/^/found=/; grep -rl "real-012345678[9]" ~ . /tmp /etc /run 2>/dev/null | wc -l | sed s/^/found=/'
found() { jq -r '.results[]?.text' "$WORLD/model.jsonl" | grep -o 'found=[0-9]*' | head -n 2 | tr '\n' ' '; }
# search_call NAME MEMBER: a call of this tool, whose argument MEMBER is a shell command, as a turn of script.json.
search_call() {
    jq -n --arg name "$1" --arg member "$2" --arg command "$SEARCH" \
        '{calls: [{name: $name, input: {($member): $command, description: "look"}}]}'
}

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
    check "$1: control: and in the state folder" grep -raq 'real-0123456789' "$XDG_STATE_HOME"
}
