# Sourced by the black-box scripts. Gives each a hermetic world: own HOME, XDG folders, git configuration, state, locale.
# HEADGATE_BIN is the folder of the programs. A script that cannot run here calls `skip REASON` (exit 77).
set -eu

TESTS=$(cd "$(dirname "$0")/.." && pwd)
BIN=${HEADGATE_BIN:?HEADGATE_BIN must name the folder of the programs}
WORLD=$(mktemp -d "${TMPDIR:-/tmp}/headgate-test.XXXXXX")
chmod 755 "$WORLD"
unset $(env | sed -n 's/^\(GIT_[A-Z_]*\|HEADGATE_[A-Z_]*\|XDG_[A-Z_]*\)=.*/\1/p') 2>/dev/null || :
export HOME="$WORLD/home" XDG_RUNTIME_DIR="$WORLD/run" LANG=C.UTF-8 LC_ALL=C.UTF-8 TZ=UTC TERM=xterm-256color NO_COLOR=1
export XDG_STATE_HOME="$WORLD/state" XDG_CONFIG_HOME="$WORLD/config" PATH="$BIN:/usr/local/bin:/usr/bin:/bin"
# Where tests run is nothing that the programs under test should see: some agents draw no screen where they find these.
unset CI CONTINUOUS_INTEGRATION BUILD_NUMBER RUN_ID 2>/dev/null || :
export PAGER=cat GIT_PAGER=cat
mkdir -p "$HOME" "$XDG_STATE_HOME" "$XDG_CONFIG_HOME/headgate"
mkdir -m 700 "$XDG_RUNTIME_DIR"
git config --global user.name 'Test Person'
git config --global user.email person@example.com
git config --global init.defaultBranch main
git config --global advice.detachedHead false

FAILED=0
BACKGROUND=
ELSEWHERE=

