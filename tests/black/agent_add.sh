#!/bin/sh
# An agent of the person's own, by configuration alone.
. "$(dirname "$0")/../lib.sh"

make_repo "$WORLD/repo"
cd "$WORLD/repo"
mkdir "$WORLD/tool"
cat >"$WORLD/tool/mine" <<'P'
#!/bin/sh
[ "$1" != --version ] || { echo 'mine 7.1'; exit; }
printf '%s|' "$@" >words.txt
printf '{"tool":"shell","args":{"command":"echo asked"}}' | headgate-hook >/dev/null && echo yes >answer.txt
echo "$SECRET_OF_MINE" >secret.txt
P
chmod -R 755 "$WORLD/tool"
PATH="$WORLD/tool:$PATH"
export SECRET_OF_MINE=s3

check_status 2 'a name that is built in' headgate agent add claude -- mine
check_status 2 'a name that cannot be' headgate agent add 'a b' -- mine
check_status 2 'no program' headgate agent add mine
check_status 2 'an agent that nobody added' headgate run --agent mine 'do it'
check 'add' headgate agent add mine -- mine --once 'say: {task}' '{task}{task}'
git config --file "$XDG_CONFIG_HOME/headgate/config" agent.mine.env SECRET_OF_MINE
headgate agent ls >"$WORLD/ls"
check_has 'it is listed' "^mine .*$WORLD/tool/mine" "$WORLD/ls"
headgate agent check mine >"$WORLD/checked"
check_has 'and checked' 'mine 7.1' "$WORLD/checked"
check_has 'it is said what is not covered' 'not covered: Whatever it does not ask' "$WORLD/checked"

headgate run --agent mine --ladder confirm --detach 'do "it"' >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
run=$(last_run)
until_true 30 has_pending || die "$(headgate logs "$run.1")"
check_equal 'its name is known to the gate' mine "$(headgate gate ls --json | jq -r '.calls[0].agent')"
headgate gate approve "$(pending)" >/dev/null
until_true 30 is_done "$run.1" || die "$(headgate show "$run.1")"
tip=headgate/$run/1
check_equal 'its words' '--once|say: do "it"|do "it"do "it"|' "$(git show "$tip:words.txt")"
check_equal 'the gate answered' yes "$(git show "$tip:answer.txt")"
check_equal 'a variable that was named' s3 "$(git show "$tip:secret.txt")"

check 'without words for its terminal' headgate run -i --detach --agent mine 'do it'
until_true 30 is_done "$(last_run).1" || die "$(headgate show "$(last_run)")"
check_equal 'it cannot start' failed "$(outcome_of "$(last_run).1")"
check_status 2 'an agent that there is not' headgate run --agent min 'do it'
check_has 'those that there are, its own too, are named' 'known are .*, mine ' "$OUT"
check 'words to go on' headgate agent add --resume mine -- mine --again
headgate resume "$run.1" >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
until_true 30 has_pending || die "$(headgate logs "$run.1")"
headgate gate approve "$(pending)" >/dev/null
until_true 30 is_done "$run.1" || die "$(headgate show "$run.1")"
check_equal 'resumed with them' '--again|' "$(git show "$tip:words.txt")"

check 'default' git config --file "$XDG_CONFIG_HOME/headgate/config" agent.default mine
check 'a run that names none' headgate run --ladder auto 'by default'
check 'rules can be for it' headgate gate rule add deny exactly true for mine
check 'and a rung' headgate gate ladder mine confirm
check 'rm' headgate agent rm mine
check_status 2 'it is gone' headgate agent check mine
exit $FAILED
