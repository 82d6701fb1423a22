#!/bin/sh
# Rules that people keep: tried, proposed, explained, revoked while agents run; the ladder while it runs; repeated and equal
# calls; filters, export and proof of the log.
. "$(dirname "$0")/../lib.sh"

try() { headgate gate rule try "$@"; }

# Tried without a store or a server.
args='{"command":"git status -s"}'
check_status 0 'a rule that covers' try --rule 'allow command git status' --tool Bash --args "$args"
check_status 6 'a redirection asks' try --rule 'allow command git status' --tool Bash --args '{"command":"git status > x"}'
check_status 3 'deny beats allow' try --rule 'allow tool Bash' --rule 'deny command git' --tool Bash --args "$args"
check_status 6 'ask beats allow' try --rule 'allow tool Bash' --rule 'ask command git' --tool Bash --args "$args"
check_status 6 'an option that runs a program' try --rule 'allow command npm test' --tool Bash --args '{"command":"npm test --script-shell=./x"}'
check_has 'and it is named' '--script-shell' "$OUT"
for command in 'git push' 'git -c a=b push' 'git fetch && git push origin HEAD' 'gh pr create --title x --body y'; do
    try --rule 'allow command git' --rule 'allow command gh' --ladder auto --tool Bash --args "$(jq -nc --arg c "$command" '{command: $c}')" >"$OUT" && fail "a rule lets $command pass"
done
check_status 0 'a rule lets the broker read' try --rule 'allow command git fetch' --tool Bash --args '{"command":"git fetch origin"}'
check_status 6 'but not push' try --rule 'allow command git push' --tool Bash --args '{"command":"git push"}'
check_has 'which is said' 'no rule and no rung lets it pass' "$OUT"
check_status 3 'what is for a person alone' try --rule 'allow command ls' --tool Bash --args '{"command":"npm publish"}'
check_status 2 'a program by its path' try --rule 'allow command ./x' --tool Bash --args '{"command":"./x"}'
check_status 6 'another agent' try --rule 'allow command git status for codex' --agent claude --tool Bash --args "$args"
check_status 2 'bad JSON' try --tool Bash --args '{'
printf '# rules\nallow command git status\n' >"$WORLD/rules"
check_status 0 'a file of rules' try --rules "$WORLD/rules" --tool Bash --args "$args"
check_equal 'JSON has the verdict' allow "$(try --rules "$WORLD/rules" --tool Bash --args "$args" --json | jq -r .verdict)"
mkdir -p "$WORLD/tree/src"
ln -s /etc "$WORLD/tree/src/link"
edit() { try --rule 'allow path src/' --tool Edit --args "{\"file_path\":\"$1\"}" --cwd "$WORLD/tree"; }
check_status 0 'an edit below the folder' edit src/new
check_status 6 'not through a link' edit src/link/passwd
check_status 6 'not through ..' edit src/../x
check_status 0 'the options are listed' try --options
check_has 'with find' '^find: .*-exec' "$OUT"
check_has 'with what runs its arguments' '^ssh: .*runs its arguments' "$OUT"
mkdir -p "$WORLD/tree/bin"
cp /bin/true "$WORLD/tree/bin/make"
in_reach() { PATH="$WORLD/tree/bin:$PATH" try --rule 'allow command make' --tool Bash --args '{"command":"make test"}' --cwd "$WORLD/tree"; }
check_status 6 'a program that the agent put before another' in_reach
check_has 'and why' 'lies in a folder of PATH that the agent can write' "$OUT"
check_status 6 'one of a relative folder' env PATH="bin:$PATH" headgate gate rule try --rule 'allow command make' --tool Bash --args '{"command":"make test"}'
check_status 0 'one that is out of its reach' try --rule 'allow command make' --tool Bash --args '{"command":"make test"}' --cwd "$WORLD/tree"
check_status 2 'a type of subagent and a host' try --rule 'allow host example.com for claude/reviewer' --tool Bash --args "$args"
check 'no state was made' sh -c "! ls '$XDG_STATE_HOME'/headgate/*/state.db"
check_status 0 'the floor is listed' headgate gate floor
check_has 'with what publishes' 'git push' "$OUT"
check_has 'what no program starts' 'deny +start sudo' "$OUT"
check_has 'and what no connection reaches' 'deny +connect to a private .*metadata' "$OUT"

make_repo "$WORLD/repo"
cd "$WORLD/repo"

