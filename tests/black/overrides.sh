#!/bin/sh
# Paths, masks and variables that a person adds by configuration and on the command line.
. "$(dirname "$0")/../lib.sh"
mkdir "$WORLD/cache" "$WORLD/shared"; echo c >"$WORLD/cache/f"; chmod 777 "$WORLD/shared"
make_repo "$WORLD/repo"; cd "$WORLD/repo"; chmod 777 .
git config -f "$XDG_CONFIG_HOME/headgate/config" --add box.ro "$WORLD/cache"
git config -f "$XDG_CONFIG_HOME/headgate/config" --add box.ro "$WORLD/absent"
git config -f "$XDG_CONFIG_HOME/headgate/config" --add box.env CONFIGURED=yes
git config -f "$XDG_CONFIG_HOME/headgate/config" --add box.mask README
check_equal 'box: configured ro, env' 'c yes' "$(headgate box -- sh -c "echo \$(cat $WORLD/cache/f) \$CONFIGURED")"
check_equal 'box: --env' 'v w' "$(B=w headgate box --env A=v --env B -- sh -c 'echo $A $B')"
check_equal 'box: configured mask' '' "$(headgate box -- cat README)"
check_equal 'box: --mask' '' "$(headgate box --mask Makefile -- cat Makefile)"
check_status 0 'run' headgate run --mask Makefile --env NAMED=n -- sh -c "echo \"[\$(cat $WORLD/cache/f)|\$CONFIGURED|\$NAMED|\$(cat README)|\$(cat Makefile)]\""
headgate logs "$(last_run).1" >"$OUT"; check_has 'run: all overrides' '\[c\|yes\|n\|\|\]' "$OUT"
echo s >later; git add later; git commit -qm Later; git rm -q later; git commit -qm Gone
check_status 0 'run: a mask of what only the base has' headgate run --base HEAD~1 --mask later -- sh -c 'test -e later && cat later; test ! -s later'
check_status 1 'run: rw of .git refused' headgate run --rw . -- true; tail -2 "$OUT"
headgate run --detach --rw "$WORLD/shared" -- sh -c 'touch x; sleep 30' >/dev/null; r=$(last_run); until_true 20 is_running "$r.1"
check_status 1 'run: second rw refused' headgate run --rw "$WORLD/shared" -- true; headgate show "$(last_run).1" | head -12
headgate stop "$r" >/dev/null
check_status 0 'run: rw free again' headgate run --rw "$WORLD/shared" -- true; headgate show "$(last_run).1" | head -8
mkdir -p "$HOME/.fly/bin" "$HOME/.nvm/v1/bin"; echo token >"$HOME/.fly/config.yml"; echo t >"$HOME/.nvm/v1/.npmrc"; echo '#!/bin/sh' >"$HOME/.fly/bin/fly"; echo '#!/bin/sh' >"$HOME/.nvm/v1/bin/n"; chmod -R a+rx "$HOME/.fly" "$HOME/.nvm"; chmod a+rx "$HOME"
check_equal 'token beside bin absent' 'fly |' "$(PATH=$HOME/.fly/bin:$HOME/.nvm/v1/bin:$PATH headgate box -- sh -c 'echo $(ls $HOME/.fly/bin) "$(cat $HOME/.fly/config.yml 2>/dev/null)|$(cat $HOME/.nvm/v1/.npmrc)"')"

