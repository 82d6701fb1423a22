#!/bin/sh
# Stands in for an agent's own program: asks its model again and again until $CLIENT_FLAGS/stop is there, with what its environment
# says. A line for each answer with its HTTP status, and with the text of one that is a refusal. Before, it asks once for each path
# of $CLIENT_ASKS; its last act is to look for what no box may hold.
url=${ANTHROPIC_BASE_URL:-$OPENAI_BASE_URL}
token=${CLAUDE_CODE_OAUTH_TOKEN:-$OPENAI_API_KEY}
ask() {
    curl -sS -o "$HOME/answer" -w '%{http_code}' --noproxy '*' --max-time 150 -H "authorization: Bearer $token" \
        -H 'content-type: application/json' "$@"
}
body='{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hello"}]}'
# As the hook of a real one does at its start; until then no model is reached.
python3 -c 'import os, socket
gate = socket.socket(socket.AF_UNIX)
gate.connect(os.environ["HEADGATE_GATE"])
gate.sendall(b"{\"v\":1,\"hello\":true}\n")
gate.recv(4096)'
for path in $CLIENT_ASKS; do echo "asked $path $(ask --path-as-is "$url$path")"; done
until [ -e "$CLIENT_FLAGS/stop" ]; do
    status=$(ask --data-binary "$body" "$url${CLIENT_PATH:-/v1/messages}")
    echo "answer $status"
    [ "$status" = 200 ] || echo "refusal $(head -c 500 "$HOME/answer" | tr '\n' ' ')"
    sleep 0.1
done
n=$({
    cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\0' '\n'
    grep -rh 'secre[t]-[0-9]' "$HOME" /tmp /etc /run . 2>/dev/null
} | grep -c 'secre[t]-[0-9]')
# The control: the same way finds what the agent does hold.
seen=$(cat /proc/*/environ 2>/dev/null | tr '\0' '\n' | grep -c 'headgate-placeholde[r]')
echo "found $n$([ "$seen" -gt 0 ] && echo ' seen')"
