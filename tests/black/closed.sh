#!/bin/sh
# No way to fail open: each agent without its hook, and with one that is killed while it waits, in a project that wants no hooks: the
# effect of the call did not happen, of a command and of an edit, and the person sees why. With a good hook, and without any layer, it does.
# (OpenCode, whose hook is in its process and without which it has no tools: opencode.sh.)
. "$(dirname "$0")/../lib.sh"
. "$TESTS/agents/install.sh"
need_claude
# What the project says must not count for its gate, were it read.
git config --file "$XDG_CONFIG_HOME/headgate/config" agent.claude.projectSettings true
need_codex
need_gemini
settings=$XDG_CONFIG_HOME/headgate/config
git config --file "$settings" agent.gemini.model gemini-2.5-flash
git config --file "$settings" gate.helloDeadline 5000

make_repo "$WORLD/repo"
cd "$WORLD/repo"
mkdir -p .claude .codex .gemini
printf '{"disableAllHooks":true,"permissions":{"allow":["Bash","Edit","Write"]}}' >.claude/settings.json
printf '[features]\nhooks = false\n' >.codex/config.toml
printf '{"hooksConfig":{"enabled":false}}\n' >.gemini/settings.json
git add -A && git commit -q -m 'A project that wants no hooks'

script() { cat >"$WORLD/script.json"; }
claude_script() {
    script <<'S'
{"main": [{"calls": [{"name": "Bash", "input": {"command": "touch ran.txt", "description": "write"}}]},
  {"calls": [{"name": "Write", "input": {"file_path": "{{CWD}}/edited.txt", "content": "x"}}]}, {"text": "all done"}]}
S
}
codex_script() {
    script <<'S'
{"main": [{"calls": [{"name": "exec", "ns": "functions", "custom": true, "input": "text(await tools.exec_command({cmd: \"touch ran.txt\"}));"}]},
  {"calls": [{"name": "exec", "ns": "functions", "custom": true, "input": "text(await tools.apply_patch(\"*** Begin Patch\\n*** Add File: edited.txt\\n+text\\n*** End Patch\"));"}]},
  {"text": "all done"}]}
S
}
patch_script() {
    script <<'S'
{"main": [{"calls": [{"name": "exec", "ns": "functions", "custom": true, "input": "text(await tools.apply_patch(\"*** Begin Patch\\n*** Add File: edited.txt\\n+text\\n*** End Patch\"));"}]},
  {"text": "all done"}]}
S
}
gemini_script() {
    script <<'S'
{"main": [{"calls": [{"name": "run_shell_command", "input": {"command": "touch ran.txt", "description": "write"}}]},
  {"calls": [{"name": "write_file", "input": {"file_path": "{{CWD}}/edited.txt", "content": "x"}}]}, {"text": "all done"}]}
S
}
# begin AGENT OPTIONS...: an attempt that works on the script.
begin() {
    agent=$1
    shift
    start_model
    headgate run --agent "$agent" --service "$port" --detach "$@" '@@main@@ go' >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
    run=$(last_run)
}
is_over_or_asks() { is_done "$run.1" || has_pending; }
made() { find "$XDG_STATE_HOME" -path "*/attempts/$run.1/*" \( -name ran.txt -o -name edited.txt \) -printf '%f\n' 2>/dev/null | sort -u; }
# saw WANTED: what the person is told of the attempt, its calls and its words, which may come after the call that waits has been seen.
tells() {
    { headgate show "$run.1"; headgate gate ls --all; headgate logs "$run.1"; } >"$WORLD/seen" 2>&1
    grep -Eq -- "$1" "$WORLD/seen"
}
saw() {
    until_true 60 tells "$1" || :
    check_has '  and it is seen' "$1" "$WORLD/seen"
}
# holds WHAT WANTED: the attempt ends, or asks a person, who denies; nothing was made.
holds() {
    until_true 120 is_over_or_asks || die "$1: $(headgate show "$run.1")"
    check_equal "$1: nothing happened" '' "$(made)"
    saw "$2"
    while ! is_done "$run.1"; do
        headgate gate deny --all --reason 'no' >/dev/null 2>&1 || :
        sleep 0.2
    done
    check_equal "$1: nor later" '' "$(made)"
}
# kill_hooks: all hooks of this world, and the shells that they were started by.
kill_hooks() {
    for words in $(grep -lz -- 'headgate-hook' /proc/[0-9]*/cmdline 2>/dev/null); do
        pid=${words#/proc/} pid=${pid%/cmdline}
        ! grep -qz "^HEADGATE_WORKTREE=$WORLD" "/proc/$pid/environ" 2>/dev/null || kill -9 "$pid" 2>/dev/null || :
    done
}
waits() { until_true 120 has_pending || die "no call came: $(headgate show "$run.1")"; }

# Controls first: with a good hook the work is done, and without any layer too.
for agent in claude codex gemini; do
    ${agent}_script
    begin $agent
    until_true 240 is_done "$run.1" || die "$(headgate show "$run.1")"
    check_equal "$agent does its work" 'edited.txt ran.txt' "$(made | tr '\n' ' ' | sed 's/ $//')"
done
git config --file "$settings" gate.helloDeadline 0
ran() { [ -n "$(made)" ]; }
# free AGENT MASK OPTIONS...: with this covered the agent runs a call that nobody was asked about.
free() {
    agent=$1
    git config --file "$settings" box.mask "$2"
    shift 2
    ${agent}_script
    begin "$agent" --ladder confirm "$@"
    if until_true 120 ran; then pass "without any layer $agent runs a call"; else fail "$agent: $(headgate show "$run.1")"; fi
    headgate stop "$run.1" >/dev/null
}
free claude /etc/claude-code
free codex /etc/codex/requirements.toml -i
# Gemini CLI takes no settings but those, and starts with none: there is no such control of it.
git config --file "$settings" gate.helloDeadline 5000

# Without its hook each is stopped before its model is asked.
for mask in claude:/etc/claude-code codex:/etc/codex/requirements.toml gemini:"$HOME/.gemini/settings.json"; do
    agent=${mask%%:*}
    ${agent}_script
    git config --file "$settings" box.mask "${mask#*:}"
    if [ $agent = codex ]; then begin $agent -i; else begin $agent; fi
    holds "$agent without its hook" 'did not shake hands|exit code 52'
    check_equal '  its model was not asked' 0 "$(wc -l <"$WORLD/model.jsonl")"
done
git config --file "$settings" --unset box.mask

# killed AGENT WANTED OPTIONS...
killed() {
    agent=$1 wanted=$2
    shift 2
    begin "$agent" --ladder confirm "$@"
    waits
    kill_hooks
    holds "$agent whose hook is killed while it waits" "$wanted"
}
claude_script
killed claude orphaned
codex_script # its driver asks what its hook did not
killed codex pending
patch_script # the keeper ends it
killed codex 'a hook of codex was killed' -i
no_own_connections
exit $FAILED
