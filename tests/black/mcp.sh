#!/bin/sh
# An MCP client in a box, of both eras: every tool asks the gate, a denial is the tool's result, and waiting holds up nothing else.
. "$(dirname "$0")/../lib.sh"
command -v python3 >/dev/null || skip 'there is no python3'

make_repo "$WORLD/repo"
cd "$WORLD/repo"
mkdir "$WORLD/client"
cat >"$WORLD/client/client.py" <<'P'
import json, subprocess, sys
server = subprocess.Popen(["headgate-mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
new = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
answers = {}
def send(id, method, params=None):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}}) + "\n")
def wait(id):
    while id not in answers:
        answer = json.loads(server.stdout.readline())
        answers[answer["id"]] = answer
    return answers.pop(id)
def ask(id, method, params=None):
    send(id, method, params)
    return wait(id)
def call(id, tool, more=None, **args):
    result = ask(id, "tools/call", dict({"name": tool, "arguments": args}, **(more or {})))["result"]
    print(tool, result["isError"], result["content"][0]["text"].strip().replace("\n", "|"), result.get("resultType"), flush=True)
hello = ask(1, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}})
server.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
print("old", hello["result"]["protocolVersion"], len(ask(2, "tools/list")["result"]["tools"]), flush=True)
call("a", "write", file_path="new/file.txt", content="text\n")
call("b", "read", file_path="new/file.txt")
call("c", "shell", command="echo out; echo trouble >&2; exit 3")
call("d", "patch", patch="--- a/src/app.txt\n+++ b/src/app.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n")
send("e", "tools/call", {"name": "shell", "arguments": {"command": "touch denied.txt"}})
print("while it waits", "result" in ask("ping", "ping"), flush=True)
print("denied", wait("e")["result"], flush=True)
send("f", "tools/call", {"name": "shell", "arguments": {"command": "touch cancelled.txt"}})
call("f2", "shell", command="echo go")
server.stdin.write('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"f"}}\n')
print("new", ask(3, "server/discover", new)["result"]["supportedVersions"], ask(4, "tools/list", new)["result"]["resultType"], flush=True)
print("unknown version", ask(5, "tools/list", {"_meta": {"io.modelcontextprotocol/protocolVersion": "2031-01-01"}})["error"]["code"], flush=True)
call("g", "read", new, file_path="/nowhere")
call("h", "fetch", url="http://unlisted.example/")
call("i", "shell", command="ls", why="an argument that is not known")
print("unknown tool", ask("j", "tools/call", {"name": "rm"})["error"]["code"], flush=True)
server.stdin.write("no json\n")
print("no json", wait(None)["error"]["code"], flush=True)
server.stdin.close()
print("end", server.wait())
P
chmod -R a+rX "$WORLD/client"
headgate run --ladder confirm --ro "$WORLD/client" --detach -- python3 "$WORLD/client/client.py" >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
run=$(last_run)
asked() { headgate gate ls --json | jq -r '[.calls[] | select(.state == "pending" and .source == "mcp")][0] | .args.command // .args.file_path // .args.url // .tool'; }
is_asked() { [ "$(asked)" = "$1" ]; }
decide() { # WHAT CALL WORDS...: the call that is asked, and what to do with it
    what=$1 call=$2
    shift 2
    until_true 30 is_asked "$call" || die "$what: '$(asked)' is asked, not '$call': $(headgate logs "$run.1")"
    pass "$what"
    "$@" "$(pending)" >/dev/null
}
decide 'writing is asked' new/file.txt headgate gate approve
decide 'reading is not, a command is' 'echo out; echo trouble >&2; exit 3' headgate gate approve
decide 'a patch' patch headgate gate approve
decide 'a command' 'touch denied.txt' headgate gate deny --reason 'GATE-5: not this'
id_of() { headgate gate ls --json | jq -er --arg w "$1" '.calls[] | select(.state == "pending" and .args.command == $w) | .id'; }
until_true 30 id_of 'echo go' || die 'two calls at once do not wait side by side'
call=$(id_of 'touch cancelled.txt')
headgate gate approve "$(id_of 'echo go')" >/dev/null
is_orphaned() { [ "$(headgate gate ls --all --json | jq -r --arg c "$call" '.calls[] | select(.id == $c) | .state')" = orphaned ]; }
until_true 30 is_orphaned || fail "a call that was cancelled is not orphaned"
decide 'what is outside the worktree' /nowhere headgate gate approve
decide 'a fetch' http://unlisted.example/ headgate gate deny --reason 'GATE-6: no such host'
until_true 30 is_done "$run.1" || die "$(headgate show "$run.1")"
headgate logs "$run.1" >"$WORLD/log"
check_has 'the old handshake' '^old 2025-06-18 5$' "$WORLD/log"
check_has 'write' '^write False 5 bytes written None$' "$WORLD/log"
check_has 'read' '^read False text None$' "$WORLD/log"
check_has 'shell' '^shell True out\|trouble\|\[exit code 3\]' "$WORLD/log"
check_has 'patch' '^patch False .*Applied patch' "$WORLD/log"
check_has 'others go on while one waits' '^while it waits True' "$WORLD/log"
check_has 'a denial is the result' "denied.*GATE-5: not this.*'isError': True" "$WORLD/log"
check_has 'the new handshake' "^new \['2026-07-28'\] complete" "$WORLD/log"
check_has 'a version that nobody knows' '^unknown version -32022' "$WORLD/log"
check_has 'a file that is not there' '^read True .*No such file.* complete' "$WORLD/log"
check_has 'a denied fetch' '^fetch True denied: GATE-6' "$WORLD/log"
check_has 'an argument that is not known' "^shell True the argument 'why' is not one of shell" "$WORLD/log"
check_has 'a tool that is not there' '^unknown tool -32602' "$WORLD/log"
check_has 'no JSON' '^no json -32700' "$WORLD/log"
check_has 'it ends with its client' '^end 0' "$WORLD/log"
tip=headgate/$run/1
check_equal 'the patch' TWO "$(git show "$tip:src/app.txt" | sed -n 2p)"
for file in denied.txt cancelled.txt; do check_status 128 "$file was not made" git cat-file -e "$tip:$file"; done
# Below the top, a patch's names are of the working folder, as the gate read them, and not of the repository.
cat >"$WORLD/client/below.py" <<'P'
import json, subprocess
server = subprocess.Popen(["headgate-mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
for file in ["app.txt", "src/app.txt"]:
    patch = f"diff --git a/{file} b/{file}\n--- a/{file}\n+++ b/{file}\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
    server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "patch", "arguments": {"patch": patch}}}) + "\n")
    print(file, json.loads(server.stdout.readline())["result"]["isError"], flush=True)
P
(cd src && headgate run --ladder auto --ro "$WORLD/client" -- python3 "$WORLD/client/below.py") >"$WORLD/out" 2>&1 || fail "below: $(cat "$WORLD/out")"
headgate logs "$(last_run).1" >"$WORLD/log"
check_has 'below the top: a name of the folder' '^app.txt False' "$WORLD/log"
check_has 'below the top: a name of the repository is none' '^src/app.txt True' "$WORLD/log"
check_equal 'below the top: what was changed' 2 "$(git show "headgate/$(last_run)/1:src/app.txt" | sed -n 2p)"
check_status 2 'outside a box there is no gate' headgate mcp
exit $FAILED