# The reason of a question, equal calls, a repeated call.
run_agent --ladder confirm -n 2 -j 2 --detach -- 'shell make same
shell make same
shell echo end' >/dev/null 2>&1
run=$(last_run)
until_true 20 has_pending 2 || die 'no two calls wait'
first=$(pending | head -n 1)
check_has 'the list has the rung' "^$first \\+1 .* confirm " "$(headgate gate ls >"$WORLD/ls"; echo "$WORLD/ls")"
check_has 'the list has the reason' "asked at 'confirm'" "$(headgate gate ls >"$WORLD/ls"; echo "$WORLD/ls")"
check_equal 'JSON has it too' ladder "$(headgate gate show "$first" --json | jq -r .why)"
check_status 0 'deny one' headgate gate deny "$first" --reason 'use test'
check_has 'the equal one is named' 'waits for the same' "$OUT"
second=$(pending | head -n 1)
attempt=$(headgate gate show "$first" --json | jq -r .attempt)
was_repeated() { headgate gate ls --all --json | jq -e --arg a "$attempt" '.calls[] | select(.attempt == $a and .why == "repeat")'; }
until_true 20 was_repeated || die 'the repeated call was asked again'
was_repeated >"$WORLD/repeat"
check_has 'with the same words, marked' 'denied before, as c[0-9]+: use test' "$WORLD/repeat"
headgate gate deny --equal "$second" --reason 'use test' >/dev/null
until_true 20 has_pending 2 || die 'the last calls did not come'
check_status 0 'one decision for equal calls' headgate gate approve --equal "$(pending | head -n 1)"
check_equal 'which has a row for each' 2 "$(headgate gate log --text 'call.approved' --json | jq '.rows | length')"
until_true 20 is_done "$run.1" || die 'the first attempt did not end'
until_true 20 is_done "$run.2" || die 'the second attempt did not end'

# Who decided from another machine.
run_agent --ladder confirm --detach -- 'shell echo far' >/dev/null 2>&1
until_true 20 has_pending || die 'no call waits'
far=$(pending)
SSH_CONNECTION='192.0.2.7 5000 192.0.2.1 22' headgate gate approve "$far" >/dev/null
check_has 'the log says from where' 'by ssh from 192.0.2.7' "$(headgate gate show "$far" >"$WORLD/far"; echo "$WORLD/far")"
until_true 20 is_done "$(headgate gate show "$far" --json | jq -r .attempt)" || die 'the far attempt did not end'
run_agent --ladder confirm --detach -- 'shell echo watched' >/dev/null 2>&1
until_true 20 has_pending || die 'no call waits'
headgate gate watch --json >"$WORLD/watched" 2>&1 &
BACKGROUND=$!
until_true 20 grep -q '"state":"pending"' "$WORLD/watched" || die 'watch does not begin with what waits'
headgate gate approve "$(pending)" >/dev/null
until_true 20 grep -q '"state":"consumed"' "$WORLD/watched" || die 'watch does not tell the decision'
kill $BACKGROUND # it would start a server anew at the end
BACKGROUND=
pass 'watch tells calls and decisions'

# Padding hides no end of a command.
run_agent --ladder confirm --detach -- "shell true$(printf '%4000s' '') ; echo hidden-end" >/dev/null 2>&1
until_true 20 has_pending || die 'the padded call does not wait'
headgate gate ls >"$WORLD/padded"
check_has 'what is left out is told' 'true.*[0-9]+ blanks.*; echo hidden-end' "$WORLD/padded"
headgate gate deny --all --reason 'padded' >/dev/null

# Explained and proposed.
check_status 0 'explain' headgate gate explain "$first"
check_has 'says what was decided' 'use test' "$OUT"
check_status 0 'proposals' headgate gate rule add --from "$first"
check_has 'narrowest first' "^ +1\. allow exactly make same for command in run $run\$" "$OUT"
check_has 'with a preview' 'of the last [0-9]+ calls, [0-9]+ of them DENIED' "$OUT"
check_status 0 'pick one' headgate gate rule add --from "$first" --pick 2
check_lacks 'nothing waits that it covers' 'covers what waits' "$OUT"
check_status 0 'it is listed with its origin' headgate gate rule ls
check_has 'the call' "from $first" "$OUT"
check_status 0 'and decides' headgate gate explain "$first"
check_has 'as explain says' 'decides: it covers the whole call' "$OUT"
headgate gate rule export >"$WORLD/exported"
check_status 2 'a file of rules that is not there' headgate gate rule import "$WORLD/none"
check_has 'is said so' 'cannot read the rules.*none' "$OUT"
check_has 'export is the grammar' '^allow exactly make same for command in repo ' "$WORLD/exported"

