#!/bin/sh
# Real builds and the programs that sandboxes tend to break, each in a box, without network. What is not installed here is
# skipped by name. Toolchains below a home are those of this account, or of root when root runs this, shown through a home
# of the test's own.
. "$(dirname "$0")/../lib.sh"

mkdir "$WORLD/w" && cd "$WORLD/w" && chmod 777 .
missing=
# has PROGRAM...: all there, else the check that follows is skipped with that reason.
has() {
    for program in "$@"; do
        command -v "$program" >/dev/null || { missing="$missing $program"; return 1; }
    done
}
# builds WHAT WANT SCRIPT: the last line of what the script prints in a box, in one stream: two come in no order.
builds() {
    headgate box -- bash -euc "exec 2>&1; $3" >"$WORLD/out" 2>&1 </dev/null || { fail "$1: status $?"; tail -n 30 "$WORLD/out" >&2; return 0; }
    check_equal "$1" "$2" "$(tail -n 1 "$WORLD/out")"
}
folder() { mkdir "$WORLD/w/$1" && chmod 777 "$WORLD/w/$1" && cd "$WORLD/w/$1"; }

# Toolchains below a home.
for real in "$(getent passwd "$(id -u)" | cut -d: -f6)"; do
    if [ -x "$real/.cargo/bin/cargo" ] && [ -d "$real/.rustup" ]; then
        mkdir -p "$HOME/.cargo/bin"
        for program in cargo rustc; do
            tool=$(HOME=$real "$real/.cargo/bin/rustup" which $program 2>/dev/null) && ln -s "$tool" "$HOME/.cargo/bin/$program"
        done
        PATH="$HOME/.cargo/bin:$PATH"
    fi
    for program in uv go pnpm; do
        for at in "$real/.local/bin" "$real/go/bin" "$real/.npm-global/bin"; do
            [ ! -x "$at/$program" ] || PATH="$at:$PATH"
        done
    done
done
export PATH

folder git
builds 'git: init, commit, branch, rebase, stash, gc' 'one two' 'git init -q -b main r && cd r && git config user.email a@b && git config user.name A && echo 1 >f && git add f &&
    git commit -qm one && git switch -qc side && echo 2 >g && git add g && git commit -qm two && git rebase -q main && echo 3 >g && git stash -q && git stash pop -q &&
    git checkout -q . && git worktree add -q ../w && git gc -q && git fsck && git log --reverse --format=%s | xargs'

if has cc make; then
    folder make
    for i in $(seq 40); do echo "int f$i(void) { return $i; }" >"f$i.c"; done
    echo 'int f7(void); int main(void) { return f7() - 7; }' >main.c
    printf 'O := $(patsubst %%.c,%%.o,$(wildcard *.c))\np: $O\n\tcc -o $@ $^\n' >Makefile
    builds 'make -j2, C' built 'make -s -j2 && ./p && echo built'
fi
if has cmake cc; then
    folder cmake
    printf 'cmake_minimum_required(VERSION 3.10)\nproject(p C)\nfind_package(Threads REQUIRED)\nadd_executable(p p.c)\ntarget_link_libraries(p Threads::Threads)\nenable_testing()\nadd_test(NAME t COMMAND p)\n' >CMakeLists.txt
    printf '#include <pthread.h>\nstatic void *f(void *a) { return a; }\nint main(void) { pthread_t t; return pthread_create(&t, 0, f, 0) || pthread_join(t, 0); }\n' >p.c
    builds 'cmake, ctest, threads' '100% tests passed, 0 tests failed out of 1' 'cmake -S . -B b >/dev/null && cmake --build b -j2 >/dev/null && (cd b && ctest -j2) | grep passed'
