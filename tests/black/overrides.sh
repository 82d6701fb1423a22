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
check_status 1 'run: rw of .git refused' headgate run --rw . -- true; tail -2 "$OUT"
headgate run --detach --rw "$WORLD/shared" -- sh -c 'touch x; sleep 30' >/dev/null; r=$(last_run); until_true 20 is_running "$r.1"
check_status 1 'run: second rw refused' headgate run --rw "$WORLD/shared" -- true; headgate show "$(last_run).1" | head -12
headgate stop "$r" >/dev/null
check_status 0 'run: rw free again' headgate run --rw "$WORLD/shared" -- true; headgate show "$(last_run).1" | head -8
mkdir -p "$HOME/.fly/bin" "$HOME/.nvm/v1/bin"; echo token >"$HOME/.fly/config.yml"; echo t >"$HOME/.nvm/v1/.npmrc"; echo '#!/bin/sh' >"$HOME/.fly/bin/fly"; echo '#!/bin/sh' >"$HOME/.nvm/v1/bin/n"; chmod -R a+rx "$HOME/.fly" "$HOME/.nvm"; chmod a+rx "$HOME"
check_equal 'token beside bin absent' 'fly |' "$(PATH=$HOME/.fly/bin:$HOME/.nvm/v1/bin:$PATH headgate box -- sh -c 'echo $(ls $HOME/.fly/bin) "$(cat $HOME/.fly/config.yml 2>/dev/null)|$(cat $HOME/.nvm/v1/.npmrc)"')"
exit $FAILED