# Approved and kept in one step; stored for good when it was always approved.
run_agent --ladder confirm --detach -- 'shell sh -c kept
shell make kept
shell make kept
shell make habit
shell make habit
shell make habit
shell make never' >/dev/null 2>&1
run=$(last_run)
until_true 20 has_pending || die 'no call waits'
for scope in "run $((run + 1))" "attempt $run.9" 'attempt x'; do
    check_status 1 "no rule for $scope, which there is not yet" headgate gate rule add "allow command git in $scope"
    check_has 'which is said' "there is no ${scope% *} ${scope#* }\$" "$OUT"
done
for scope in 'run 3x' 'run 03'; do
    check_status 2 "nor for $scope" headgate gate rule add "allow command git in $scope"
done
check_status 1 'nor for a repository that is not there' headgate gate rule add allow command git in repo "$WORLD/nowhere"
check_status 0 'a rule for the repository of a folder' headgate gate rule add allow command odd in repo "$WORLD/repo/src"
check_has 'is for all of its worktrees' " in repo $WORLD/repo/.git\$" "$OUT"
headgate gate rule export | grep odd >"$WORLD/odd"
check_status 0 'and is imported as it was exported' headgate gate rule import "$WORLD/odd"
headgate gate rule rm "$(headgate gate rule ls --json | jq -r '.rules[-1].id')"
check_status 2 'no rule for a kind of agent that is not there' headgate gate rule add deny path .github/ for cluade
check_has 'which names those that are' "there is no agent 'cluade'; there are claude, .*command" "$OUT"
check_status 2 'nor where the kind was a word of the command' headgate gate rule add allow exactly seek for work
printf 'allow exactly fine for claude\ndeny path x for nobody/reviewer in repo %s\n' "$WORLD/repo" >"$WORLD/unknown"
check_status 2 'nor from a file' headgate gate rule import "$WORLD/unknown"
check_has 'which says which it is' "rule 2, 'deny path x for nobody/reviewer" "$OUT"
check_status 1 'and none of it was made' sh -c "headgate gate rule ls | grep -E 'cluade|seek|fine'"
check_status 0 'every kind is one' headgate gate rule add ask exactly make rare for '*/reviewer'
headgate gate rule rm "$(headgate gate rule ls --json | jq -r '.rules[-1].id')"
check_status 1 'no export of a run that is not there' headgate gate log --export "$WORLD/of99" 99
check_has 'which is said' 'nothing of run 99' "$OUT"
check_status 2 'a state that no call has' headgate gate log --state bogus
check_status 2 'no rule covers a wrapper' headgate gate approve "$(pending)" --rule 1
check_has 'which is said' 'no rule can cover' "$OUT"
until_true 20 has_pending || die 'the second call did not come'
check_status 2 'a proposal that is not there' headgate gate approve "$(pending)" --rule 99
until_true 20 has_pending || die 'the third call did not come'
check_status 0 'a rule for what waits' headgate gate rule add "allow exactly make kept in run $run"
check_has 'says what it covers' "^it covers what waits already: headgate gate approve $(pending)\$" "$OUT"
headgate gate rule rm "$(headgate gate rule ls --json | jq -r '.rules[-1].id')"
check_status 0 'approve and keep' headgate gate approve "$(pending)" --rule 1
check_has 'makes the narrowest rule' "allow exactly make kept for command in run $run\$" "$OUT"
for _ in 1 2 3; do
    until_true 20 has_pending || die 'a habit was not asked'
    headgate gate approve "$(pending)" >/dev/null
done
until_true 20 has_pending || die 'the last call did not come'
headgate gate stats >"$WORLD/stats"
check_has 'a habit becomes a proposal' 'approved each time \(3\), like c[0-9]+; could be a rule' "$WORLD/stats"
check_has 'of the repository' 'allow exactly make habit for command in repo' "$WORLD/stats"
check_equal 'a rule that never matched' true "$(headgate gate stats --json | jq '.never_matched | keys | any(test("make kept"))')"
check_equal 'time to decision' true "$(headgate gate stats --json | jq '.by_person >= 6 and .wait_p50_ms >= 0 and .wait_p90_ms >= .wait_p50_ms')"
check_equal 'what is asked, by reason' true "$(headgate gate stats --json | jq '.asked_because.ladder > 5')"
check_status 0 'a rung for a kind that runs' headgate gate ladder command auto
check_has 'and how many' "1 attempt of command is at 'auto' now" "$OUT"
check_has 'with what waits and would pass' "^it covers what waits already: headgate gate approve $(pending)\$" "$OUT"
check_status 2 'no such kind' headgate gate ladder nobody auto
headgate gate approve --all >/dev/null
until_true 20 is_done "$run.1" || die 'the attempt with the habit did not end'

