#!/bin/sh
# A call that waits is told: by the terminal, and by the person's own command, which gets a summary and nothing else of the agent.
. "$(dirname "$0")/../lib.sh"

make_repo "$WORLD/repo"
cd "$WORLD/repo"
config() { git config --file "$XDG_CONFIG_HOME/headgate/config" "$@"; }
told=$WORLD/told
config gate.notify call # notify_news.sh has the others

# Each call once, as one line of JSON.
config gate.notifyCommand "cat >>'$told'"
run_agent --ladder confirm -n 3 -j 3 --detach -- 'shell true "$(touch pwned)"; `touch pwned` && echo $HOME' >/dev/null 2>&1
until_true 20 has_pending 3 || die 'no three calls wait'
has_told() { [ "$(wc -l <"$told")" -ge "$1" ]; }
until_true 20 has_told 3 || die 'the command was not told of each call'
check_equal 'each call is told once' "$(pending | sort)" "$(jq -r .call "$told" | sort)"
check_equal 'with what it would do' 'true "$(touch pwned)"; `touch pwned` && echo $HOME' "$(jq -rs '.[0].what' "$told")"
check_equal 'by whom and why' 'command Bash ladder confirm' "$(jq -rs '.[0] | "\(.agent) \(.tool) \(.why) \(.rung)"' "$told")"
check 'no word of it was run' sh -c "! ls '$WORLD'/pwned '$HOME'/pwned '$WORLD'/repo/pwned /pwned"
headgate gate deny --all --reason no >/dev/null

# Its environment is the person's, its arguments are the person's, and padding hides nothing.
config gate.notifyCommand "cat >/dev/null; tr '\\0' '\\n' <\"/proc/\$\$/environ\" >'$told'; tr '\\0' ' ' <\"/proc/\$\$/cmdline\" >>'$told'; exit 3"
rm "$told"
run_agent --ladder confirm --detach -- 'shell echo secret-word' >/dev/null 2>&1
until_true 20 has_pending || die 'no call waits'
until_true 20 grep -q '/bin/sh -c' "$told" || die 'the command did not run'
check_has 'it has the home of the person' "^HOME=$HOME\$" "$told"
check_lacks 'and nothing of the agent' 'secret-word' "$told"
log=$(echo "$XDG_STATE_HOME"/headgate/*/server.log)
until_true 20 grep -q 'notifyCommand ended with status 3' "$log" || fail 'its failure is not in the log'
headgate gate deny --all --reason no >/dev/null

# One that hangs is ended, with what it started, and holds nothing up meanwhile.
config gate.notifyCommand "echo \$\$ >>'$told'; sleep 300 & wait"
rm "$told"
run_agent --ladder confirm -n 6 -j 6 --detach -- 'shell echo hang' >/dev/null 2>&1
until_true 20 has_pending 6 || die 'no six calls wait'
until_true 20 has_told 4 || die 'four did not start'
check_equal 'at most four at once' 4 "$(wc -l <"$told")"
check_status 0 'calls are decided meanwhile' headgate gate approve --all
group=$(head -n 1 "$told")
is_ended() { ! kill -0 "-$group" 2>/dev/null; }
until_true 20 is_ended || die 'the command that hangs was not ended'
pass 'a command that hangs is ended'
check_has 'which the log says' 'takes longer than 10 s: ended' "$log"
check_equal 'decided calls are not told' 4 "$(wc -l <"$told")"
config --unset gate.notifyCommand

# A repository cannot name the command.
printf '[gate]\n\tnotifyCommand = touch %s/from-repo\n' "$WORLD" >.headgate
run_agent --ladder confirm --detach -- 'shell echo repo' >"$OUT" 2>&1
until_true 20 has_pending || die 'no call waits'
check_has 'a repository may not set it' 'gate.notifycommand, which a repository may not set' "$OUT"
check 'nor was it run' test ! -e "$WORLD/from-repo"
rm .headgate
headgate gate deny --all --reason no >/dev/null

# The terminal: bell and OSC, and none where it was switched off.
on_terminal() {
    TERM_PROGRAM=WezTerm timeout 60 script -qec "sh -c 'headgate run --ladder confirm --ro $TESTS/fake -p \"shell echo bell\" -- $TESTS/fake/agent.sh'" /dev/null >"$1" 2>&1 &
    BACKGROUND=$!
    until_true 20 has_pending || die 'no call waits'
    until_true 20 grep -q asks "$1" || die 'the terminal does not show the call'
    headgate gate approve --all >/dev/null
    wait $BACKGROUND || :
    BACKGROUND=
}
on_terminal "$WORLD/screen"
check 'the terminal is told' grep -q "$(printf '\033]777;notify;Headgate;1 call waits for you\007\007')" "$WORLD/screen"
config ui.osc off
config ui.bell false
on_terminal "$WORLD/screen"
check 'not when that is off' sh -c "! grep -q '$(printf '\007')' '$WORLD/screen'"
check_status 2 'a bad value is an error' sh -c "git config --file '$XDG_CONFIG_HOME/headgate/config' ui.osc loud; headgate run -- true"
config --unset ui.osc
