#!/bin/sh
# Settings of agents and editors in a project: read-only in the box with the content they have, absent ones without a
# stand-in, git none the wiser; what people rely on stays theirs to change.
. "$(dirname "$0")/../lib.sh"

kept='.mcp.json .claude/settings.json .claude/settings.local.json .claude/hooks/pre.sh .codex/config.toml .codex/hooks.json
.opencode/plugin/gate.js opencode.json .gemini/settings.json .qwen/settings.json .cursor/mcp.json .headgate
.vscode/tasks.json .idea/workspace.xml .envrc'
free='CLAUDE.md AGENTS.md .claude/skills/s/SKILL.md .claude/commands/c.md .claude/agents/a.md src/app.txt'
make_repo "$WORLD/repo"
cd "$WORLD/repo"
for f in $kept $free; do
    mkdir -p "$(dirname "$f")"
    echo "# $f" >"$f"
done
git add -A -f && git commit -q -m 'Settings'
# What an agent may try, by any way that changes what a name means.
cat >"$WORLD/try.sh" <<'T'
cd "$1"
for f in $KEPT; do
    grep -qx "# $f" "$f" || echo "CONTENT $f"
    { echo evil >"$f"; } 2>/dev/null && echo "WRITTEN $f"
    echo evil >new && mv -f new "$f" 2>/dev/null && echo "REPLACED $f"
    rm -f "$f" 2>/dev/null; [ -e "$f" ] || echo "REMOVED $f"
    top=${f%%/*}
    mv "$top" moved 2>/dev/null && echo "MOVED $top"
    ln "$f" link 2>/dev/null && { echo evil >link; } 2>/dev/null && echo "LINKED $f"
    grep -qx "# $f" "$f" || echo "CHANGED $f"
done
rm -f new link
[ -z "${WITH_GIT:-}" ] || { git status --porcelain; git add . && git status --porcelain; }
for f in $FREE; do echo more >>"$f" || echo "REFUSED $f"; done
echo done
T
headgate_run() {
    headgate run --ro "$WORLD/try.sh" --env "KEPT=$(echo $kept)" --env "FREE=$free" --env WITH_GIT=1 "$@" \
        -- sh -c "sh '$WORLD/try.sh' ."
    headgate logs "$(last_run).1" >"$WORLD/log"
}
for pair in $(engines_here); do
    engine=${pair%%:*}
    state_on "${pair#*:}"
    check_status 0 "$engine: runs" headgate_run --engine "$engine"
    check_equal "$engine: settings stay as they are, git sees nothing, the rest can be changed" 'done' "$(cat "$WORLD/log")"
done
# A subfolder's own settings count where the run starts there.
mkdir -p sub/deep/.claude && echo x >sub/deep/.claude/settings.json && git add -A -f && git commit -q -m Sub
cd sub/deep
check_status 0 'subfolder: runs' headgate run -- sh -c 'echo evil >.claude/settings.json || echo kept'
headgate logs "$(last_run).1" >"$WORLD/log"
check_has 'subfolder: kept' '^kept$' "$WORLD/log"
cd ../..

# Absent ones: no stand-in, and creating one is possible.
git rm -rq .vscode .mcp.json .claude/settings.local.json && git commit -q -m 'Fewer'
check_status 0 'absent: runs' headgate run -- sh -c 'ls -A .vscode .mcp.json .claude/settings.local.json 2>/dev/null; git status --porcelain; echo {} >.mcp.json && echo created'
headgate logs "$(last_run).1" >"$WORLD/log"
check_equal 'absent: nothing there, can be created' created "$(cat "$WORLD/log")"
headgate show "$(last_run).1" >"$WORLD/show"
check_has 'absent: what was created is on the review list' 'agent settings.*\.mcp\.json' "$WORLD/show"

# Named writable they are the agent's to change, in its worktree alone. The negative control of all above.
check_status 0 'lifted: runs' headgate run --rw .codex --rw .idea/workspace.xml -- sh -c 'echo evil >.codex/config.toml; echo evil >.idea/workspace.xml; echo evil >opencode.json; git diff --name-only'
headgate logs "$(last_run).1" >"$WORLD/log"
check_equal 'lifted: changed' '.codex/config.toml .idea/workspace.xml' "$(grep -o '^\.[a-z/.]*$' "$WORLD/log" | xargs)"
check_equal 'lifted: not in the checkout' '# .codex/config.toml' "$(cat .codex/config.toml)"

# The box command: the same in the current folder, and .git, whose hooks and configuration the host obeys.
chmod -R a+rwX .
git status --porcelain >"$WORLD/before"
check_equal 'box: settings stay' 'done' "$(KEPT='.claude/settings.json .codex/config.toml .headgate .git/config' FREE='' headgate box --env KEPT --env FREE --ro "$WORLD/try.sh" -- sh "$WORLD/try.sh" . 2>&1 | grep -v '^CONTENT .git/config\|^CHANGED .git/config')"
check_status 2 'box: .git is read-only' headgate box -- sh -c 'echo x >>.git/config'
check_status 1 'box: no hook' headgate box -- touch .git/hooks/post-checkout
check_status 1 'box: .git stays in place' headgate box -- mv .git moved
check_status 0 'box: git reads' headgate box -- git -c safe.directory='*' log -1
check_status 0 'box: unless named' headgate box --rw .git -- touch .git/x
check_status 0 'box: unless named (agent settings)' headgate box --rw .claude/settings.json -- sh -c 'echo changed >.claude/settings.json'
git checkout -q .claude && git status --porcelain >"$WORLD/after"
check 'box: the host sees nothing' cmp "$WORLD/before" "$WORLD/after"

# Other repositories that are shown writable: their .git and settings too, for an attempt as well.
make_repo "$WORLD/other" && mkdir "$WORLD/other/.vscode" && echo x >"$WORLD/other/.vscode/tasks.json" && chmod -R a+rwX "$WORLD/other"
try='touch "$0/new"; for f in .git/config .git/hooks/x .vscode/tasks.json; do { echo evil >>"$0/$f"; } 2>/dev/null && echo "WRITTEN $f"; done; echo tried'
check_equal 'box: another repository' tried "$(headgate box --rw "$WORLD/other" -- sh -c "$try" "$WORLD/other")"
check_equal 'box: unless its .git is named' 'WRITTEN .git/config WRITTEN .git/hooks/x tried' "$(headgate box --rw "$WORLD/other" --rw "$WORLD/other/.git" -- sh -c "$try" "$WORLD/other" | xargs)"
check_status 0 'run: another repository' headgate run --rw "$WORLD/other" -- sh -c "$try" "$WORLD/other"
headgate logs "$(last_run).1" >"$WORLD/log"
check_equal 'run: another repository is kept' tried "$(cat "$WORLD/log")"

# A link in the place of a setting: what it leads to stays.
rm -rf .claude && mkdir conf && echo '# real' >conf/settings.json && ln -s conf .claude && git add -A && git commit -q -m Links
check_status 0 'link: runs' headgate run -- sh -c 'echo evil >conf/settings.json || echo kept; mv conf x 2>/dev/null || echo stays; cat .claude/settings.json'
headgate logs "$(last_run).1" >"$WORLD/log"
check_equal 'link: kept' 'kept stays # real' "$(grep -v 'sh:' "$WORLD/log" | xargs)"
exit $FAILED