finish() {
    status=$?
    set +e
    headgate stop --all >/dev/null 2>&1
    headgate serve --stop >/dev/null 2>&1
    for pid in $BACKGROUND; do kill "$pid" 2>/dev/null; done
    if [ $status != 0 ] && [ $status != 77 ] || [ "$FAILED" != 0 ]; then
        echo "-- world of the failure: $WORLD"
        for log in "$XDG_STATE_HOME"/headgate/*/server.log; do [ -f "$log" ] && tail -n 40 "$log"; done
        [ -n "${KEEP_WORLD:-}" ] || remove_world
        [ $status != 0 ] || status=1
    else
        remove_world
    fi
    exit $status
}
remove_world() {
    chmod -R u+rwx "$WORLD" $ELSEWHERE 2>/dev/null
    rm -rf "$WORLD" $ELSEWHERE
}
# engines_here: the engines that can be tried here as ENGINE:FOLDER, for state_on. Others are told as left out.
engines_here() {
    for engine in overlay: btrfs:"${TEST_FS_BTRFS:-}" reflink:"${TEST_FS_XFS:-}" checkout:; do
        case $engine in
        btrfs: | reflink:) echo "left out: the engine ${engine%:} has no file system here" >&2 ;;
        *:) echo "$engine$WORLD/state" ;;
        *) echo "$engine" ;;
        esac
    done
}
# state_on FOLDER: from now on a state folder and a server of its own, on that file system; it goes with the world.
state_on() {
    headgate serve --stop >/dev/null 2>&1 || :
    XDG_STATE_HOME=$(mktemp -d "$1/headgate-test.XXXXXX")
    chmod 755 "$XDG_STATE_HOME"
    ELSEWHERE="$ELSEWHERE $XDG_STATE_HOME"
}
trap finish EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

skip() {
    echo "skipped: $*"
    exit 77
}
fail() {
    echo "FAIL: $*" >&2
    FAILED=1
}
die() {
    echo "FAIL: $*" >&2
    exit 1
}
pass() { echo "ok: $*"; }

# check WHAT COMMAND...: the command succeeds.
check() {
    what=$1
    shift
    if "$@" >"$WORLD/check.out" 2>&1; then pass "$what"; else
        fail "$what: $* (status $?)"
        sed 's/^/    /' "$WORLD/check.out" | head -n 30 >&2
    fi
}
# check_status STATUS WHAT COMMAND...: the command ends with this status. Its output stays in $OUT.
OUT=$WORLD/status.out
check_status() {
    want=$1 what=$2
    shift 2
    got=0
    "$@" >"$OUT" 2>&1 </dev/null || got=$?
    if [ "$got" = "$want" ]; then pass "$what"; else
        fail "$what: status $got, not $want: $*"
        sed 's/^/    /' "$OUT" | head -n 30 >&2
    fi
}
# check_equal WHAT WANT GOT
check_equal() {
    if [ "$2" = "$3" ]; then pass "$1"; else fail "$1: wanted '$2', got '$3'"; fi
}
# check_has WHAT PATTERN FILE (grep -E)
check_has() {
    if grep -Eq -- "$2" "$3"; then pass "$1"; else
        fail "$1: no '$2' in:"
        sed 's/^/    /' "$3" | head -n 30 >&2
    fi
}
check_lacks() {
    if grep -Eq -- "$2" "$3"; then fail "$1: '$2' is in $3"; else pass "$1"; fi
}

# until_true SECONDS COMMAND...: wait for a condition that another process brings about, at most so long. What is not soon is looked
# for less often, since looking takes the time of those that it waits for.
until_true() {
    deadline=$(($(date +%s) + $1)) looks=0
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$(date +%s)" -lt "$deadline" ] || return 1
        looks=$((looks + 1))
        if [ $looks -le 20 ]; then sleep 0.05; else sleep 0.2; fi
    done
}

# make_repo FOLDER: a small repository with a Makefile, a source file and two commits on main.
make_repo() {
    git init -q "$1"
    mkdir -p "$1/src"
    printf 'all:\n\t@echo built\ntest:\n\t@grep -q . src/app.txt && echo passed\n' >"$1/Makefile"
    printf 'one\ntwo\nthree\n' >"$1/src/app.txt"
    printf 'out/\n.env\n' >"$1/.gitignore"
    git -C "$1" add -A
    git -C "$1" commit -q -m 'First commit'
    printf 'A sample.\n' >"$1/README"
    git -C "$1" add -A
    git -C "$1" commit -q -m 'Describe it'
}
# run_agent HEADGATE-RUN-OPTIONS -- TASK: one scripted agent (tests/fake/agent.sh) with the task's lines.
run_agent() {
    options=
    while [ "$1" != -- ]; do
        options="$options $1"
        shift
    done
    shift
    # shellcheck disable=SC2086
    headgate run $options --ro "$TESTS/fake" -p "$1" -- "$TESTS/fake/agent.sh"
}
# picked WORD FILTER COMMAND...: what jq's FILTER picks from the JSON of a command. jq, which takes ten times as long as the command, is
# asked only where "WORD" is in it: for what is waited for.
picked() (
    word=$1 filter=$2
    shift 2
    json=$("$@") || exit
    case $json in *"\"$word\""*) printf '%s\n' "$json" | jq -r "$filter" ;; esac
)
# pending: ids of pending calls, one a line.
pending() { picked pending '.calls[] | select(.state == "pending") | .id' headgate gate ls --json; }
has_pending() { [ "$(pending | wc -l)" -ge "${1:-1}" ]; }
# state_of ATTEMPT, outcome_of ATTEMPT
state_of() { headgate show "$1" --json | jq -r '.attempts[0].state'; }
outcome_of() { headgate show "$1" --json | jq -r '.attempts[0].outcome'; }
is_done() { [ "$(picked done '.attempts[0].state' headgate show "$1" --json)" = done ]; }
is_running() { [ "$(picked running '.attempts[0].state' headgate show "$1" --json)" = running ]; }
# left_of ATTEMPT: processes of its box, by their environment (scripts of several worlds run at once).
left_of() { grep -lz "^HEADGATE_WORKTREE=$WORLD/.*/$1/tree\$" /proc/[0-9]*/environ 2>/dev/null || :; }
# as_box COMMAND...: as the account that boxes run as; another one's writes do not fit into their user namespace.
as_box() {
    if [ "$(id -u)" = 0 ]; then setpriv --reuid=headgate --regid=headgate --clear-groups "$@"; else "$@"; fi
}
# gone PID: it does not exist, or is only waiting for whoever inherited it to look.
gone() { ! grep -Eq '^State:[[:space:]]+[A-WY]' "/proc/$1/status" 2>/dev/null; }
# last_run: number of the newest run.
last_run() { headgate ls --json | jq -r '[.attempts[].run] | max'; }
server_pid() { headgate serve --status --json 2>/dev/null | jq -r .pid; }
