#!/bin/sh
# The broker over https: git with what the person's credential helper answers, gh against a stand-in for GitHub's API,
# and glab, which Debian does not have, as a recorded stand-in program: that tests what it is started with, and not glab.
. "$(dirname "$0")/../lib.sh"
for program in openssl python3; do command -v $program >/dev/null || skip "$program is not installed"; done

# A name of this machine other than localhost, for which gh would use no proxy.
name= address=127.0.0.1
for candidate in ip6-localhost "$(hostname)"; do
    found=$(getent ahosts "$candidate" | awk '{ print $1; exit }')
    case $found in ::1 | 127.*) name=$candidate address=$found ;; esac
done
host=${name:-127.0.0.1}
openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=$host -addext "subjectAltName=DNS:$host,IP:127.0.0.1" \
    -keyout "$WORLD/key.pem" -out "$WORLD/ca.pem" -days 2 >/dev/null 2>&1
make_repo "$WORLD/repo"
cd "$WORLD/repo"
mkdir -p "$WORLD/srv/me" "$WORLD/bin"
git clone -q --bare "$WORLD/repo" "$WORLD/srv/me/app.git"
git -C "$WORLD/srv/me/app.git" config http.receivepack true

# git over https behind a password, and a GraphQL endpoint that knows one issue; what came is in $WORLD/api.
cat >"$WORLD/serve.py" <<'PY'
import base64, http.server, json, os, re, socket, socketserver, ssl, subprocess, sys
root, port_file, api_file, pem, key, address = sys.argv[1:7]
ISSUE = {"__typename": "Issue", "id": "I_7", "number": 7, "title": "A bug of the test", "state": "OPEN", "body": "words", "url": "https://x/7", "author": {"login": "me"},
    "labels": {"nodes": [], "totalCount": 0}, "assignees": {"nodes": [], "totalCount": 0}, "projectCards": {"nodes": [], "totalCount": 0},
    "comments": {"nodes": [], "totalCount": 0}, "reactionGroups": [], "createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:00Z"}
REPOSITORY = {"id": "R_1", "name": "app", "owner": {"login": "me"}, "defaultBranchRef": {"name": "main"}, "hasIssuesEnabled": True, "issue": ISSUE, "issueOrPullRequest": ISSUE,
    "issues": {"nodes": [ISSUE], "pageInfo": {"hasNextPage": False, "endCursor": ""}, "totalCount": 1}}
DATA = {"Issue": {"fields": []}, "PullRequest": {"fields": []}, "Repository": {"fields": []}, "repository": REPOSITORY,
    "createPullRequest": {"pullRequest": {"id": "P_9", "url": "https://x/pull/9"}}, "addComment": {"commentEdge": {"node": {"url": "https://x/7#c1"}}}, "viewer": {"login": "me"}}
