# Sourced by the scripts faults_AGENT: no call of a real agent runs whose hook has a fault: it prints garbage, half an answer or nothing,
# fails, crashes, does not answer within the agent's own time, is asked twice about one call, or is told of it in another shape. With
# the same hook and no fault the same call runs. (Hooks that are killed or missing: ../black/closed.sh.)
. "$(dirname "$0")/../lib.sh"
. "$TESTS/agents/install.sh"
use_agent "$agent"
git config --file "$settings" agent.codex.model gpt-5.4
git config --file "$settings" gate.helloDeadline 20000
git config --file "$settings" --add box.ro "$TESTS/fake"

# faulty_hook: from now on a faulty one is what boxes have in its place.
faulty_hook() {
    mkdir "$WORLD/bin"
    cp "$BIN"/headgate* "$WORLD/bin"
    cp "$BIN/../tests/faulty-hook" "$WORLD/bin/headgate-hook"
    PATH="$WORLD/bin:$PATH"
}
# faulty_gate PROGRAM: it is started with a faulty gate.
faulty_gate() {
    real=$(readlink -f "$(command -v "$1")")
    mkdir "$WORLD/faulty"
    printf '#!/bin/sh\nexec python3 "%s/fake/faulty_gate.py" "%s" "$@"\n' "$TESTS" "$real" >"$WORLD/faulty/$1"
    chmod 755 "$WORLD/faulty/$1"
    git config --file "$settings" --add box.ro "$(dirname "$real")"
    PATH="$WORLD/faulty:$PATH"
}
# change [FILE SCRIPT]: what boxes have as FILE is changed by sed before their agent begins, from now on.
change() {
    changed=${1:-} how=${2:-}
    git config --file "$settings" worktree.setup "until tail -n 1 '$changed' | grep -qx ' '; do sleep 0.05; done"
    [ -n "$changed" ] || git config --file "$settings" --unset worktree.setup
}
carry_out_change() {
    place() { file=$(find "$XDG_STATE_HOME" -path "*/attempts/$run.1/*" -name "*${changed##*/}" -size +0 | head -n 1); [ -n "$file" ]; }
    until_true 60 place || die "$changed is not there"
    sed "$how" "$file" >"$WORLD/changed"
    ! cmp -s "$WORLD/changed" "$file" || die "$changed has nothing to change"
    { cat "$WORLD/changed"; printf '\n \n'; } >"$file"
}
# hurry FILE: its settings give its hook a second.
hurry() { change "$1" 's/\(timeout"\? *[:=] *\)86400/\11/; s/2147483647/1000/'; }

# begin OPTIONS... -- FAULT...: an attempt that makes a call with each of these faults, one after another, or $at_once.
at_once='' changed=''
begin() {
    options=
    while [ "$1" != -- ]; do
        options="$options $1"
        shift
    done
    shift
    faults=$*
    {
        between='{"calls": ['
        printf '{"main": ['
        for fault in $faults; do
            printf '%s%s' "$between" "$(shell_call "$agent" "touch fault-$fault")"
            between=']}, {"calls": ['
            [ -z "$at_once" ] || between=', '
        done
        printf ']}, {"text": "all done"}]}\n'
    } >"$WORLD/script.json"
    start_model
    # shellcheck disable=SC2086
    headgate run $options --agent "$agent" --service "$port" --ladder confirm --detach '@@main@@ go' >"$OUT" 2>&1 || die "$(cat "$OUT")"
    run=$(last_run)
    [ -z "$changed" ] || carry_out_change
}
calls_of() { headgate gate ls --all --json "$run.1" | jq -r ".calls[] | select(.args.command == \"touch fault-$1\") | $2"; }
# decide: a person approves the good call, and of two that are about one call the first.
decide() {
    headgate gate ls --json | jq -r '.calls[] | select(.state == "pending") | "\(.id) \(.args.command)"' >"$WORLD/waiting"
    while read -r call command; do
        case $command in
        *fault-none) headgate gate approve "$call" ;;
        *fault-twice)
            if [ "$(calls_of twice .id | wc -l)" = 1 ]; then headgate gate approve "$call"; else headgate gate deny "$call" --reason SECOND; fi
            ;;
        *) headgate gate deny "$call" --reason 'NOT WITHOUT ITS HOOK' ;;
        esac
    done <"$WORLD/waiting" >/dev/null
}
is_over() {
    decide
    is_done "$run.1"
}
made() { find "$XDG_STATE_HOME" -path "*/attempts/$run.1/*" -name 'fault-*' -printf '%f ' 2>/dev/null; }
# The last request has the results of all calls, in their order. (Codex asks on the side as well, without tools.)
results() { jq -sc 'map(.results | map(.text) | select(all(startswith("unsupported call") | not))) | max_by(length) // []' "$WORLD/model.jsonl"; }
# ends: the attempt ends by itself.
ends() { until_true 240 is_over || die "$faults: $(headgate show "$run.1"; headgate gate ls --all; headgate logs "$run.1")"; }
# ends_well: it went on to its end.
ends_well() {
    ends
    check_equal "$title: outcome" ok "$(outcome_of "$run.1")"
}
# tells_all: it has told the model of all calls, which its own terminal outlives.
tells_all() {
    n_told() {
        decide
        [ "$(results | jq length)" = "$(echo "$faults" | wc -w)" ]
    }
    until_true 240 n_told || die "$faults: $(headgate show "$run.1"; headgate gate ls --all)"
}
# all_denied PATTERN: of each call but the good one the model was told that it did not run.
all_denied() {
    i=0
    for fault in $faults; do
        results | jq -r ".[$i] // \"nothing\"" >"$WORLD/result"
        i=$((i + 1))
        [ "$fault" = none ] || check_has "$title: $fault: the model is told ($(head -c 90 "$WORLD/result" | tr '\n' ' '))" "$1" "$WORLD/result"
    done
}
ran_alone() { check_equal "$title: only the good call ran" 'fault-none ' "$(made)"; }
# ended_it PATTERN: the attempt was ended, nothing ran, and it says why.
ended_it() {
    check_equal "$title: $faults: outcome" failed "$(outcome_of "$run.1")"
    check_equal "$title: $faults: nothing ran" '' "$(made | sed 's/fault-none //')"
    { headgate show "$run.1"; headgate logs "$run.1"; } >"$WORLD/seen"
    check_has "$title: $faults: it is told" "$1" "$WORLD/seen"
}
# once_each: of the two questions about one call each is on record, one approval was used once, and the other was no approval.
once_each() {
    check_equal "$title: twice: of two answers one was a yes" 'consumed denied' "$(calls_of twice .state | sort | tr '\n' ' ' | sed 's/ $//')"
    check 'the log is whole' headgate gate verify
}