# A rule that is removed and a rung that is raised while the agent runs.
run_agent --ladder confirm --detach -- 'shell make same
shell echo hold
shell make same
shell echo third
shell echo fourth' >/dev/null 2>&1
run=$(last_run)
count_calls() { headgate gate ls --all --json "$run" | jq '.calls | length'; }
has_calls() { [ "$(count_calls)" -ge "$1" ]; }
until_true 20 has_calls 1 || die 'the covered call did not come'
check_equal 'the rule let it pass' rule "$(headgate gate ls --all --json "$run" | jq -r '.calls[0].why')"
rule=$(headgate gate rule ls --json | jq -r '.rules[0].id')
check_equal 'and its use is counted' 1 "$(headgate gate rule ls --json | jq -r '.rules[0].count')"
check_status 0 'remove it' headgate gate rule rm "r$rule"
until_true 20 has_pending || die 'the second call did not come'
headgate gate approve --all >/dev/null
until_true 20 has_calls 3 || die 'the third call did not come'
until_true 20 has_pending || die 'the removed rule still holds'
check_status 0 'raise the rung' headgate gate ladder "$run.1" auto
headgate gate approve --all >/dev/null
until_true 20 is_done "$run.1" || die 'the rung did not change'
check_equal 'the rung is shown' auto "$(headgate show "$run.1" --json | jq -r '.attempts[0].ladder')"
check_status 2 'no such rung' headgate gate ladder "$run" high
check_equal 'rungs by agent' confirm "$(git config --file "$XDG_CONFIG_HOME/headgate/config" gate.command.ladder confirm; run_agent --json -- 'print x' 2>/dev/null | jq -r '.rung // .run.ladder // .attempts[0].ladder')"

# A path counts where it leads.
headgate gate rule add allow path src/ >/dev/null
run_agent --ladder confirm --detach -- 'ungated ln -s ../out src/link; mkdir -p out; /bin/true
edit src/plain text
edit src/link/file text' >/dev/null 2>&1
run=$(last_run)
until_true 20 has_pending || die 'the edit through a link was not asked'
check_equal 'an edit through a link asks' src/link/file "$(headgate gate show "$(pending)" --json | jq -r '.args.file_path' | sed 's|.*/tree/||')"
check_equal 'and one below the folder passes' rule "$(headgate gate ls --all --json "$run" | jq -r '.calls[0].why')"
headgate gate approve --all >/dev/null
until_true 20 is_done "$run.1" || die 'the attempt with the link did not end'

# A program counts where it lies: one that the agent put into a folder of PATH is not what the rule names.
export PATH="$HOME/.local/bin:$PATH"
headgate gate rule add allow command make >/dev/null
run_agent --ladder confirm --detach -- "shell make test
ungated mkdir -p $HOME/.local/bin; printf '#!/bin/sh\ntouch planted' >$HOME/.local/bin/make; chmod 755 $HOME/.local/bin/make; /bin/true
shell make test
as s1 reviewer shell make other" >/dev/null 2>&1
run=$(last_run)
until_true 20 has_pending || die 'the planted program was not asked'
check_equal 'before, the rule covers it' rule "$(headgate gate ls --all --json "$run" | jq -r '.calls[0].why')"
headgate gate show "$(pending)" >"$WORLD/planted"
check_has 'planted, it is asked and why' "the program 'make' lies in a folder of PATH that the agent can write" "$WORLD/planted"
check_equal 'before and after' 2 "$(headgate gate ls --all --json "$run" | jq '.calls | length')"
headgate gate approve --all >/dev/null
until_true 20 has_pending || die 'the subagent was not asked'
check_status 0 'proposals for a subagent' headgate gate rule add --from "$(pending)"
headgate gate approve --all >/dev/null
until_true 20 is_done "$run.1" || die 'the attempt with the planted program did not end'

