#!/bin/sh
# Hosts that allow less (tests/fake/poorhost.c): each is named by doctor with what to do, nothing starts with less
# than was asked for, and what cannot be had at all ends `run` with status 4 and the sentence.
. "$(dirname "$0")/../lib.sh"

POOR=$BIN/../tests/poorhost
[ -x "$POOR" ] || skip "poorhost was not built"
make_repo "$WORLD/repo"
cd "$WORLD/repo"

# on KIND COMMAND...: as on such a host; a skip of that kind where even that is not allowed here.
on() {
    kind=$1
    shift
    "$POOR" "$kind" -- "$@"
}
can() {
    if "$POOR" "$1" -- true 2>"$WORLD/poor.err"; then return 0; fi
    echo "skipped: $1: $(cat "$WORLD/poor.err")"
    return 1
}
report() { on "$1" headgate doctor --json >"$WORLD/$1.json" 2>"$WORLD/$1.err" || :; }
layer() { jq -r --arg l "$2" ".layers[] | select(.name == \$l) | .$3" "$WORLD/$1.json"; }
fact() { jq -r --arg f "$2" ".facts[] | select(.name == \$f) | .$3" "$WORLD/$1.json"; }

# no_box KIND PATTERN: nothing starts, and the sentence is the same everywhere.
no_box() {
    can "$1" || return 0
    report "$1"
    check_equal "$1: every layer is unavailable" unavailable \
        "$(jq -r '[.layers[].state] | unique | join(" ")' "$WORLD/$1.json")"
    check_equal "$1: and not called proved" 0 "$(jq '[.layers[] | select(.proof | test("without the layer: "))] | length' "$WORLD/$1.json")"
    layer "$1" user reason >"$WORLD/reason"
    check_has "$1: doctor says why" "$2" "$WORLD/reason"
    check_equal "$1: the ladder is not the widest" edits "$(jq -r .ladder "$WORLD/$1.json")"
    check_status 4 "$1: a required layer" on "$1" headgate doctor --require user
    check_status 4 "$1: run refuses" on "$1" headgate run -p task -- true
    check_has "$1: and says why" "$2" "$OUT"
    headgate serve --stop >/dev/null 2>&1 || :
    check_status 125 "$1: box refuses" on "$1" headgate box -- true
    check_has "$1: with the sentence" "$2" "$OUT"
    # However soon the launcher gives up: before it has its plan, or after.
    check_equal "$1: box always refuses" '30 125' \
        "$(for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
            s=0
            on "$1" headgate box -- true 2>/dev/null || s=$?
            echo $s
        done | sort | uniq -c | xargs)"
    check_equal "$1: nothing ran" '' "$(headgate ls --json 2>/dev/null | jq -r '.attempts[] | select(.outcome == "ok") | .id')"
    headgate serve --stop >/dev/null 2>&1 || :
}

no_box docker 'seccomp=unconfined'
no_box no-userns 'does not allow user namespaces|user namespaces'
if [ "$(id -u)" != 0 ]; then no_box userns-limit 'max_user_namespaces'; fi
no_box covered-proc 'procfs of the box.s own.*systempaths=unconfined'
if can covered-proc; then
    check_equal 'a covered procfs is a fact' 'covered in part' "$(fact covered-proc procfs value)"
fi

# As on Ubuntu, where a user namespace comes about and nothing is allowed in it.
no_box apparmor 'AppArmor restricts unprivileged user namespaces; give headgate-box a profile'
if can apparmor; then
    check_equal 'AppArmor: is a fact' on "$(fact apparmor "AppArmor's restriction of user namespaces" value)"
    fact apparmor "AppArmor's restriction of user namespaces" advice >"$WORLD/reason"
    check_has 'AppArmor: with both ways out' 'profile with .userns,., or set kernel\.apparmor_restrict_unprivileged_userns=0' "$WORLD/reason"
fi
# WSL2 is told by its kernel's name. (What hides the real one also covers procfs, so that nothing starts.)
no_box wsl2 'procfs of the box.s own'
if can wsl2; then
    check_equal 'WSL2: the platform' true "$(jq '.platform | test("WSL2")' "$WORLD/wsl2.json")"
    check_equal 'WSL2: is a fact' WSL2 "$(fact wsl2 host value)"
    fact wsl2 host advice >"$WORLD/reason"
    check_has 'WSL2: how to turn the way to Windows off' 'wsl\.conf' "$WORLD/reason"
fi

# A kernel without filters: told, not the widest ladder, and asking for it ends the start.
if can no-seccomp; then
    report no-seccomp
    check_equal 'no filters: unavailable' unavailable "$(layer no-seccomp seccomp state)"
    layer no-seccomp seccomp reason >"$WORLD/reason"
    check_has 'no filters: with a reason' 'CONFIG_SECCOMP_FILTER' "$WORLD/reason"
    layer no-seccomp seccomp proof >"$WORLD/reason"
    check_has 'no filters: the proof fails' 'where EPERM was expected' "$WORLD/reason"
    check_equal 'no filters: the ladder is not the widest' edits "$(jq -r .ladder "$WORLD/no-seccomp.json")"
    check_equal 'no filters: nor are execs gated' unavailable "$(layer no-seccomp exec state)"
    check_status 4 'no filters: required' on no-seccomp headgate doctor --require seccomp
    check_status 125 'no filters: a box that requires it' on no-seccomp headgate box --require seccomp -- true
    check_status 4 'no filters: run --require' on no-seccomp headgate run --require seccomp -p task -- true
    headgate serve --stop >/dev/null 2>&1 || :
fi

