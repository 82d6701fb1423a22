#!/bin/sh
# Boxes that run at once see nothing of each other, and no folder is writable in two of them.
# The same two programs on the host, side by side, find everything: what is held is held by the boxes.
. "$(dirname "$0")/../lib.sh"

command -v python3 >/dev/null || skip "needs python3"
SIBLING=$TESTS/fake/sibling.py
WHATS='abstract-socket branch cache file folder key memory-file port posix-memory process stash sysv-memory tag terminal tmp'
name=headgate-sibling-$$
key=$((1212088320 + $$ % 65536))
free_port() { python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# look_result FILE: what the one that looked found; and that it looked for all.
all_of() { sed -n 's/^sibling \([a-z-]*\) .*/\1/p' "$1" | sort | xargs; }
found_of() { sed -n 's/^sibling \([a-z-]*\) found$/\1/p' "$1" | sort | xargs; }
is_ready() { grep -q '^ready' "$1"; }

# 1. On the host: the control.
port=$(free_port)
make_repo "$WORLD/plain"
cd "$WORLD/plain"
python3 "$SIBLING" hold "$name" "$port" "$key" >"$WORLD/host.out" 2>&1 &
holder=$!
BACKGROUND="$BACKGROUND $holder"
until_true 20 is_ready "$WORLD/host.out" || die "the holder did not start: $(cat "$WORLD/host.out")"
touch "$name.txt" # stashed away
python3 "$SIBLING" look "$name" "$port" "$key" "$WORLD/plain/$name.txt" >"$WORLD/host.look"
touch "$name.stop"
wait $holder
can_find=$(found_of "$WORLD/host.look")
check_equal 'control: everything was looked for' "$WHATS" "$(all_of "$WORLD/host.look")"
for what in $WHATS; do
    case " $can_find " in
    *" $what "*) pass "control: $what is found on the host" ;;
    *) if [ $what = key ] || [ $what = terminal ]; then echo "skipped: this host has no $what to find"; else fail "control: $what is not found"; fi ;;
    esac
done

# 2. Two boxes of `headgate box`, each in a folder of its own.
mkdir -m 777 "$WORLD/a" "$WORLD/b"
for d in a b; do
    git init -q "$WORLD/$d"
    git -C "$WORLD/$d" commit -q --allow-empty -m x
    [ "$(id -u)" != 0 ] || chown -R headgate "$WORLD/$d"
done
(cd "$WORLD/a" && exec headgate box --rw .git --ro "$TESTS/fake" -- python3 "$SIBLING" hold "$name" "$port" "$key") >"$WORLD/box.out" 2>&1 &
box=$!
BACKGROUND="$BACKGROUND $box"
until_true 20 is_ready "$WORLD/box.out" || die "the box did not start: $(cat "$WORLD/box.out")"
(cd "$WORLD/b" && headgate box --ro "$TESTS/fake" -- python3 "$SIBLING" look "$name" "$port" "$key" "$WORLD/a/$name.txt") >"$WORLD/box.look" 2>&1
check_equal 'boxes: everything was looked for' "$WHATS" "$(all_of "$WORLD/box.look")"
check_equal 'boxes: nothing is found' '' "$(found_of "$WORLD/box.look")"

# No folder is writable in two boxes: the same, one above, one below; reading it is fine.
mkdir "$WORLD/a/below"
chmod 777 "$WORLD/a/below"
check_status 125 'a second box in the same folder' sh -c "cd '$WORLD/a' && headgate box -- true"
check_has 'is told why and what to do' 'writable in another box.*no folder is writable in two boxes; show it with --ro' "$OUT"
check_status 125 'a folder below' sh -c "cd '$WORLD/a/below' && headgate box -- true"
check_status 125 'a folder above' sh -c "cd '$WORLD/b' && headgate box --rw '$WORLD' -- true"
check_status 0 'the same folder, read-only' sh -c "cd '$WORLD/a' && headgate box --ro . -- true"
check_status 0 'another folder' sh -c "cd '$WORLD/b' && headgate box -- true"
touch "$WORLD/a/$name.stop"
wait $box || :
check_status 0 'and writable when that box has ended' sh -c "cd '$WORLD/a' && headgate box -- true"

# 3. Two attempts of one repository.
mkdir -m 777 "$WORLD/shared"
make_repo "$WORLD/repo"
cd "$WORLD/repo"
attempt() { # TASK OPTION...: its number of a run
    task=$1
    shift
    headgate run --ladder auto --detach "$@" --ro "$TESTS/fake" -p "$task" -- python3 "$SIBLING" >"$WORLD/run.out" 2>&1 || return 1
    last_run
}
log_of() { headgate show "$1" --json | jq -r '.attempts[0].log'; }
first=$(attempt "hold $name $port $key" --rw "$WORLD/shared") || die "the attempt did not start: $(cat "$WORLD/run.out")"
until_true 30 sh -c "grep -q '^ready' '$(log_of "$first.1")'" || die "the attempt did not get ready: $(cat "$(log_of "$first.1")")"
tree=$(headgate show "$first.1" --json | jq -r '.attempts[0].tree')
second=$(attempt "look $name $port $key $tree/$name.txt")
until_true 30 is_done "$second.1" || die 'the attempt that looks does not end'
check_equal 'attempts: everything was looked for' "$WHATS" "$(all_of "$(log_of "$second.1")")"
check_equal 'attempts: nothing is found' '' "$(found_of "$(log_of "$second.1")")"
check_equal 'the person has no branch, tag or stash of theirs' '' "$(git for-each-ref "refs/heads/$name" "refs/tags/$name"; git stash list)"

third=$(attempt 'look x 1 1 /x' --rw "$WORLD/shared") || :
until_true 30 is_done "$third.1"
check_equal 'a folder that a living attempt writes is not writable in another' failed "$(outcome_of "$third.1")"
headgate show "$third.1" >"$WORLD/show"
check_has 'the attempt says why' "is writable in the box of $first\\.1.*no folder is writable in two boxes" "$WORLD/show"
check_status 125 'nor in a box' sh -c "cd '$WORLD/shared' && headgate box -- true"
check_has 'which says whose it is' "is writable in the box of $first\\.1" "$OUT"
(cd "$WORLD/shared" && as_box true && headgate box --ro . -- true) || fail 'reading it is fine'
headgate stop "$first.1" >/dev/null
check_status 0 'and in a box when the attempt has ended' sh -c "cd '$WORLD/shared' && headgate box -- true"

# The other way round: a box has it, an attempt wants it.
mkfifo "$WORLD/gate"
(cd "$WORLD/shared" && exec headgate box -- sh -c 'echo ready; cat') <"$WORLD/gate" >"$WORLD/claim.out" 2>&1 &
box=$!
BACKGROUND="$BACKGROUND $box"
exec 7>"$WORLD/gate"
until_true 20 is_ready "$WORLD/claim.out" || die "the box did not start: $(cat "$WORLD/claim.out")"
fourth=$(attempt 'look x 1 1 /x' --rw "$WORLD/shared") || :
until_true 30 is_done "$fourth.1"
headgate show "$fourth.1" >"$WORLD/show"
check_has 'an attempt hears of the box' 'writable in another box' "$WORLD/show"
exec 7>&-
wait $box || :

exit "$FAILED"
