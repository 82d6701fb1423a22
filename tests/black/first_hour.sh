#!/bin/sh
# A person's first hour: toolchains in the home, a monorepo, a database port, an ssh remote, an agent. Ordinary work must run
# and raise no card; the number of cards is reported.
. "$(dirname "$0")/../lib.sh"
. "$TESTS/agents/install.sh"

# Toolchains below the home, as nvm, pyenv, cargo and pip --user leave them: through symlinks and shims in PATH.
mkdir -p "$HOME/.nvm/versions/node/v20.0.0/bin" "$HOME/.cargo/bin" "$HOME/.rustup/toolchains/stable/bin" "$HOME/.pyenv/shims" "$HOME/.local/bin" "$HOME/.local/share/tool/bin" "$HOME/.ssh"
printf '#!/bin/sh\necho node v20.0.0\n' >"$HOME/.nvm/versions/node/v20.0.0/bin/node"
printf '#!/bin/sh\necho rustc from "$(dirname "$(readlink -f "$0")")"\n' >"$HOME/.rustup/toolchains/stable/bin/rustc"
ln -s "$HOME/.rustup/toolchains/stable/bin/rustc" "$HOME/.cargo/bin/rustc"
printf '#!/bin/sh\nexec python3 "$@"\n' >"$HOME/.pyenv/shims/python"
printf '#!/bin/sh\necho tool ran\n' >"$HOME/.local/share/tool/bin/tool"
ln -s ../share/tool/bin/tool "$HOME/.local/bin/tool"
printf 'token = secret-token\n' >"$HOME/.cargo/credentials.toml"
printf 'PRIVATE KEY\n' >"$HOME/.ssh/id_ed25519"
chmod +x "$HOME"/.nvm/versions/node/v20.0.0/bin/node "$HOME"/.rustup/toolchains/stable/bin/rustc "$HOME/.pyenv/shims/python" "$HOME/.local/share/tool/bin/tool"
export PATH="$HOME/.nvm/versions/node/v20.0.0/bin:$HOME/.cargo/bin:$HOME/.pyenv/shims:$HOME/.local/bin:$PATH"

# A monorepo with an ssh remote whose key is the person's.
git init -q "$WORLD/mono"
cd "$WORLD/mono"
for p in api web lib; do
    mkdir -p "packages/$p/src"
    for i in $(seq 60); do printf 'int %s_%s(void) { return %s; }\n' "$p" "$i" "$i" >"packages/$p/src/$i.c"; done
