#!/bin/sh
# The canary with the real agents, by hand and before the first attempt: a call that is denied does not run, an agent whose hook is
# gone is found out and started by nobody, and what has passed is not asked again.
. "$(dirname "$0")/../lib.sh"
. "$TESTS/agents/install.sh"
need_claude
need_codex
need_gemini
need_opencode
export TMPDIR="$WORLD/tmp"
mkdir -m 1777 "$TMPDIR"
settings=$XDG_CONFIG_HOME/headgate/config
git config --file "$settings" --unset run.canary
git config --file "$settings" agent.codex.model gpt-5.5 # which its program alone can serve, without the others of its package
git config --file "$settings" gate.notifyCommand "cat >>$WORLD/told"
git config --file "$settings" gate.notify call
make_repo "$WORLD/repo"
cd "$WORLD/repo"
echo '{"main":[{"text":"done"}]}' >"$WORLD/script.json"
start_model

first='the canary of codex, once'
begin() { headgate run --agent codex --service "$port" --detach '@@main@@ go'; }
begin >"$WORLD/out.1" 2>&1 &
one=$!
begin >"$WORLD/out.2" 2>&1 &
two=$!
begin >"$WORLD/out.3" 2>&1 || fail "$(cat "$WORLD/out.3")"
wait "$one" || fail "$(cat "$WORLD/out.1")"
wait "$two" || fail "$(cat "$WORLD/out.2")"
check_equal 'of three that begin at once one makes the canary' 1 "$(cat "$WORLD"/out.? | grep -c "$first")"
check_equal 'and all begin' 3 "$(cat "$WORLD"/out.? | grep -c 'goes on')"
begin >"$WORLD/out" 2>&1 || fail "$(cat "$WORLD/out")"
check_lacks 'the next has none to make' "$first" "$WORLD/out"
run=$(last_run)
until_true 60 is_done "$run.1" || die "$(headgate show "$run.1")"
check_lacks 'and nothing was given up' canary "$(headgate show "$run.1" >"$WORLD/shown"; echo "$WORLD/shown")"

mkdir "$WORLD/other" && cp "$(readlink -f "$(command -v codex)")" "$WORLD/other/codex"
PATH="$WORLD/other:$PATH"
begin >"$WORLD/out" 2>&1 || fail "$(cat "$WORLD/out")"
check_lacks 'a program that was installed anew and is the same is no other' "$first" "$WORLD/out"
echo >>"$WORLD/other/codex"
begin >"$WORLD/out" 2>&1 || fail "$(cat "$WORLD/out")"
check_has 'another one makes its own' "$first" "$WORLD/out"

runs=$(headgate ls --json | jq '.attempts | length')
git config --file "$settings" --add box.mask /etc/codex/requirements.toml
check_status 2 'without its hook nothing is started' begin
check_has '  and it says why' 'nothing was started: the canary of codex.*did not come to the gate' "$OUT"
check_equal '  there is no attempt' "$runs" "$(headgate ls --json | jq '.attempts | length')"
git config --file "$settings" --replace-all box.mask /etc/claude-code/managed-settings.json
git config --file "$settings" gate.helloDeadline 3000
rm -f "$WORLD/model.jsonl" && start_model
check_status 0 'unless it is wanted' headgate run --no-canary --agent claude --service "$port" --detach '@@main@@ go'
check_has '  which is said at once' 'no canary: nothing has shown that claude' "$OUT"
run=$(last_run)
until_true 60 is_done "$run.1" || die "$(headgate show "$run.1")"
headgate show "$run.1" >"$WORLD/shown"
check_has 'and remains to be seen' 'canary +degraded' "$WORLD/shown"
check_equal 'without its hook it still ends' failed "$(outcome_of "$run.1")"
check_has '  and says why' 'claude did not shake hands with the gate within 3 s' "$WORLD/shown"
check_equal '  before its model was asked anything' 0 "$(wc -l <"$WORLD/model.jsonl")"
git config --file "$settings" --unset box.mask

for agent in claude gemini opencode; do
    check_status 0 "the canary of $agent" headgate agent check --canary $agent
    check_has '  says so' 'canary: +a call was denied, did not run' "$OUT"
done
check_equal 'nobody was told of a call' '' "$(cat "$WORLD/told" 2>/dev/null)"
check_equal 'nothing is left' '' "$(ls -d "$TMPDIR"/headgate-canary.* 2>/dev/null)"
exit $FAILED