fi
if has cargo rustc cc; then
    folder cargo
    mkdir -p app/src dep/src
    printf '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\ndep = { path = "../dep" }\n' >app/Cargo.toml
    printf '[package]\nname = "dep"\nversion = "0.1.0"\nedition = "2021"\n' >dep/Cargo.toml
    echo 'pub fn seven() -> i32 { 7 }' >dep/src/lib.rs
    printf 'fn main() { println!("{}", dep::seven()); }\n#[test]\nfn works() { assert_eq!(std::thread::spawn(dep::seven).join().unwrap(), 7); }\n' >app/src/main.rs
    chmod -R a+rwX .
    builds 'cargo: path dependency, build, test' 7 'cd app && cargo test -q --offline && cargo run -q --offline'
    check_status 0 'cargo: its registry is private and writable' headgate box -- sh -c 'mkdir -p $CARGO_HOME/registry/x'
fi
if has npm node; then
    folder npm
    mkdir dep app
    printf '{"name":"dep","version":"1.0.0","main":"i.js","bin":{"dep-cli":"c.js"}}' >dep/package.json
    echo 'module.exports = 7' >dep/i.js
    printf '#!/usr/bin/env node\nconsole.log("cli", require("dep"))\n' >dep/c.js
    printf '{"name":"app","version":"1.0.0","dependencies":{"dep":"file:../dep-1.0.0.tgz"},"scripts":{"postinstall":"echo hooked >hooked","test":"dep-cli"}}' >app/package.json
    chmod -R a+rwX . && chmod a+x dep/c.js
    builds 'npm: pack, install, scripts' 'cli 7' 'cd dep && npm pack --silent --pack-destination .. >/dev/null && cd ../app && npm install --silent --offline --no-audit --no-fund && test -e hooked && npm test --silent'
    builds 'npm: no warning of its environment' '' 'npm config get prefix 2>&1 >/dev/null'
    builds 'node: worker threads, child processes, cluster' 42 'cat >w.js <<"J"
const { Worker, isMainThread, parentPort } = require("worker_threads"), { execFileSync } = require("child_process"), cluster = require("cluster");
if (!isMainThread) parentPort.postMessage(Number(execFileSync("echo", ["40"])) + 1);
else if (cluster.isPrimary) new Worker(__filename).on("message", n => cluster.fork({ N: n }).on("message", m => { console.log(m); process.exit(0) }));
else process.send(Number(process.env.N) + 1, () => process.exit(0));
J
node w.js'
fi
# Its package runs as it is; kept in the build tree once it was fetched.
PNPM_VERSION=9.15.9
pnpm_program() {
    pnpm=$(cd "$BIN/.." && pwd)/agents/pnpm-$PNPM_VERSION
    [ -e "$pnpm/package/bin/pnpm.cjs" ] || {
        mkdir -p "$pnpm.part" && (cd "$pnpm.part" && npm pack --silent "pnpm@$PNPM_VERSION" >/dev/null 2>&1 && tar -xzf pnpm-*.tgz && rm pnpm-*.tgz) &&
            mv "$pnpm.part" "$pnpm" || { rm -rf "$pnpm.part"; return 1; }
    }
    mkdir -p "$HOME/.tools/bin" && cp -R "$pnpm/package" "$HOME/.tools/pnpm" && ln -s ../pnpm/bin/pnpm.cjs "$HOME/.tools/bin/pnpm" &&
        chmod a+rx "$HOME/.tools/pnpm/bin/pnpm.cjs" && chmod -R a+rX "$HOME/.tools" && PATH="$HOME/.tools/bin:$PATH"
}
if has npm node && ! command -v pnpm >/dev/null; then pnpm_program || missing="$missing pnpm(registry)"; fi
if has pnpm; then
    folder pnpm
    mkdir -p packages/a packages/b
    echo 'packages: ["packages/*"]' >pnpm-workspace.yaml
    echo '{"name":"root","private":true}' >package.json
    printf '{"name":"a","version":"1.0.0","main":"i.js"}' >packages/a/package.json
    echo 'module.exports = 7' >packages/a/i.js
    printf '{"name":"b","version":"1.0.0","dependencies":{"a":"workspace:*"},"scripts":{"test":"node -p \\"require(\047a\047)\\""}}' >packages/b/package.json
    chmod -R a+rwX .
    builds 'pnpm: a workspace' 7 'pnpm install --offline --silent && pnpm --silent --filter b test'