done
cat >Makefile <<'M'
SRC := $(wildcard packages/*/src/*.c)
OBJ := $(SRC:.c=.o)
all: app
%.o: %.c
	@cc -c -o $@ $<
app: $(OBJ) main.o
	@cc -o $@ $^
test: app
	./app
M
printf 'int api_7(void); int main(void) { return api_7() == 7 ? 0 : 1; }\n' >main.c
printf '*.o\napp\n' >.gitignore
git add -A && git commit -q -m 'Monorepo'
git remote add origin ssh://git@127.0.0.1:2222/mono.git

# A database on the person's loopback.
python3 - "$WORLD/db.port" <<'P' &
import socket, sys
server = socket.create_server(("127.0.0.1", 0))
open(sys.argv[1] + ".tmp", "w").write(str(server.getsockname()[1]))
import os; os.rename(sys.argv[1] + ".tmp", sys.argv[1])
while True:
    peer, _ = server.accept()
    peer.sendall(b"database says hello\n")
    peer.close()
P
BACKGROUND="$BACKGROUND $!"
until_true 10 test -f "$WORLD/db.port" || die 'no database'
db=$(cat "$WORLD/db.port")

cat >"$WORLD/work.sh" <<'W'
set -eu
cd packages/lib && cd ../..
node && rustc && python -c 'import multiprocessing as m; p = m.Pool(2); print(p.map(abs, [-1, -2]))' && tool
make -j2 all && make test && echo build and test passed
sed -i 's/return 1;/return 1 + 0;/' packages/api/src/1.c
python3 -c 'import socket, sys; print(socket.create_connection(("127.0.0.1", int(sys.argv[1]))).recv(99))' "$1"
python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); c = socket.create_connection(s.getsockname()); s.accept(); print("own server and client")'
script -qec 'tty' /dev/null | grep /dev/pts
mkdir -p "$HOME/.cache/x" && echo cached >"$HOME/.cache/x/y"
echo tmp >"$TMPDIR/t" && test -w /dev/null && head -c 4 /dev/urandom | wc -c
git add -A && git commit -q -m 'Work of the first hour' && git log --oneline | head -n 2
for secret in "$HOME/.ssh/id_ed25519" "$HOME/.cargo/credentials.toml"; do
    if grep -q . "$secret" 2>/dev/null; then echo "VISIBLE: $secret"; exit 1; fi
done
if timeout 2 python3 -c 'import socket; socket.create_connection(("127.0.0.1", 22), 1)' 2>/dev/null; then echo 'HOST REACHED'; exit 1; fi
W
headgate run --service "$db" --ro "$WORLD/work.sh" -- sh "$WORLD/work.sh" "$db" >"$WORLD/out" 2>&1 || {
    cat "$WORLD/out"
    headgate logs "$(last_run).1"
    die 'ordinary work does not run in a box'
}
run=$(last_run)
headgate logs "$run.1" >"$WORLD/log"
for line in 'node v20' 'rustc from' 'tool ran' 'build and test passed' 'database says hello' 'own server and client' '/dev/pts'; do
    check_has "$line" "$line" "$WORLD/log"
done
check 'the commit came home' sh -c "git log --format=%s -1 headgate/$run/1 | grep -q 'first hour'"

# An agent that gates what it does, on the default rung.
headgate run --ro "$TESTS/fake" -p 'shell ls
edit packages/lib/src/2.c int lib_2(void) { return 2; }
shell make -j2 all
shell make test
shell git add -A && git commit -q -m Edit
as s1 tester shell make test' -- "$TESTS/fake/agent.sh" >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out"; headgate logs "$(last_run).1")"
run=$(last_run)

# A real one, where it can be had: Claude Code against a scripted model.
if (need_claude) >/dev/null 2>&1; then
    need_claude
    cat >"$WORLD/script.json" <<'S'
{"main": [
  {"calls": [{"name": "Bash", "input": {"command": "ls packages && git log --oneline | head -3", "description": "look"}}]},
  {"calls": [{"name": "Read", "input": {"file_path": "{{CWD}}/packages/web/src/3.c"}}]},
  {"calls": [{"name": "Edit", "input": {"file_path": "{{CWD}}/packages/web/src/3.c", "old_string": "return 3;", "new_string": "return 1 + 2;"}}]},
  {"calls": [{"name": "Agent", "input": {"description": "test", "prompt": "@@sub@@ test it", "subagent_type": "general-purpose", "run_in_background": false}}]},
  {"calls": [{"name": "Bash", "input": {"command": "git add -A && git commit -q -m 'Real work'", "description": "commit"}}]},
  {"text": "done"}],
 "sub": [{"calls": [{"name": "Bash", "input": {"command": "make -j2 all && make test", "description": "build and test"}}]}, {"text": "it passes"}]}
S
    start_model
    headgate run --agent claude --service "$port" '@@main@@ go' >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out"; headgate logs "$(last_run).1")"
    check_equal 'the work of the real agent came home' 'Real work' "$(git log --format=%s -1 "headgate/$(last_run)/1")"
else
    echo 'no real agent here: sh tests/run.sh --agents fetches them'
fi

cards=$(headgate gate ls --all --json | jq '[.calls[] | select(.why == "person" or .state == "pending" or .state == "expired")] | length')
echo "cards raised in the first hour: $cards"
check_equal 'ordinary work raises no card' 0 "$cards"

# What would leave the box asks, on the same rung.
run_agent --detach -- 'shell git push origin main' >/dev/null 2>&1
until_true 20 has_pending || fail 'a push must ask'
headgate gate deny --all --reason 'not from here' >/dev/null
until_true 20 is_done "$(last_run).1"
