# Sourced by the black-box scripts of real agents. Each program is put into the build tree once, pinned, from the npm registry;
# need_PROGRAM puts its folder in front of PATH, or skips the script with the reason.
CLAUDE_VERSION=2.1.332
CODEX_VERSION=0.171.0
OPENCODE_VERSION=1.18.33
GEMINI_VERSION=0.61.0

case $(uname -m) in
x86_64) AGENT_ARCH=x64 ;;
aarch64) AGENT_ARCH=arm64 ;;
*) AGENT_ARCH= ;;
esac

# fetch_package NAME-VERSION PACKAGE: the package's files in build/agents/NAME-VERSION; prints the folder.
fetch_package() {
    folder=$(cd "$BIN/.." && pwd)/agents/$1
    [ -d "$(dirname "$folder")" ] || mkdir -p "$(dirname "$folder")" || return 1
    (
        flock 9
        [ -d "$folder" ] && exit 0
        [ -n "${FETCH_AGENTS:-}" ] || exit 2
        [ -n "$AGENT_ARCH" ] || exit 1
        part=$(mktemp -d "$folder.XXXXXX") && cd "$part" && npm pack --silent "$2" >/dev/null 2>&1 &&
            tar -xzf ./*.tgz && rm -f ./*.tgz && chmod -R a+rX . && mv "$part" "$folder"
    ) 9>"$folder.lock" >&2 || return
    printf '%s\n' "$folder/package"
}

# use_program NAME FILE: FILE as NAME in a folder of its own, at the front of PATH.
use_program() {
    mkdir -p "$WORLD/programs/$1"
    ln -sfn "$2" "$WORLD/programs/$1/$1"
    chmod 755 "$WORLD/programs" "$WORLD/programs/$1"
    PATH="$WORLD/programs/$1:$PATH"
    # One script has canaries made (canary.sh); a canary in each would double the time of all.
    git config --file "$XDG_CONFIG_HOME/headgate/config" run.canary false
    # Each takes a second or two to say its version: once in a build tree.
    [ -e "$package/../runs" ] && return
    env -i HOME="$HOME" PATH="$PATH" timeout 120 "$1" --version >"$WORLD/version" 2>&1 ||
        skip "$1 does not run here: $(head -n 1 "$WORLD/version")"
    : >"$package/../runs"
}

# need_package NAME-VERSION PACKAGE: its folder in $package.
need_package() {
    got=0
    package=$(fetch_package "$1" "$2") || got=$?
    [ $got != 2 ] || skip "$1 is not fetched (sh tests/run.sh --agents does)"
    [ $got = 0 ] || skip "$2 cannot be fetched from the npm registry"
}

need_claude() {
    need_package "claude-$CLAUDE_VERSION" "@anthropic-ai/claude-code-linux-$AGENT_ARCH@$CLAUDE_VERSION"
    chmod 755 "$package/claude" 2>/dev/null || :
    use_program claude "$package/claude"
    export ANTHROPIC_API_KEY=sk-test-000-abcdefghijklmnop
}

need_codex() {
    need_package "codex-$CODEX_VERSION" "@openai/codex@$CODEX_VERSION-linux-$AGENT_ARCH"
    use_program codex "$(echo "$package"/vendor/*/bin/codex)"
    export OPENAI_API_KEY=sk-test-000-abcdefghijklmnop
}

need_opencode() {
    need_package "opencode-$OPENCODE_VERSION" "opencode-linux-$AGENT_ARCH@$OPENCODE_VERSION"
    use_program opencode "$package/bin/opencode"
    export OPENAI_API_KEY=sk-test-000-abcdefghijklmnop
}

need_gemini() {
    command -v node >/dev/null || skip 'Gemini CLI needs Node'
    need_package "gemini-$GEMINI_VERSION" "@google/gemini-cli@$GEMINI_VERSION"
    chmod 755 "$package/bundle/gemini.js" 2>/dev/null || :
    use_program gemini "$package/bundle/gemini.js"
    export GEMINI_API_KEY=sk-test-000-abcdefghijklmnop
}

