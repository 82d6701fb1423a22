#!/bin/sh
# Rungs by task, what a repository's .headgate may ask for and only after consent, and how long calls wait for a person.
. "$(dirname "$0")/../lib.sh"

make_repo "$WORLD/repo"
cd "$WORLD/repo"
rung_of() { headgate show "$1" --json | jq -r '.attempts[0].ladder'; }
run_tasks() {
    headgate run --ladder edits --detach --ro "$TESTS/fake" "$@" -- "$TESTS/fake/agent.sh" >"$OUT" 2>&1
}

# A task's own rung.
printf '%s\n' '{"prompt":"print one"}' '{"prompt":"shell make test","ladder":"auto"}' '{"prompt":"edit a.txt x","ladder":"confirm"}' \
    >"$WORLD/tasks"
run_tasks --tasks "$WORLD/tasks" || die "$(cat "$OUT")"
check_has 'the first lines tell of it' "1 of the tasks has a rung of its own: 'confirm'" "$OUT"
run=$(last_run)
check_equal 'the rung of the run' edits "$(rung_of "$run.1")"
check_equal 'a looser task' auto "$(rung_of "$run.2")"
check_equal 'a stricter task' confirm "$(rung_of "$run.3")"
until_true 20 is_done "$run.2" || die 'the task at auto was asked'
until_true 20 has_pending || die 'the task at confirm was not asked'
check_equal 'only the strict task asks' "$run.3" "$(headgate gate ls --json | jq -r '[.calls[].attempt] | unique | .[]')"
check_equal 'its rung is in the list' confirm "$(headgate gate ls --json | jq -r '.calls[0].ladder')"
headgate gate approve --all >/dev/null
run_tasks --tasks "$WORLD/tasks" --template 'print {{prompt}}' || die "$(cat "$OUT")"
check_equal 'with a template too' confirm "$(rung_of "$(last_run).3")"
echo '{"prompt":"x","ladder":"high"}' >"$WORLD/bad"
check_status 2 'a rung that does not exist' headgate run --tasks "$WORLD/bad" -- true
check_has 'is said with its row' "row 1: 'high' is no rung" "$OUT"

# The repository's wishes count after consent to exactly their bytes.
printf '[gate]\n\tladder = confirm\n' >.headgate
before=$(last_run)
check_status 2 'a .headgate asks for consent' run_tasks --tasks "$WORLD/tasks"
check_has 'saying what it wants' "asks for the rung 'confirm'" "$OUT"
check_equal 'nothing started' "$before" "$(last_run)"
hash=$(sed -n 's/.*--consent \([0-9a-f]*\),.*/\1/p' "$OUT")
check_equal 'its hash is that of its bytes' "$(sha256sum <.headgate | cut -d ' ' -f 1)" "$hash"
check_status 2 'another hash is no consent' run_tasks -p 'print x' --consent "$(echo x | sha256sum | cut -d ' ' -f 1)"
check_status 0 'without it, as asked' run_tasks -p 'print x' --consent none
check_equal 'it counts for nothing' edits "$(rung_of "$(last_run).1")"
check_status 0 'consent' run_tasks --tasks "$WORLD/tasks" --consent "$hash"
run=$(last_run)
check_has 'the first line says why' "ladder confirm .*.headgate of the repository" "$OUT"
check_equal 'the rung is tightened' confirm "$(rung_of "$run.1")"
check_equal 'also of a looser task' confirm "$(rung_of "$run.2")"
check_status 0 'it is kept' run_tasks -p 'print x'
check_equal 'and holds' confirm "$(rung_of "$(last_run).1")"
printf '[gate]\n\tladder = auto\n[worktree]\n\tsetup = touch set-up\n' >.headgate
check_status 2 'a change asks again' run_tasks -p 'print x'
check_has 'saying so' "changed since it was accepted and asks for the rung 'auto', and for a command .*: touch set-up" "$OUT"
check_status 0 'consent to the change' run_tasks -p 'print x' --consent "$(sha256sum <.headgate | cut -d ' ' -f 1)"
check_equal 'which loosens nothing' edits "$(rung_of "$(last_run).1")"
printf '[gate]\n\trule = deny path src/\n\trule = ask command make\n' >.headgate
check_status 2 'rules of a repository ask for consent' run_tasks -p 'print x'
check_has 'and are told' "the rules 'deny path src/; ask command make'" "$OUT"
check_status 0 'consent to rules' run_tasks -p 'edit src/app.txt denied
shell make test' --consent "$(sha256sum <.headgate | cut -d ' ' -f 1)"
run=$(last_run)
why_asked() { headgate gate ls --json "$run" | jq -er '.calls[0].why'; }
until_true 20 why_asked || die 'the rule that asks was not followed'
check_equal 'what it asks is asked by it' rule "$(why_asked)"
check_equal 'what it denies was denied' 'denied rule' "$(headgate gate ls --all --json "$run" | jq -r '.calls[] | select(.tool == "Edit") | "\(.state) \(.why)"')"
check_has 'it is listed with its origin' ".headgate of the repository .* deny path src/ in run $run\$" "$(headgate gate rule ls >"$WORLD/rules"; echo "$WORLD/rules")"
headgate gate approve --all >/dev/null
printf '[gate]\n\trule = allow command make\n' >.headgate
check_status 2 'a rule that allows is an error' run_tasks -p 'print x'
check_has 'which is said' 'denies or asks' "$OUT"
rm .headgate
ln -s Makefile .headgate
check_status 2 'a link is not followed' headgate run --detach -- true
check_has 'and it says what to do' 'is a link, .*--consent none' "$OUT"
rm .headgate
headgate stop --all >/dev/null

# How long a call waits, and what is then.
check_status 2 'no such outcome' run_tasks -p 'print x' --ask-deadline 5m,maybe
check_status 2 'longer than any hook' run_tasks -p 'print x' --ask-deadline 2d
check_status 0 'a short deadline' run_tasks -p 'shell echo one' --ask-deadline 1s
check_has 'is told at the start' 'calls wait 1s, then denied as a timeout' "$OUT"
run=$(last_run)
until_true 20 is_done "$run.1" || die 'the call was not answered'
headgate trace "$run.1" >"$WORLD/trace"
check_has 'the outcome is a timeout' 'expired' "$WORLD/trace"
check_status 0 'a deadline that only tells again' run_tasks -p 'shell echo two' --ask-deadline 1s,wait
check_has 'is told at the start' 'calls wait 1s, then said again and waiting on' "$OUT"
run=$(last_run)
is_overdue() { [ "$(headgate gate log --text call.overdue --json | jq '.rows | length')" = 1 ]; }
until_true 20 is_overdue || die 'nobody was told again'
check_equal 'the call waits on' 1 "$(pending | wc -l)"
check_status 0 'and can be approved' headgate gate approve "$(pending)"
until_true 20 is_done "$run.1" || die 'the approval did not come'
check_equal 'as any other' ok "$(outcome_of "$run.1")"