# A secret: the set-up command has it, and nothing after it, however long the set-up's children live.
git config -f "$XDG_CONFIG_HOME/headgate/config" worktree.setup 'printf "%s" "$DEPLOY_TOKEN" | wc -c >length; setsid sleep 100 & setsid env >/dev/null'
export DEPLOY_TOKEN=very-secret-token-8472
check_status 0 'secret: runs' headgate run --secret DEPLOY_TOKEN -- sh -c 'cat length; echo "[$DEPLOY_TOKEN]"; grep -lz 8472 /proc/[0-9]*/environ 2>/dev/null; pgrep -c sleep; true'
headgate logs "$(last_run).1" >"$OUT"
check_equal 'secret: the set-up alone' '22 [] 0' "$(xargs <"$OUT")"
check_equal 'secret: not in any file of the attempt' '' "$(grep -rl very-secret-token "$XDG_STATE_HOME"/headgate/*/attempts || :)"
check_equal 'secret: not in what is shown' '' "$({ headgate show "$(last_run).1" --json; headgate ls --json; headgate trace "$(last_run).1"; headgate gate log; } 2>&1 | grep 'token-8472' || :)"
check_equal 'secret: nor anywhere else in the state' '' "$(grep -rl very-secret-token "$XDG_STATE_HOME" 2>/dev/null || :)"
check_equal 'secret: control: its name is' 1 "$(grep -rl DEPLOY_TOKEN "$XDG_STATE_HOME" 2>/dev/null | head -n 1 | wc -l)"
# One that had not begun when the server died cannot know it any more, says so, and goes on from a shell that has it.
headgate run -j 1 --ladder confirm --detach --secret DEPLOY_TOKEN -n 2 -- sh -c 'printf "%s" "{\"tool\":\"Bash\",\"args\":{\"command\":\"x\"}}" | headgate-hook >/dev/null; cat length' >"$OUT" 2>&1 || cat "$OUT"
r=$(last_run)
until_true 20 has_pending || die 'secret: no call came'
check_equal 'secret: not while one waits in line' '' "$(grep -rl very-secret-token "$XDG_STATE_HOME" 2>/dev/null || :)"
kill -9 "$(server_pid)"
until_true 20 has_pending && headgate gate approve "$(pending)" >/dev/null
until_true 20 is_done "$r.2" || die "secret: $r.2 does not end"
headgate show "$r.2" >"$OUT"; check_has 'secret: forgotten with the server, and said' "headgate resume --secret DEPLOY_TOKEN $r.2" "$OUT"
check_status 2 'secret: one that is not set' headgate resume --secret NOT_SET_ANYWHERE "$r.2"
check_status 0 'secret: brought again' headgate resume --secret DEPLOY_TOKEN "$r.2"
until_true 20 has_pending && headgate gate approve "$(pending)" >/dev/null
until_true 20 is_done "$r.2"; headgate logs "$r.2" >"$OUT"; check_has 'secret: and the set-up has it' '22' "$OUT"
check_status 0 'secret: execs of the set-up raise no card' headgate run --exec ask --ladder auto --secret DEPLOY_TOKEN -- /bin/true
check_status 2 'secret: unset' headgate run --secret NOT_SET_ANYWHERE -- true
check_status 2 'secret: a value on the command line' headgate run --secret DEPLOY_TOKEN=x -- true
git config -f "$XDG_CONFIG_HOME/headgate/config" worktree.setup 'exit 3'
check_status 1 'set-up fails: so does the attempt' headgate run -- sh -c 'echo the agent ran'
headgate logs "$(last_run).1" >"$OUT"; check_has 'set-up fails: said' 'the set-up command failed' "$OUT"; check_lacks 'set-up fails: no agent' 'the agent ran' "$OUT"
git config -f "$XDG_CONFIG_HOME/headgate/config" --unset worktree.setup
check_status 2 'secret: without a set-up' headgate run --secret DEPLOY_TOKEN -- true
check_has 'secret: without a set-up, says what to do' 'worktree.setup' "$OUT"

# Hosts of the configuration hold for the box command too: a request that is let through finds nobody at home, one that is not is denied.
git config -f "$XDG_CONFIG_HOME/headgate/config" box.net 127.0.0.1:9
ask='exec 3<>"/dev/tcp/${HEADGATE_PROXY%:*}/${HEADGATE_PROXY#*:}" && printf "CONNECT 127.0.0.1:%s HTTP/1.1\r\n\r\n" "$1" >&3 && head -n 1 <&3'
headgate box -- bash -c "$ask" - 9 >"$OUT"; check_has 'box.net: listed in the configuration' ' 502 | 504 ' "$OUT"
headgate box -- bash -c "$ask" - 10 >"$OUT"; check_has 'box.net: another port is not' ' 403 ' "$OUT"
headgate box --net 127.0.0.1:10 -- bash -c "$ask" - 10 >"$OUT"; check_has '--net adds to it' ' 502 | 504 ' "$OUT"
exit $FAILED