def asked(value, query): # gh refuses members that it did not ask for
    if isinstance(value, dict):
        return {k: asked(v, query) for k, v in value.items() if re.search(r"\b%s\b" % k, query)}
    return [asked(v, query) for v in value] if isinstance(value, list) else value
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *words):
        pass
    def reply(self, status, headers, body):
        self.send_response(status)
        for k, v in headers:
            self.send_header(k, v)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def git(self, body):
        want = "Basic " + base64.b64encode(b"me:the-password").decode()
        if self.headers.get("Authorization") != want:
            return self.reply(401, [("WWW-Authenticate", 'Basic realm="git"')], b"")
        path, _, query = self.path.partition("?")
        env = dict(os.environ, GIT_PROJECT_ROOT=root, GIT_HTTP_EXPORT_ALL="1", PATH_INFO=path, QUERY_STRING=query,
            REQUEST_METHOD=self.command, CONTENT_TYPE=self.headers.get("Content-Type", ""), CONTENT_LENGTH=str(len(body)),
            REMOTE_USER="me", HTTP_CONTENT_ENCODING=self.headers.get("Content-Encoding", ""),
            GIT_PROTOCOL=self.headers.get("Git-Protocol", ""))
        out = subprocess.run(["git", "http-backend"], input=body, env=env, stdout=subprocess.PIPE).stdout
        head, _, rest = out.partition(b"\r\n\r\n")
        headers = [tuple(h.split(": ", 1)) for h in head.decode().split("\r\n") if ": " in h]
        status = [int(v.split()[0]) for k, v in headers if k == "Status"] or [200]
        self.reply(status[0], [h for h in headers if h[0] != "Status"], rest)
    def do(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not self.path.startswith("/api/"):
            return self.git(body)
        with open(api_file, "a") as f:
            f.write("%s %s %s %s\n" % (self.command, self.path, self.headers.get("Authorization"), body.decode()))
        answer = {"data": asked(DATA, json.loads(body)["query"])}
        self.reply(200, [("Content-Type", "application/json")], json.dumps(answer).encode())
    do_GET = do_POST = do
class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
    daemon_threads = True
server = Server((address, 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(pem, key)
server.socket = context.wrap_socket(server.socket, server_side=True)
with open(port_file + ".new", "w") as out:
    out.write(str(server.server_address[1]))
os.rename(port_file + ".new", port_file)
server.serve_forever()
PY
python3 "$WORLD/serve.py" "$WORLD/srv" "$WORLD/port" "$WORLD/api" "$WORLD/ca.pem" "$WORLD/key.pem" "$address" &
BACKGROUND="$BACKGROUND $!"
until_true 20 test -s "$WORLD/port" || die 'the server did not start'
port=$(cat "$WORLD/port")

git remote add origin "https://$host:$port/me/app.git"
printf 'https://me:the-password@%s%%3a%s\n' "$host" "$port" >"$WORLD/creds"
chmod 600 "$WORLD/creds"
git config --global "credential.helper" "store --file=$WORLD/creds"
git config --global "http.https://$host:$port/.sslCAInfo" "$WORLD/ca.pem"
printf '#!/bin/sh\nif [ "$1 $2" = "config get" ]; then echo the-lab-token; exit; fi\necho "glab got: $*"\necho "token $GITLAB_TOKEN at $GITLAB_HOST"\n' >"$WORLD/bin/glab"
chmod 755 "$WORLD/bin" "$WORLD/bin/glab"

# carry NAME SCRIPT: a run whose calls are all approved; its output is in $WORLD/NAME.
carry() {
    headgate run --detach -- sh -c "$2" >"$WORLD/$1.run" 2>&1 || die "$(cat "$WORLD/$1.run")"
    attempt=$(last_run).1
    over() { is_done "$attempt" || { headgate gate approve --all >/dev/null 2>&1; false; }; }
    until_true 60 over || fail "$1: the attempt does not end"
    headgate logs "$attempt" >"$WORLD/$1" 2>&1
}

check 'control: the person reaches it' git ls-remote origin
carry push 'git commit -q --allow-empty -m web; git push origin HEAD:web; echo "push $?"; git fetch origin; echo "fetch $?"
git log -1 --format=%s origin/web; env; cat /proc/*/environ 2>/dev/null | tr "\0" "\n"'
check_has 'git pushes over https' '^push 0$' "$WORLD/push"
check_has 'and fetches' '^fetch 0$' "$WORLD/push"
check_equal 'the remote has it' web "$(git -C "$WORLD/srv/me/app.git" log -1 --format=%s web)"
check_lacks 'the password is not in the box' 'the-password' "$WORLD/push"

mv "$WORLD/creds" "$WORLD/creds.away"
carry none 'git commit -q --allow-empty -m x; git push origin HEAD:none; echo "push $?"'
mv "$WORLD/creds.away" "$WORLD/creds"
check_lacks 'without a credential nothing is pushed' '^push 0$' "$WORLD/none"
check_has 'and git says why' 'could not read Username|Authentication failed' "$WORLD/none"

if command -v gh >/dev/null && [ "$name" ]; then
    export GH_ENTERPRISE_TOKEN=the-hub-token SSL_CERT_FILE="$WORLD/ca.pem"
    carry hub 'gh issue list; echo "list $?"; echo "several words" >body; gh issue comment 7 --body-file body; echo "comment $?"
git commit -q --allow-empty -m x; git push -q -u origin HEAD:proposal; gh pr create --title T --body B --draft; echo "create $?"
gh issue list --json title --jq ".[].title"; gh issue list --json title --jq env; gh issue view 7 --json title -q "\$ENV"
gh api user; gh issue list --web; gh issue list -R other/app; env | grep -i token; /usr/bin/gh issue list; echo "direct $?"'
    check_has 'gh lists issues' 'A bug of the test' "$WORLD/hub"
    check_has 'with its exit code' '^list 0$' "$WORLD/hub"
    check_has 'and comments' '^https://x/7#c1$' "$WORLD/hub"
    check_has 'the text was in a file of the box' 'several words' "$WORLD/api"
    check_has 'a pull request is made' '^https://x/pull/9$' "$WORLD/hub"
    check_has 'of the branch that was pushed' 'CreatePullRequestInput.*"headRefName":"proposal"' "$WORLD/api"
    check_has 'with the login of the person' ' token the-hub-token ' "$WORLD/api"
    check_lacks 'which is not in the box' 'the-hub-token' "$WORLD/hub"
    check_has 'other commands are not carried out' 'gh api user is not carried out' "$WORLD/hub"
    check_has 'nor other options' '--web is not carried out' "$WORLD/hub"
    check_has 'a filter is applied' '^A bug of the test$' "$WORLD/hub"
    check_equal 'but not one that reads the environment' 2 "$(grep -c 'it could print the login' "$WORLD/hub")"
    check_has 'nor other repositories' "no remote of the person's repository is 'other/app'" "$WORLD/hub"
    check_has 'the real gh has no login' '^direct [1-9]' "$WORLD/hub"
else
    echo 'not tested: gh (not installed, or no second name of the loopback address)'
fi

PATH="$WORLD/bin:$PATH"
carry lab 'glab mr list --author me; glab mr create --title T --description D; glab ci trace; env | grep -i token'
check_has 'glab is started with the words' '^glab got: mr list --author=me --repo=https://' "$WORLD/lab"
check_has 'and the branch of the box' 'glab got: mr create .*--source-branch=headgate/[0-9]+/1 --repo=' "$WORLD/lab"
check_has 'and the login of its own configuration' "^token the-lab-token at $host:$port\$" "$WORLD/lab"
check_has 'other commands are not carried out' 'glab ci trace is not carried out' "$WORLD/lab"

headgate gate log --export "$WORLD/export" "$(last_run)" >/dev/null
for secret in the-password the-hub-token the-lab-token; do
    check_equal "no $secret in the log" '' "$(grep -laF $secret "$WORLD/export" "$XDG_STATE_HOME"/headgate/*/server.log || :)"
done
check_equal 'no password in what Headgate keeps' '' "$(grep -rlaF the-password "$XDG_STATE_HOME" "$XDG_RUNTIME_DIR" 2>/dev/null || :)"
check_equal 'control: it is where the person has it' "$WORLD/creds" "$(grep -laF the-password "$WORLD/creds")"
exit 0
