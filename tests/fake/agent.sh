#!/bin/sh
# A scripted agent: does what its task says, one directive a line. It gates itself like a real agent: a step that the
# gate denies is not done, and the words of the denial go to standard output and to denied.log.
#
#   edit FILE TEXT         gate an Edit, then write TEXT to FILE
#   shell COMMAND          gate a Bash call, then run COMMAND
#   ungated COMMAND        run COMMAND without asking (what a rogue agent does)
#   commit MESSAGE         git add -A and commit
#   as ID TYPE DIRECTIVE   the directive as a call of subagent ID of TYPE
#   together N DIRECTIVE   the directive N times at once
#   ignore-term            from now on SIGTERM does nothing
#   linger FILE            start processes that try to survive: setsid, nohup, double fork; they append to FILE
#   hold                   read standard input for ever (until stopped)
#   await FILE             wait until FILE exists (inotify is not everywhere: watches its folder by tail)
#   fork-bomb              start processes without end
#   memory MEGABYTES       touch that much memory
#   flood MEGABYTES        print that much
#   print TEXT, exit N
set -u
hook=${HEADGATE_HOOK:-headgate-hook}
sub_id='' sub_type=''

quote() { # a JSON string
    printf '%s' "$1" | sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/	/\\t/g' | awk 'BEGIN{printf "\""} NR>1{printf "\\n"} {printf "%s",$0} END{printf "\""}'
}

gate() { # TOOL ARGS-JSON
    sub=null
    [ -z "$sub_id" ] || sub="{\"id\":$(quote "$sub_id"),\"type\":$(quote "$sub_type"),\"depth\":1}"
    answer=$(printf '{"tool":"%s","args":%s,"cwd":%s,"subagent":%s}' "$1" "$2" "$(quote "$PWD")" "$sub" | "$hook" 2>hook.err)
    status=$?
    [ $status = 0 ] && { rm -f hook.err; return 0; }
    printf 'denied: %s %s\n' "$answer" "$(cat hook.err)" | tee -a denied.log
    rm -f hook.err
    return 1
}

linger() {
    (setsid sh -c "while :; do echo s >>'$1'; sleep 0.1; done" >/dev/null 2>&1 &)
    nohup sh -c "while :; do echo n >>'$1'; sleep 0.1; done" >/dev/null 2>&1 &
    (sh -c "(while :; do echo d >>'$1'; sleep 0.1; done) &" >/dev/null 2>&1 &)
}

together() {
    n=$1
    shift
    while [ "$n" -gt 0 ]; do
        (step "$*") &
        n=$((n - 1))
    done
    wait
}

step() {
    verb=${1%% *}
    rest=${1#"$verb"}
    rest=${rest# }
    first=${rest%% *}
    second=${rest#"$first"}
    second=${second# }
    case $verb in
    '' | '#'*) ;;
    edit) gate Edit "{\"file_path\":$(quote "$PWD/$first"),\"new_string\":$(quote "$second")}" && printf '%s\n' "$second" >"$first" ;;
    shell) gate Bash "{\"command\":$(quote "$rest")}" && sh -c "$rest" ;;
    ungated) sh -c "$rest" ;;
    commit) git add -A && git commit -q -m "$rest" ;;
    as)
        sub_id=$first sub_type=${second%% *}
        step "${second#* }"
        sub_id='' sub_type=''
        ;;
    together) together "$first" "$second" ;;
    ignore-term) trap '' TERM ;;
    linger) linger "$rest" ;;
    hold) while :; do sleep 60 & wait $!; done ;;
    await) while [ ! -e "$rest" ]; do sleep 0.1; done ;;
    fork-bomb) sh -c 'b() { b | b & }; b'; while :; do sleep 60 & wait $!; done ;;
    memory) python3 -c "b = bytearray($rest << 20)
for i in range(0, len(b), 4096): b[i] = 1
import time; time.sleep(60)" ;;
    flood) head -c "${rest}M" /dev/zero | tr '\0' x | fold -w 100 ;;
    print) printf '%s\n' "$rest" ;;
    exit) exit "$rest" ;;
    *) echo "agent: unknown directive: $verb" >&2; exit 64 ;;
    esac
}

printf '%s\n' "$HEADGATE_TASK" >"${TMPDIR:-/tmp}/task"
while IFS= read -r line <&3; do
    step "$line"
done 3<"${TMPDIR:-/tmp}/task"