fi
if has python3; then
    folder python
    builds 'python: multiprocessing with semaphores, shared memory, queues' '[1, 4, 9] 10 7' 'cat >m.py <<"P"
import multiprocessing as m
from multiprocessing import shared_memory
def add(v, lock):
    with lock: v.value += 5
if __name__ == "__main__":
    with m.Pool(2) as pool: squares = pool.map(abs, [-1, -4, -9])
    v, lock, q = m.Value("i", 0), m.Lock(), m.Queue()
    ps = [m.Process(target=add, args=(v, lock)) for _ in range(2)]
    [p.start() for p in ps]; [p.join() for p in ps]
    s = shared_memory.SharedMemory(create=True, size=8); s.buf[0] = 7; q.put(bytes(s.buf)[0]); got = q.get(); s.close(); s.unlink()
    print(squares, v.value, got)
P
python3 m.py'
    builds 'python: account, temporary files, subprocesses, sqlite' ok 'python3 -c "
import getpass, os, pwd, sqlite3, subprocess, tempfile
assert pwd.getpwuid(os.getuid()).pw_name == getpass.getuser()
with tempfile.TemporaryDirectory() as d:
    c = sqlite3.connect(d + \"/x.db\"); c.execute(\"pragma journal_mode=wal\"); c.execute(\"create table t(a)\"); c.commit()
print(subprocess.check_output([\"echo\", \"ok\"], text=True).strip())"'
    if python3 -c 'import ensurepip, venv' 2>/dev/null; then
        mkdir -p src/demo && echo 'def seven(): return 7' >src/demo/__init__.py
        cat >wheel.py <<'P'
import zipfile
with zipfile.ZipFile("demo-1.0-py3-none-any.whl", "w") as z:
    z.write("src/demo/__init__.py", "demo/__init__.py")
    z.writestr("demo-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n")
    z.writestr("demo-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    z.writestr("demo-1.0.dist-info/RECORD", "")
P
        chmod -R a+rX .
        builds 'python: venv, pip with a local wheel' 7 'python3 wheel.py && python3 -m venv v && v/bin/pip -q install --no-index --no-warn-script-location ./demo-*.whl && v/bin/python -c "import demo; print(demo.seven())"'
    else
        missing="$missing python3-venv"
    fi
    if has uv; then builds 'uv: venv, local wheel' 7 'uv -q venv --offline u && uv -q pip install --offline --python u/bin/python ./demo-*.whl && u/bin/python -c "import demo; print(demo.seven())"'; fi
fi
if has go; then
    folder go
    printf 'module x\n\ngo 1.18\n' >go.mod
    printf 'package main\nimport "fmt"\nfunc seven() int { return 7 }\nfunc main() { c := make(chan int); go func() { c <- seven() }(); fmt.Println(<-c) }\n' >main.go
    printf 'package main\nimport "testing"\nfunc TestSeven(t *testing.T) { if seven() != 7 { t.Fail() } }\n' >main_test.go
    chmod -R a+rwX .
    builds 'go: vet, test, run' 7 'go vet && go test -count=1 . >/dev/null && go run .'
fi
if has javac java; then
    folder java
    printf 'public class A { public static void main(String[] a) throws Exception { Thread t = new Thread(() -> System.out.println("7")); t.start(); t.join(); } }\n' >A.java
    chmod -R a+rwX .
    builds 'java: compile, run, threads' 7 'javac A.java && java -Xshare:auto A'
    if has mvn; then
        printf '<project><modelVersion>4.0.0</modelVersion><groupId>g</groupId><artifactId>a</artifactId><version>1</version><packaging>pom</packaging></project>' >pom.xml
        builds 'maven: offline' built 'mvn -B -q -o validate >/dev/null 2>&1 && echo built'
    fi
    if has gradle; then
        echo 'task hi { doLast { println 7 } }' >build.gradle
        builds 'gradle: offline' 7 'gradle -q --offline --no-daemon hi'
    fi
fi

# What programs expect of a machine.
folder machine
if has cc; then
    cat >mq.c <<'C'
#include <fcntl.h>
#include <mqueue.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/mman.h>
int main(void)
{
    struct mq_attr a = {.mq_maxmsg = 4, .mq_msgsize = 64};
    char text[64];
    mqd_t q = mq_open("/q", O_CREAT | O_RDWR, 0600, &a);
    sem_t *s = sem_open("/s", O_CREAT, 0600, 1);
    int shm = shm_open("/m", O_CREAT | O_RDWR, 0600);
    if (q < 0 || s == SEM_FAILED || shm < 0 || mq_send(q, "queue", 6, 0) || mq_receive(q, text, 64, NULL) != 6 || sem_wait(s))
        return perror("POSIX objects"), 1;
    return mq_unlink("/q") || sem_unlink("/s") || shm_unlink("/m") || puts(text) < 0;
}
C
    chmod a+r mq.c
    builds 'POSIX message queues, semaphores, shared memory' queue 'cc -o mq mq.c -lrt -pthread && ./mq'
fi
if has script; then builds 'script: a terminal within' '/dev/pts/0' 'script -qec tty /dev/null | tr -d "\r"'; fi
builds '/dev/ptmx' ok 'exec 3<>/dev/ptmx && echo ok'
builds 'devices, /dev/fd, /dev/shm' ok 'echo x >/dev/null; head -c 1 /dev/zero >/dev/full && exit 1; cat <(echo ok); test -w /dev/shm -a -r /dev/urandom'
if has python3; then
    builds 'bash: job control on a terminal' 'stopped continued' 'cat >j.py <<"P"
import os, pty, select
pid, fd = pty.fork()
if pid == 0: os.execvp("bash", ["bash", "--norc", "-i"])
def wait(text):
    seen = b""
    while text not in seen:
        assert select.select([fd], [], [], 20)[0], seen
        seen += os.read(fd, 4096)
os.write(fd, b"stty -echo; PS1=; echo rea\"\"dy\r"); wait(b"ready")
os.write(fd, b"cat; echo back\r"); os.write(fd, b"hello\r"); wait(b"hello")
os.write(fd, b"\x1a"); wait(b"Stopped")
os.write(fd, b"fg\r"); os.write(fd, b"again\r"); wait(b"again")
os.write(fd, b"\x04"); os.write(fd, b"exit\r")
print("stopped continued")
P
python3 j.py'
    builds 'a server of its own and its client, IPv4, IPv6, unix' 'a a a' 'python3 -c "
import socket, threading
def serve(s):
    c, _ = s.accept(); c.sendall(b\"a\"); c.close()
got = []
for family, at in ((socket.AF_INET, (\"127.0.0.1\", 0)), (socket.AF_INET6, (\"::1\", 0)), (socket.AF_UNIX, \"/tmp/s\")):
    s = socket.socket(family); s.bind(at); s.listen(); threading.Thread(target=serve, args=(s,)).start()
    c = socket.socket(family); c.connect(s.getsockname()); got.append(c.recv(9).decode())
print(*got)"'
fi
long=$(printf '%0255d' 7)
builds 'names with spaces, of 255 bytes, deep paths' 7 "mkdir -p 'a b' && echo 7 >'a b/$long' && d=\$PWD && for i in \$(seq 40); do mkdir -p $(printf %0100d 1) && cd $(printf %0100d 1); done && cd \"\$d\" && rm -r 0* && cat 'a b/$long'"
builds 'a debugger of its own child' traced 'command -v strace >/dev/null || { echo traced; exit; }; strace -f -o t /bin/true && grep -q exit_group t && echo traced'
for browser in chromium chromium-browser google-chrome; do
    command -v $browser >/dev/null || continue
    echo '<p id=x></p><script>document.getElementById("x").textContent = 6 * 7</script>' >page.html
    chmod a+r page.html
    builds "$browser, headless" '<p id="x">42</p>' "$browser --headless --no-sandbox --disable-gpu --dump-dom file://\$PWD/page.html 2>/dev/null | grep -o '<p.*</p>'"
    seen=1
done
[ -n "${seen:-}" ] || missing="$missing chromium"
[ -z "$missing" ] || echo "skipped, not installed here:$missing"
exit $FAILED