# start_model: the model server on loopback with $WORLD/script.json; its port in $port, its log in $WORLD/model.jsonl.
start_model() {
    rm -f "$WORLD/model.jsonl" "$WORLD/port"
    python3 "$TESTS/agents/model.py" "$WORLD/script.json" "$WORLD/model.jsonl" >"$WORLD/port" &
    BACKGROUND="$BACKGROUND $!"
    until_true 60 grep -q port "$WORLD/port" || die 'the model server did not start'
    port=$(sed 's/port //' "$WORLD/port")
    export ANTHROPIC_BASE_URL="http://127.0.0.1:$port" OPENAI_BASE_URL="http://127.0.0.1:$port/v1" \
        GOOGLE_GEMINI_BASE_URL="http://127.0.0.1:$port"
}

# use_agent AGENT: the program, a model where it wants one named, and a repository to work in.
use_agent() {
    "need_$1"
    settings=$XDG_CONFIG_HOME/headgate/config
    git config --file "$settings" agent.gemini.model gemini-2.5-flash
    git config --file "$settings" agent.opencode.model openai/gpt-5-mini
    make_repo "$WORLD/repo"
    cd "$WORLD/repo" || die 'there is no repository'
}
# shell_call AGENT [COMMAND]: a call of its shell in its own words, for the script.
shell_call() {
    case $1 in
    claude) echo '{"name": "Bash", "input": {"command": "'"${2:-true}"'", "description": "try"}}' ;;
    codex) echo '{"name": "exec_command", "input": {"cmd": "'"${2:-true}"'"}}' ;;
    gemini) echo '{"name": "run_shell_command", "input": {"command": "'"${2:-true}"'", "description": "try"}}' ;;
    opencode) echo '{"name": "bash", "input": {"command": "'"${2:-true}"'", "description": "try"}}' ;;
    esac
}
# heard TEXT: requests of the model that hold it. (jq's own status is that of the last line.)
heard() { jq -c "select(.users | join(\" \") | contains(\$text))" --arg text "$1" "$WORLD/model.jsonl" | grep .; }

# Calls of tools that wait. An agent's own connections are asked too; they are looked at on their own.
pending() { picked pending '.calls[] | select(.state == "pending" and .source != "net") | .id' headgate gate ls --json; }
# next: wait for the one call; print its command or tool.
next() {
    until_true 180 has_pending || {
        headgate logs "$run.1" >&2
        die "no call came: $(headgate show "$run.1")"
    }
    headgate gate ls --json | jq -r '[.calls[] | select(.state == "pending" and .source != "net")][0] | .args.command // .tool'
}
# approve_next WHAT WANT, deny_next WHAT WANT REASON: the call that waits is this one, and so decided.
approve_next() {
    check_equal "$1" "$2" "$(next)"
    headgate gate approve "$(pending)" >/dev/null
}
deny_next() {
    check_equal "$1" "$2" "$(next)"
    headgate gate deny "$(pending)" --reason "$3" >/dev/null
}
reason_reached() { jq -r '.results[].text' "$WORLD/model.jsonl" | grep -F "$1"; }
no_own_connections() {
    check_equal 'no agent reached for a host by itself' '' \
        "$(headgate gate ls --all --json | jq -r '[.calls[] | select(.source == "net") | .args.host] | join(" ")')"
}
# programs_of NAME: processes of this program that belong to the world of this script.
processes_of() {
    for exe in /proc/[0-9]*/exe; do
        case $(readlink "$exe" 2>/dev/null) in */"$1") ;; *) continue ;; esac
        pid=${exe#/proc/} pid=${pid%/exe}
        grep -qz "^HOME=$WORLD/" "/proc/$pid/environ" 2>/dev/null && echo "$pid"
    done
    return 0
}
# dies_while_it_waits PROGRAM: the agent of $run, which wrote first.txt, is killed while its call that makes ran.txt waits.
dies_while_it_waits() {
    call=$(pending)
    kill -9 $(processes_of "$1")
    until_true 180 is_done "$run.1" || die "$(headgate show "$run.1")"
    check_equal 'outcome of a killed agent' failed "$(outcome_of "$run.1")"
    check_status 1 'its call is not approved any more' headgate gate approve "$call"
    check_equal 'what it did is kept' first "$(git show "headgate/$run/1:first.txt")"
    check_status 128 'and the call did not run' git cat-file -e "headgate/$run/1:ran.txt"
}