# Landlock by ABI: what is missing is named, and asking for it ends the start.
for abi in 1 2 3 4 5; do
    can landlock-$abi || continue
    report landlock-$abi
    check_equal "Landlock $abi: degraded" "degraded Landlock ABI $abi" \
        "$(layer landlock-$abi landlock state) $(layer landlock-$abi landlock mechanism)"
    check_has "Landlock $abi: says what is missing" 'before Linux 6.12' "$WORLD/landlock-$abi.json"
    check_equal "Landlock $abi: and is proved as far as it goes" true \
        "$(layer landlock-$abi landlock proof | jq -R 'test("EACCES; without the layer: ok")')"
    check_status 4 "Landlock $abi: required" on landlock-$abi headgate doctor --require landlock
done
if can landlock-6; then
    report landlock-6
    check_equal 'Landlock 6: whole' active "$(layer landlock-6 landlock state)"
fi
for kind in landlock-none landlock-off; do
    can $kind || continue
    report $kind
    check_equal "$kind: unavailable" unavailable "$(layer $kind landlock state)"
    layer $kind landlock reason >"$WORLD/reason"
    check_has "$kind: with a reason and a remedy" 'lsm= list|Linux 5.13' "$WORLD/reason"
    check_status 125 "$kind: a box that requires it" on $kind headgate box --require landlock -- true
    check_status 0 "$kind: one that does not" on $kind headgate box -- true
    check_status 4 "$kind: run --require" on $kind headgate run --require landlock -p task -- true
    check_has "$kind: names the layer" 'landlock' "$OUT"
    headgate serve --stop >/dev/null 2>&1 || :
done

# A listener that somebody else has: no exec can be asked about.
if can notify-taken; then
    report notify-taken
    check_equal 'a taken listener is told' taken "$(fact notify-taken 'seccomp notification' value)"
    fact notify-taken 'seccomp notification' advice >"$WORLD/reason"
    check_has 'with what it means' 'no exec can be asked about' "$WORLD/reason"
    check_equal 'the layer of execs is unavailable' unavailable "$(layer notify-taken exec state)"
    check_status 4 'a taken listener: required' on notify-taken headgate doctor --require exec
    check_status 1 'a taken listener: match does not start' on notify-taken headgate run --exec match -- true
    check_has 'and says why' 'execs cannot be gated' "$OUT"
    headgate serve --stop >/dev/null 2>&1 || : # whoever held the listener has ended, and that server is free of it
    check_status 1 'a taken listener: run --require' on notify-taken headgate run --require exec -- true
    headgate serve --stop >/dev/null 2>&1 || :
fi

# Nobody may trace, which is found out at the agent's start alone: watched, not verified, and the record says so.
if can no-ptrace; then
    report no-ptrace
    check_equal 'nobody traces: execs are degraded' degraded "$(layer no-ptrace exec state)"
    check_status 4 'nobody traces: required' on no-ptrace headgate doctor --require exec
    check_status 0 'nobody traces: watched all the same' on no-ptrace headgate run -- true
    check_equal 'and the record says so' degraded "$(headgate show "$(last_run).1" --json |
        jq -r '.attempts[0].layers[] | select(.name == "exec") | .state')"
    check_status 1 'nobody traces: match does not start' on no-ptrace headgate run --exec match -- true
    headgate serve --stop >/dev/null 2>&1 || :
fi

# No cgroup to make groups in.
if can no-cgroups; then
    report no-cgroups
    check_equal 'no cgroups: limits are degraded' degraded "$(layer no-cgroups limits state)"
    layer no-cgroups limits reason >"$WORLD/reason"
    check_has 'no cgroups: with a remedy' 'Delegate=yes' "$WORLD/reason"
    check_status 4 'no cgroups: required' on no-cgroups headgate doctor --require limits
    check_status 4 'no cgroups: run --require' on no-cgroups headgate run --require limits -p task -- true
    check_has 'no cgroups: names the layer' 'limits' "$OUT"
    headgate serve --stop >/dev/null 2>&1 || :
fi

# And here, as it is.
headgate doctor --json >"$WORLD/here.json"
check_equal 'facts are told' true "$(jq '[.facts[].name] | contains(["kernel", "host", "procfs", "Landlock ABI", "cgroups", "seccomp notification", "Yama ptrace_scope", "user.max_user_namespaces", "disk"])' "$WORLD/here.json")"
check_equal 'every layer has its members' true "$(jq '[.layers[] | has("name") and has("mechanism") and has("state") and has("reason") and has("proof")] | all' "$WORLD/here.json")"
check_equal 'all layers are there' 'user mount pid ipc uts net cgroup limits caps landlock seccomp pty exec' "$(jq -r '[.layers[].name] | join(" ")' "$WORLD/here.json")"
check_equal 'each that is not unavailable is proved by trying it with and without' '' \
    "$(jq -r '.layers[] | select(.state != "unavailable") | select((.proof | capture(": (?<with>.*); without[^:]*: (?<without>.*)$") // {with: 1, without: 1}) | .with == .without) | "\(.name): \(.proof)"' "$WORLD/here.json")"
headgate doctor >"$WORLD/here.txt"
for l in user mount pid ipc uts net cgroup limits caps landlock seccomp pty exec; do check_has "the table has $l" "^  $l +(active|degraded|unavailable) " "$WORLD/here.txt"; done
check_status 2 'a layer that there is not' headgate doctor --require none
check_equal 'other systems by what they are' 'not built, not enforced' "$(jq -r '.facts[] | select(.name == "macOS, Windows") | .value' "$WORLD/here.json")"

exit "$FAILED"
