#!/bin/sh
# Commands that need a person's credentials: git push and fetch over ssh (a real sshd on loopback) and https, typed in
# a box as always, asked, carried out outside with the person's key, on what was harvested. Nothing that an agent can
# write has an effect, no credential is in its box, and what waits or runs when the server is killed is told truthfully.
. "$(dirname "$0")/../lib.sh"
for program in sshd ssh-keygen; do PATH=$PATH:/usr/sbin command -v $program >/dev/null || skip "$program is not installed"; done

# ---- a server on loopback that lets one throw-away key in ----
mkdir -p "$HOME/.ssh" "$WORLD/sshd" "$WORLD/srv"
chmod 700 "$HOME/.ssh"
ssh-keygen -q -t ed25519 -N '' -C marker-of-the-key -f "$HOME/.ssh/id_ed25519"
ssh-keygen -q -t ed25519 -N '' -f "$WORLD/sshd/host"
cp "$HOME/.ssh/id_ed25519.pub" "$WORLD/sshd/authorized"
port=$((20000 + $$ % 20000))
cat >"$WORLD/sshd/config" <<CONF
Port $port
ListenAddress 127.0.0.1
HostKey $WORLD/sshd/host
AuthorizedKeysFile $WORLD/sshd/authorized
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin yes
CONF
[ "$(id -u)" != 0 ] || mkdir -p /run/sshd
/usr/sbin/sshd -D -e -f "$WORLD/sshd/config" 2>"$WORLD/sshd/log" &
BACKGROUND="$BACKGROUND $!"
known() { ssh-keyscan -p $port 127.0.0.1 2>/dev/null >"$HOME/.ssh/known_hosts" && [ -s "$HOME/.ssh/known_hosts" ]; }
until_true 20 known || die "sshd did not start: $(cat "$WORLD/sshd/log")"
# ssh finds its files by the account, not by HOME.
cat >"$HOME/.ssh/config" <<CONF
IdentityFile $HOME/.ssh/id_ed25519
UserKnownHostsFile $HOME/.ssh/known_hosts
CONF
git config --global core.sshCommand "ssh -F $HOME/.ssh/config"

make_repo "$WORLD/repo"
cd "$WORLD/repo"
git clone -q --bare "$WORLD/repo" "$WORLD/srv/app.git"
git remote add origin "ssh://$(id -un)@127.0.0.1:$port$WORLD/srv/app.git"
at_remote() { git -C "$WORLD/srv/app.git" rev-parse -q --verify "refs/heads/$1"; }

# start NAME OPTIONS -- SCRIPT: a run of a shell script, detached; its attempt is $attempt.
start() {
    name=$1 options=
    shift
    while [ "$1" != -- ]; do options="$options $1" && shift; done
    # shellcheck disable=SC2086
    headgate run --detach $options -- sh -c "$2" >"$WORLD/$name.run" 2>&1 || die "$(cat "$WORLD/$name.run")"
    attempt=$(last_run).1
}
# done_as NAME: wait for its end; its output is in $WORLD/NAME.
done_as() {
    until_true 60 is_done "$attempt" || fail "$1: the attempt does not end"
    headgate logs "$attempt" >"$WORLD/$1" 2>&1
}
call_of() { headgate gate show --json "$1" | jq -r "$2"; }

# ---- a push that is approved ----
start push -- 'echo new >fresh.txt; git add -A; git commit -qm "Add a file"
git remote -v; git rev-parse HEAD; git push -u origin HEAD:fix/one; echo "status $?"
git rev-parse origin/fix/one; git config branch."$(git symbolic-ref --short HEAD)".merge'
until_true 60 has_pending || die "nothing is asked: $(headgate logs "$attempt")"
call=$(pending)
check_equal 'the call shows what was typed' '["git","push","-u","origin","HEAD:fix/one"]' \
    "$(call_of "$call" .args.argv | jq -c .)"
check_equal 'where it leads' "ssh://$(id -un)@127.0.0.1:$port$WORLD/srv/app.git" "$(call_of "$call" .args.url)"
check_equal 'and to which branch' refs/heads/fix/one "$(call_of "$call" .args.ref)"
check_equal 'nothing is pushed before' '' "$(at_remote fix/one)"
headgate gate approve "$call" >/dev/null
done_as push
commit=$(git -C "$WORLD/repo" rev-parse "headgate/$(last_run)/1")
check_has 'git tells the agent that it worked' '^status 0$' "$WORLD/push"
check_has 'in the words of git' '\[new branch\]' "$WORLD/push"
check_equal 'the remote has the harvested commit' "$commit" "$(at_remote fix/one)"
check_equal 'which is the one that was shown' "$commit" "$(call_of "$call" .args.commit)"
check_has 'the remote is shown with its address' "^origin[[:space:]]+ssh://$(id -un)@127.0.0.1:$port" "$WORLD/push"
check_has 'the branch has an upstream' '^refs/heads/fix/one$' "$WORLD/push"
headgate gate log --json >"$WORLD/gate.json"
check_has 'the log has what came of it' '"kind": ?"broker"' "$WORLD/gate.json"
exit 0