# Rules go to another store as text and come back the same.
headgate gate rule export >"$WORLD/before"
headgate gate rule ls --json | jq -r '.rules[].id' | xargs headgate gate rule rm
check_equal 'all are removed' 0 "$(headgate gate rule ls --json | jq '.rules | length')"
printf 'allow command ls\nallow nonsense\n' >"$WORLD/bad"
check_status 2 'a bad line' headgate gate rule import "$WORLD/bad"
check_has 'is named' 'line 2: ' "$OUT"
check_equal 'and nothing of its file is taken' 0 "$(headgate gate rule ls --json | jq '.rules | length')"
printf 'allow command ls\nallow tool Read in run 4711\nallow command make\n' >"$WORLD/bad"
check_status 1 'a run that is not there' headgate gate rule import "$WORLD/bad"
check_has 'is named, and which rule it is' 'rule 2: ' "$OUT"
check_equal 'nor is anything of that' 0 "$(headgate gate rule ls --json | jq '.rules | length')"
check_status 0 'import' headgate gate rule import "$WORLD/before"
headgate gate rule export >"$WORLD/after"
check 'the same rules' cmp "$WORLD/before" "$WORLD/after"

# Statistics and the log.
check_status 0 'statistics' headgate gate stats --json
check_equal 'asks per 100 calls' true "$(jq '.asks_per_100 > 0 and .by_tool.Bash.calls > 3 and .by_agent.command.asked > 1' "$OUT")"
check_equal 'filter by attempt' "$run.1" "$(headgate gate log "$run.1" --state consumed --json | jq -r '[.rows[].body.attempt] | unique | .[]')"
check_equal 'filter by tool' 0 "$(headgate gate log --tool Nothing --json | jq '.rows | length')"
check_equal 'filter by what a call would do' true "$(headgate gate log --text 'make other' --json | jq '.rows | length > 0 and all(.does.args.command == "make other")')"
check_equal 'filter by time' 0 "$(headgate gate log --until 1h --json | jq '.rows | length')"
headgate gate log -n 400 >"$WORLD/lines"
check_has 'the log reads well' 'call.denied .*c[0-9]+ [0-9.]+ by .* \(person\): Bash: make same \(use test\)' "$WORLD/lines"
check 'its lines are bounded' sh -c "! grep -E '.{300}' '$WORLD/lines'"
check_status 0 'export a run' headgate gate log "$run" --export "$WORLD/log"
check_lacks 'without what others did' 'use test' "$WORLD/log"
check_status 0 'it verifies' headgate gate verify --file "$WORLD/log"
check_status 0 'elsewhere, without a store' env XDG_STATE_HOME="$WORLD/nowhere" XDG_RUNTIME_DIR="$WORLD/nowhere" headgate gate verify "$WORLD/log"
check_has 'with what was asked' '"command":"make other"|"file_path"' "$WORLD/log"
sed '/"request"/s/make/fake/' "$WORLD/log" >"$WORLD/changed"
check_status 1 'a changed request' headgate gate verify "$WORLD/changed"
check_has 'is told' 'request is not the one that the log names' "$OUT"
sed '/"request"/{x;s/^/x/;/^x$/{x;d};x}' "$WORLD/log" >"$WORLD/changed"
check_status 1 'a missing request' headgate gate verify "$WORLD/changed"
check_status 2 'a file that is not there' headgate gate verify "$WORLD/none"
sed '/call.consumed/s/consumed/approved/' "$WORLD/log" >"$WORLD/changed"
check_status 1 'a changed row' headgate gate verify --file "$WORLD/changed"
check_has 'is named' 'row [0-9]+: .*changed' "$OUT"
sed 5d "$WORLD/log" >"$WORLD/missing"
check_status 1 'a missing row' headgate gate verify --file "$WORLD/missing"
sed '$d' "$WORLD/log" >"$WORLD/cut"
check_status 1 'a cut end' headgate gate verify --file "$WORLD/cut"
check_status 0 'the store verifies' headgate gate verify

# A rule that cannot be read, of a newer version say, ends what it would have judged, and says how to go on.
check_status 0 'a rule' headgate gate rule add allow command make newer
rule=$(headgate gate rule ls --json | jq '[.rules[].id] | max')
sqlite3 "$(echo "$XDG_STATE_HOME"/headgate/*/state.db)" "UPDATE rule SET text = 'allow riddle make newer' WHERE id = $rule"
check_status 1 'a run beside it fails' timeout 60 headgate run -- true
check_equal 'at once' failed "$(outcome_of "$(last_run).1")"
check 'with the rule and the remedy' sh -c "headgate show $(last_run).1 | grep -q 'gate rule rm r$rule'"
check_status 0 'which works' headgate gate rule rm "r$rule"
check_status 0 'and runs go on' headgate run -- true
