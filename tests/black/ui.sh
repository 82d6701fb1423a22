#!/bin/sh
# The dashboard, attach and enter as a person meets them: a real terminal (tmux), keys typed, the screen read.
. "$(dirname "$0")/../lib.sh"
command -v tmux >/dev/null || skip 'no tmux'

# The server of this tmux is ours alone; its socket's name must be short.
SOCKET=$WORLD/t
term() { tmux -S "$SOCKET" -f /dev/null "$@"; }
end_tmux() { term kill-server 2>/dev/null || :; }
trap 'end_tmux; finish' EXIT
screen() { term capture-pane -p -t ui; }
shows() { screen | grep -Eq -- "$1"; }
lacks() { ! shows "$1"; }
see() { # WHAT PATTERN
    if until_true 20 shows "$2"; then pass "$1"; else
        fail "$1: no '$2' on the screen:"
        screen | sed 's/^/    /' >&2
    fi
}
keys() { term send-keys -t ui "$@"; }

make_repo "$WORLD/repo"
cd "$WORLD/repo"
cat >"$WORLD/shell" <<END
export PS1='ready> '
cd '$WORLD/repo'
END
term new-session -d -s ui -x 80 -y 24 "ENV='$WORLD/shell' sh -i"
see 'a shell in the terminal' '^ready>'
keys 'TERM=dumb headgate; echo "status $?"' Enter
see 'a terminal without places to go to is refused' "'dumb' is unknown or too simple"
see 'as a wrong use' '^status 2'

headgate run --detach --ladder confirm --ro "$TESTS/fake" -p 'print hello from one
edit src/app.txt changed
commit Change the app
print good bye' -p 'hold' -- "$TESTS/fake/agent.sh" >"$WORLD/run.out" 2>&1 || die "the run failed: $(cat "$WORLD/run.out")"
run=$(last_run)
until_true 20 has_pending || die 'no call came'

keys 'headgate' Enter
see 'the attempts are listed' "$run\.1 .*waiting"
see 'the hints fit into 80 columns' 'q quit$'
keys Tab
see 'the queue shows the call' 'src/app\.txt'
see 'and why it asks' "because  ladder: .* is asked at 'confirm'"
keys Enter
see 'the call with its exact arguments' '"?changed"?'
see 'the call says how to decide' 'approve'
see 'the card alone' '\[Call\]'
see 'why it asks, there too' "because  ladder: .* is asked at 'confirm'"
term resize-window -t ui -x 100 -y 30
see 'it is drawn again after a resize' 'approve'
[ "$(screen | wc -l)" = 30 ] || fail 'the screen did not grow'
term resize-window -t ui -x 80 -y 24
keys d
see 'a reason is asked for' '[Rr]eason'
keys 'use the other file' Enter
check 'the denial is in the store' until_true 20 sh -c "headgate gate log --json | grep -q 'use the other file'"
until_true 20 is_done "$run.1" || die "$run.1 did not end"
keys Escape
keys Escape
see 'back at the attempts' "$run\.2 .*running"
keys o
see 'output of an attempt' 'use the other file|hello from one|Output'
keys q
keys w
see 'its trace' "Trace of $run\\.[12]"
see 'as a tree' '[0-9:]{8} .*[├└]─ '
keys q
keys '?'
see 'help' 'Page (Up|Down)'
keys q
keys q
see 'the terminal is given back' '^ready>'
check 'nothing of the dashboard is left' lacks 'q quit$'

keys "clear; headgate enter $run.2 -- sh -c 'echo in; pwd; exit 7'; echo status \$?" Enter
see 'enter leaves the output of its command' '^in$'
see 'enter passes the status on' '^status 7$'
keys "clear; headgate enter $run.2" Enter
see 'enter opens a shell in the box' 'Ctrl-\] d detaches'
keys 'echo $((40 + 2)) $HEADGATE_ATTEMPT' Enter
see 'the shell is inside' "^42 $run\.2"
keys C-] d
see 'detached' '^ready>'

headgate run -i --detach -- sh -c 'printf "name? "; read -r n; echo "hi $n"; read -r n; exit 3' >"$WORLD/run.out" 2>&1 ||
    die "the interactive run failed: $(cat "$WORLD/run.out")"
run=$(last_run)
until_true 20 is_running "$run.1" || die "$run.1 did not start"
keys "clear; headgate attach $run.1; echo status \$?" Enter
see 'what was printed before is shown' 'name\?'
keys 'you' Enter
see 'it reads the keyboard' '^hi you'
keys C-] d
see 'detaching says how to come back' "headgate attach $run\.1 comes back"
see 'a detach is no failure' '^status 0$'
keys "clear; headgate attach $run.1; echo status \$?" Enter
see 'attached again' '^hi you'
keys Enter
see 'the end of the agent is told' '^status 1$'
keys "stty -a | grep -o ' -*echo '" Enter
see 'the terminal echoes' '^ echo'
