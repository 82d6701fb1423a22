#!/bin/sh
# Tasks from files and standard input, with templates.
. "$(dirname "$0")/../lib.sh"

make_repo "$WORLD/repo"
cd "$WORLD/repo"
collect() { # run number: the tasks as the agents saw them, in order
    for n in $(seq "$2"); do git show "headgate/$1/$n:task"; done
}
put='printf "%s\n" "$HEADGATE_TASK" >task'

printf '[{"number":7,"title":"Crash on \\"start\\"","body":"It {{breaks}}\\nbadly"},{"number":8,"title":"Slow","body":""}]' >"$WORLD/issues.json"
check_status 0 'a JSON array' headgate run --tasks "$WORLD/issues.json" --template 'Fix #{{number}}: {{title}}
{{body}}' -- sh -c "$put"
check_equal 'templates are filled once' 'Fix #7: Crash on "start"
It {{breaks}}
badly
Fix #8: Slow' "$(collect "$(last_run)" 2 | sed '/^$/d')"

printf '{"title":"one"}\n{"title":"two"}\n' | headgate run --tasks - --template '{{title}}' -- sh -c "$put" >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
check_equal 'JSON lines' 'one
two' "$(collect "$(last_run)" 2)"

printf 'first task\n\nsecond task\n' | headgate run -n 2 --tasks - -- sh -c "$put" >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
check_equal 'plain lines, two attempts for each' 'first task
first task
second task
second task' "$(collect "$(last_run)" 4)"

headgate run -p 'a task' -p 'another' -- sh -c "$put" >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
check_equal 'prompts' 'a task
another' "$(collect "$(last_run)" 2)"
mkdir -p sub && echo s >sub/s && git add sub && git commit -qm sub && cd sub
headgate run -- sh -c 'pwd >where; git add where' >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
check 'an agent starts in the subfolder where it was typed' sh -c "git show headgate/$(last_run)/1:sub/where | grep -q '/sub\$'"
