#!/bin/sh
# The real Claude Code types git push: with a broker it is asked about once, whether piped or plain, also where each exec
# must have an approved call behind it; the person's words and the output of git reach the model.
. "$(dirname "$0")/../lib.sh"
. "$TESTS/agents/install.sh"

need_claude

make_repo "$WORLD/repo"
cd "$WORLD/repo"
git remote add origin https://127.0.0.1:1/me/app.git
cat >"$WORLD/script.json" <<'S'
{"main": [
  {"calls": [{"name": "Bash", "input": {"command": "git commit -q --allow-empty -m Work", "description": "commit"}}]},
  {"calls": [{"name": "Bash", "input": {"command": "git push origin HEAD:one", "description": "push"}}]},
  {"calls": [{"name": "Bash", "input": {"command": "git push -u origin HEAD:two 2>&1 | tail -3", "description": "push"}}]},
  {"calls": [{"name": "Bash", "input": {"command": "npm publish", "description": "publish"}}]},
  {"text": "all done"}]}
S
asked() { headgate gate ls --all --json | jq -r --arg a "$run.1" '.calls[] | select(.attempt == $a and .ask_why) | "\(.source) \(.tool)"'; }

for exec in watch match; do
    start_model
    headgate run --agent claude --service "$port" --ladder auto --exec $exec --detach '@@main@@ go' >"$WORLD/out" 2>&1 ||
        die "$(cat "$WORLD/out")"
    run=$(last_run)
    until_true 60 has_pending || die "nothing is asked at $exec"
    headgate gate deny "$(pending)" --reason 'GATE-9: rebase first' >/dev/null
    until_true 60 has_pending || die "the second push is not asked at $exec"
    headgate gate approve "$(pending)" >/dev/null
    until_true 60 is_done "$run.1" || die "$(headgate show "$run.1"; headgate gate ls)"
    check_equal "each push is asked once, by the broker ($exec)" "broker git push broker git push" "$(asked | tr '\n' ' ' | sed 's/ $//')"
    check "the words of the person reach the model ($exec)" reason_reached 'GATE-9: rebase first'
    check "so does what git says ($exec)" reason_reached 'unable to access'
    check "and that publishing is a person's ($exec)" reason_reached 'Headgate does not carry that out'
done
exit 0
