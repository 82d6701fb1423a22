#!/bin/sh
# `headgate doctor --escape`: every attempt is contained, most are proven by their control, as whoever
# runs this and, started by root, as an ordinary user too; nothing is left behind.
. "$(dirname "$0")/../lib.sh"

mkdir -m 1777 "$WORLD/tmp"

# Where no cgroup was given to an ordinary user, its box does not see memory that belongs to no process; doctor says so.
check_report() {
    who=$1 report=$2
    check_equal "$who: at least 250 attempts" true "$(jq '.attempts | length >= 266' "$report")"
    check_equal "$who: nothing came through" '' \
        "$(jq -r '.attempts[] | select(.result != "contained")
            | select(.result == "untried" or (.id == "L05g" and .result == "degraded") | not) | "\(.id) \(.got)"' "$report")"
    check_equal "$who: memory of processes is held with or without cgroups" contained \
        "$(jq -r '.attempts[] | select(.id == "L05c") | .result' "$report")"
    check_equal "$who: what is not tried is not passed" false \
        "$(jq '[.attempts[] | select(.result == "untried") | .proven] | any' "$report")"
    check_equal "$who: most are proven" true "$(jq '[.attempts[] | select(.proven)] | length >= 205' "$report")"
    check_equal "$who: the others say why not" '' \
        "$(jq -r '.attempts[] | select(.proven | not) | select(.control | startswith("not possible here: ") | not) | .id' \
            "$report")"
    check_equal "$who: ids are told apart" 0 "$(jq -r '.attempts[].id' "$report" | sort | uniq -d | wc -l)"
    check_equal "$who: nothing is left behind" '' "$(ls "$WORLD/tmp")"
}

# expected_status REPORT: 0 only when none came through a layer that is said to be active.
expected_status() { jq 'if any(.attempts[]; .result == "escaped" or .result == "failed") then 1 else 0 end' "$1"; }

status=0
TMPDIR=$WORLD/tmp headgate doctor --escape --json >"$WORLD/own.json" 2>"$WORLD/own.err" || status=$?
check_report 'whoever this is' "$WORLD/own.json"
check_equal 'the status says so' "$(expected_status "$WORLD/own.json")" "$status"

if [ "$(id -u)" = 0 ]; then
    chmod 711 "$WORLD"
    mkdir -m 777 "$WORLD/other"
    for f in home state config run; do install -d -m 700 -o nobody "$WORLD/other/$f"; done
    cp "$BIN"/headgate* "$WORLD/other/"
    chmod 755 "$WORLD"/other/headgate*
    status=0
    setpriv --reuid=nobody --regid=nogroup --clear-groups env TMPDIR="$WORLD/tmp" HOME="$WORLD/other/home" \
        XDG_STATE_HOME="$WORLD/other/state" XDG_CONFIG_HOME="$WORLD/other/config" XDG_RUNTIME_DIR="$WORLD/other/run" \
        "$WORLD/other/headgate" doctor --escape --json >"$WORLD/user.json" 2>"$WORLD/user.err" || status=$?
    check_report 'an ordinary user' "$WORLD/user.json"
    check_equal 'the status says so to a user' "$(expected_status "$WORLD/user.json")" "$status"
fi

# Every row of the list of known ways that concerns git and files, namespaces, system calls, daemons, siblings and life.
for id in $(seq -f 'G%02.0f' 1 12) G14 G16 G17 G18 G19 G20 G21 G22 G23 G24 G26 G27 $(seq -f 'N%02.0f' 1 9) N11 N12 N13 \
    X01 X03 X04 X07 X08 X09 X11 X12 X16 X17 S01 S02 S03 S05 S06 S07 S08 S09 I01 I02 I03 I04 I05 I06 I08 I09 I10 $(seq -f 'L%02.0f' 1 10) L12; do
    jq -e --arg id "$id" 'any(.attempts[]; .id | startswith($id))' "$WORLD/own.json" >/dev/null || fail "no attempt $id"
done

# The table, some of them, and ids that there are not.
check_status 0 'one of them' headgate doctor --escape --only N01a,W01a
check_has 'the table has its outcome' '^N01a .*contained: EPERM.*escapes' "$OUT"
check_has 'and a sum' '^2 attempts; 2 contained, of these 2 proven' "$OUT"
check_status 0 'all of a row' headgate doctor --escape --only N01
check_has 'with its letters' '^3 attempts' "$OUT"
check_status 2 'an id that there is not' headgate doctor --escape --only Z99
check_has 'is named' 'Z99' "$OUT"
check_status 2 'one among others' headgate doctor --escape --only N01a,Z99
check_status 2 'a choice without the suite' headgate doctor --only N01a

exit "$FAILED"
