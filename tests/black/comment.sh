#!/bin/sh
# What a person says about an attempt's work reaches its agent as the next message.
. "$(dirname "$0")/../lib.sh"

make_repo "$WORLD/repo"
cd "$WORLD/repo"
cat >"$WORLD/agent" <<'IN'
if [ -n "${HEADGATE_MESSAGE:-}" ]; then
    printf '%s\n' "$HEADGATE_MESSAGE" >message && git add message && git commit -qm Got
    case $HEADGATE_MESSAGE in *'git merge '*)
        git merge -q "$(printf '%s' "$HEADGATE_MESSAGE" | sed -n 's/.*Run `git merge \([0-9a-f]*\)`.*/\1/p')" || :
        printf 'both\n' >src/app.txt && git add src/app.txt ;;
    esac
    git commit -q --allow-empty -m Answered
else
    printf 'agent\n' >src/app.txt && git rm -q README && git commit -qam Work
fi
IN
headgate run --ladder auto --ro "$WORLD/agent" -p 'The task' -- sh "$WORLD/agent" >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
run=$(last_run)
check_status 1 'nothing to send' headgate comment "$run.1" --send
check_status 1 'a line that is not there' headgate comment "$run.1" src/app.txt:9 'What?'
check_has 'is told' 'src/app.txt of 1.1 has no line 9' "$OUT"
check_status 1 'a file that is not there' headgate comment "$run.1" src/nowhere:1 'What?'
check_status 0 'on a line' headgate comment "$run.1" src/app.txt:1 'Say more.'
check_status 0 'on all of it' headgate comment "$run.1" 'Add a test.'
check_status 0 'on a line of a file that went' headgate comment "$run.1" README:1 'Why did it go?'
check_status 0 'on a folder' headgate comment "$run.1" src 'Too flat.'
check_status 1 'a folder has no lines' headgate comment "$run.1" src:1 'What?'
check_has 'and says so' 'src of 1.1 has no lines; comment on it by its name alone' "$OUT"
check_status 0 'one too many' headgate comment "$run.1" Makefile 'Oops'
check_status 0 'taken back' headgate comment "$run.1" --rm 5
check_equal 'listed' 'src/app.txt:1:agent null:0:null README:1:A sample. src:0:null' "$(headgate comment "$run.1" --json | jq -r '[.[] | "\(.path):\(.line):\(.quote)"] | join(" ")')"
headgate serve --stop >/dev/null
check_status 0 'sent, also by another server' headgate comment "$run.1" --send
check_has 'says so' "4 comments sent to $run.1, which goes on" "$OUT"
ended() { [ "$(headgate show "$run.1" --json | jq -r '.attempts[0].state')" = done ]; }
until_true 30 ended || die 'it does not end'
git show "headgate/$run/1:message" >"$OUT"
check_has 'the agent has the place' '^src/app.txt:1$' "$OUT"
check_has 'the line' '^> agent$' "$OUT"
check_has 'and the words' '^Say more\.$' "$OUT"
check_has 'a line that went is told with its commit' "^README:1 \(as it was at commit $(git rev-parse --short=12 main)\)\$" "$OUT"
check_has 'of both' '^Add a test\.$' "$OUT"
check_equal 'they count as sent' '4' "$(headgate comment "$run.1" --json | jq '[.[] | select(.sent_ms > 0)] | length')"
check_status 1 'what was sent is not taken back' headgate comment "$run.1" --rm 1
check_status 0 'resumed without a message it has its task again' sh -c "headgate resume $run.1 && sleep 0"
until_true 30 ended || die 'it does not end'

printf 'person\n' >src/app.txt && git commit -qam Mine
check_status 1 'conflicts go to the agent' headgate merge --to-agent "$run.1"
check_has 'and it says so' 'its agent was asked to resolve it' "$OUT"
check_equal 'nothing was changed' '' "$(git status --porcelain)"
until_true 30 ended || die 'it does not end'
check_status 0 'then it merges' headgate merge "$run.1"
check_equal 'with both' both "$(cat src/app.txt)"
check_status 0 'discard' headgate discard "$run"
check_status 1 'the comments go with it' headgate comment "$run.1"
