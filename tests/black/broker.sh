#!/bin/sh
# Commands that need a person's credentials: git push and fetch over ssh (a server on loopback), typed in
# a box as always, asked, carried out outside with the person's key, on what was harvested. Nothing that an agent can
# write has an effect, no credential is in its box, and what waits or runs when the server is killed is told truthfully.
. "$(dirname "$0")/../lib.sh"
python3 -c "import paramiko" 2>/dev/null || skip "no python3-paramiko"

# ---- a server on loopback that lets one throw-away key in ----
mkdir -p "$HOME/.ssh" "$WORLD/sshd" "$WORLD/srv"
chmod 700 "$HOME/.ssh"
ssh-keygen -q -t ed25519 -N '' -C marker-of-the-key -f "$HOME/.ssh/id_ed25519"
ssh-keygen -q -t ed25519 -N '' -f "$WORLD/sshd/host"
python3 "$TESTS/fake/sshd.py" "$WORLD/sshd/host" "$HOME/.ssh/id_ed25519.pub" "$WORLD/sshd/port" >"$WORLD/sshd/log" 2>&1 &
BACKGROUND="$BACKGROUND $!"
until_true 20 test -s "$WORLD/sshd/port" || die "no ssh server: $(cat "$WORLD/sshd/log")"
port=$(cat "$WORLD/sshd/port")
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

# ---- a push that is denied; what is not carried out is refused without asking ----
start denied -- 'bash -lc "command -v git"; echo x >x; git add -A; git commit -qm x; git push origin HEAD:fix/two; echo "status $?"
git -c core.sshCommand="touch $HOME/pwned" push origin HEAD:a; git push --receive-pack="touch $HOME/pwned" origin HEAD:b
git push --exec=x origin HEAD:c; git push -f origin HEAD:d; git push origin +HEAD:e; git push origin :main
git push origin HEAD:refs/tags/v1; git push origin HEAD:f HEAD:g; git push --mirror origin; git push origin "HEAD~1:h"
git fetch --upload-pack="touch $HOME/pwned" origin; git push ext::"touch $HOME/pwned" HEAD:i; gh api user; echo "api $?"'
until_true 60 has_pending || die 'the second push is not asked'
headgate gate deny "$(pending)" --reason 'squash it first' >/dev/null
done_as denied
check_has 'a denial says so' '^git: a person denied this \(c[0-9]+\):' "$WORLD/denied"
check_has 'with the words of the person' '^squash it first$' "$WORLD/denied"
check_has 'and a status' '^status 1$' "$WORLD/denied"
check_equal 'nothing was pushed' '' "$(at_remote fix/two)"
check_has '-c is refused' 'git -c is not carried out' "$WORLD/denied"
check_has '--receive-pack is refused' '--receive-pack is not carried out with push' "$WORLD/denied"
check_has '--exec is refused' '--exec is not carried out with push' "$WORLD/denied"
check_equal 'a forced push names what it replaces' 2 "$(grep -c 'force-with-lease=BRANCH:COMMIT' "$WORLD/denied")"
check_has 'a branch is not deleted' 'branches are deleted by a person' "$WORLD/denied"
check_has 'a push goes to a branch' 'a push goes to a branch' "$WORLD/denied"
check_has 'to one' 'a push is of one branch' "$WORLD/denied"
check_has 'of a branch' 'what is pushed is HEAD or a branch' "$WORLD/denied"
check_has '--upload-pack is refused' '--upload-pack is not carried out with fetch' "$WORLD/denied"
check_equal 'and none of it was asked' 0 "$(pending | wc -l)"
git -C "$WORLD/srv/app.git" for-each-ref --format='%(refname)' >"$WORLD/refs"
check_equal 'the remote has main and the one that was approved' 2 "$(wc -l <"$WORLD/refs")"
check_has 'a login shell finds it too' '^/run/headgate/shims/git$' "$WORLD/denied"

# ---- what an agent writes has no effect; the control shows that it would have ----
start attack -- 'cat >bad.sh <<X
#!/bin/sh
touch '"$WORLD"'/pwned; exit 1
X
chmod +x bad.sh; mkdir -p "$(git rev-parse --git-dir)/hooks"
cp bad.sh "$(git rev-parse --git-dir)/hooks/pre-push"; git add -A; git commit -qm attack
here=$PWD
git config core.sshCommand "touch '"$WORLD"'/pwned; false"
git config url."'"$WORLD"'/srv/evil.git".insteadOf "$(git config remote.origin.url)"
git config remote.origin.pushurl "'"$WORLD"'/srv/evil.git"; git config remote.origin.url "ext::touch '"$WORLD"'/pwned"
git config remote.origin.receivepack "touch '"$WORLD"'/pwned"; git config credential.helper "!touch '"$WORLD"'/pwned"
git config core.hooksPath "$here"; git config push.pushOption x; git config push.followTags true; git config protocol.ext.allow always
GIT_SSH_COMMAND="touch '"$WORLD"'/pwned" git push origin HEAD:fix/three; echo "status $?"'
until_true 60 has_pending || die "the attack is not asked: $(headgate logs "$attempt")"
check_equal 'the address is still the one of the person' "ssh://$(id -un)@127.0.0.1:$port$WORLD/srv/app.git" \
    "$(call_of "$(pending)" .args.url)"
headgate gate approve "$(pending)" >/dev/null
done_as attack
check_has 'it is pushed' '^status 0$' "$WORLD/attack"
check_equal 'to where the person has it' "$(git rev-parse "headgate/$(last_run)/1")" "$(at_remote fix/three)"
check 'nothing of it ran on the host' test ! -e "$WORLD/pwned"
private=$(echo "$XDG_STATE_HOME"/headgate/*/attempts/"$attempt"/git)
GIT_DIR=$private git -c safe.directory='*' push origin HEAD:fix/control >/dev/null 2>&1 || :
check 'control: with the configuration of the box it would have' test -e "$WORLD/pwned"
rm -f "$WORLD/pwned"

# ---- no credential is in the box ----
start secrets -- 'env; ls -la ~ ~/.ssh; cat ~/.ssh/id_ed25519; ls -laR /run/headgate
ssh -o BatchMode=yes -o StrictHostKeyChecking=no -p '"$port"' 127.0.0.1 true; echo "ssh $?"
touch /run/headgate/inbox/x; echo "inbox $?"; (echo x >/run/headgate/shims/git); echo "shim $?"; mv /run/headgate/shims/git /tmp; echo "move $?"
/usr/bin/git push origin HEAD:direct; echo "git $?"'
# Connections may be asked: allowed, they still meet a server that wants a key.
over() { is_done "$attempt" || { headgate gate approve --all >/dev/null 2>&1; false; }; }
until_true 60 over || fail 'the way around does not end'
done_as secrets
secret=$(sed -n 2p "$HOME/.ssh/id_ed25519")
check_lacks 'no key' "$secret|PRIVATE KEY|SSH_AUTH_SOCK" "$WORLD/secrets"
check_lacks 'ssh from the box does not get in' '^ssh 0$' "$WORLD/secrets"
check_lacks 'what is fetched and the shims are read-only' '^(inbox|shim|move) 0$' "$WORLD/secrets"
check_lacks 'nor does the real git' '^git 0$' "$WORLD/secrets"
check_equal 'so nothing came' '' "$(at_remote direct)"

# ---- a push that is not the broker's is asked all the same, and is the box's own ----
start forked -- 'git init -q --bare $HOME/fork.git; git remote add fork $HOME/fork.git; git commit -q --allow-empty -m x
git push -q fork HEAD:a; echo "first $?"; git push -q fork HEAD:a; echo "second $?"; git fetch -q fork; echo "fetch $?"'
until_true 60 has_pending || die "the push to another remote is not asked: $(headgate logs "$attempt")"
check_equal 'as what it is' 'shim shell' "$(call_of "$(pending)" '"\(.source) \(.tool)"')"
headgate gate deny "$(pending)" --reason 'not there' >/dev/null
until_true 60 is_done "$attempt" || fail 'the attempt does not end'
done_as forked
check_has 'denied, it does not run' '^first 1$' "$WORLD/forked"
check_has 'the same again is answered the same' '^second 1$' "$WORLD/forked"
check_has 'fetching from it is not asked' '^fetch 0$' "$WORLD/forked"

# ---- what another repository's configuration runs is not let pass as the broker's business ----
cat >"$WORLD/nested.sh" <<'NESTED'
git init -q --bare sub; git -C sub config remote.origin.url .; git -C sub config remote.origin.uploadpack 'touch ../ran;'
for command in "git -C sub fetch origin" "git -C sub ls-remote origin"; do
    printf '{"tool":"Bash","args":{"command":"%s"}}' "$command" | headgate-hook; $command; echo "nested $?"; ls ran
done
NESTED
start nested --ladder edits -- "$(cat "$WORLD/nested.sh")"
for command in fetch ls-remote; do
    until_true 60 has_pending || die "a $command of another repository is not asked: $(headgate logs "$attempt")"
    check_equal "a $command of another repository is asked" "shim git -C sub $command origin" \
        "$(call_of "$(pending)" '"\(.source) \(.args.command | join(" "))"')"
    headgate gate deny "$(pending)" --reason 'not that' >/dev/null
done
done_as nested
check_equal 'denied, it does not run' 2 "$(grep -c '^nested 1$' "$WORLD/nested")"
check_lacks 'nor what it names' '^ran$' "$WORLD/nested"
start control --ladder auto -- "$(cat "$WORLD/nested.sh")"
done_as control
check_has 'control: at auto it does' '^ran$' "$WORLD/control"

# ---- the branch moved after it was asked ----
start moved -- 'git commit -q --allow-empty -m one; git push origin HEAD:fix/moved; echo "status $?"'
until_true 60 has_pending || die 'the push is not asked'
# Its terminal's input stays open until the command has ended.
inside() {
    mkfifo "$WORLD/typed"
    script -qec "headgate enter $attempt -- $*" /dev/null <"$WORLD/typed" &
    entered=$!
    exec 9>"$WORLD/typed"
    wait $entered && exec 9>&- && rm "$WORLD/typed"
}
check 'a commit comes meanwhile' inside git commit -q --allow-empty -m two
headgate gate approve "$(pending)" >/dev/null
done_as moved
check_has 'what was not shown is not pushed' 'another commit than when this was asked' "$WORLD/moved"
check_equal 'at all' '' "$(at_remote fix/moved)"

# ---- a branch of its own name, a forced push that names what it replaces ----
start own -- 'git switch -qc topic; git commit -q --allow-empty -m topic; git push -u origin topic; old=$(git rev-parse HEAD)
git commit -q --amend --allow-empty -m better; git push --force-with-lease=topic:$old origin topic; echo "status $?"
git status -sb | head -1'
until_true 60 has_pending || die 'the push is not asked'
headgate gate approve "$(pending)" >/dev/null
until_true 60 has_pending || die 'the forced push is not asked'
headgate gate approve "$(pending)" >/dev/null
done_as own
check_has 'it works' '^status 0$' "$WORLD/own"
check_has 'and git knows' '^## topic\.\.\.origin/topic$' "$WORLD/own"
check_equal 'at the remote' better "$(git -C "$WORLD/srv/app.git" log -1 --format=%s topic)"

# ---- nobody waits for it: an agent's command ends after a while, and what was asked stays ----
start left -- 'git commit -q --allow-empty -m left; export HEADGATE_PATIENCE=1
until git push -u origin HEAD:fix/left; do echo "not yet $?"; done; git rev-parse origin/fix/left'
says() { headgate logs "$attempt" | grep -q "$1"; }
until_true 60 says '^not yet 75$' || fail 'the command does not give up'
check 'the agent is told to go on' says '^not done yet: a person has to decide'
check_equal 'the call waits on, and is one' 1 "$(pending | wc -l)"
headgate gate approve "$(pending)" >/dev/null
done_as left
check_has 'asked again, it hears what came of it' 'set up to track .origin/fix/left' "$WORLD/left"
check_has 'and its git knows' "^$(at_remote fix/left)\$" "$WORLD/left"
check_equal 'it was one call' 1 "$(headgate gate ls --all --json | jq --arg a "$attempt" '[.calls[] | select(.attempt == $a and .tool == "git push")] | length')"

# ---- files of Git LFS, whose content no push of commits takes along ----
start lfs -- 'printf "*.bin filter=lfs diff=lfs merge=lfs -text\n" >.gitattributes
printf "version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 3\n" 1 >big.bin; git add -A; git commit -qm lfs
git push origin HEAD:fix/lfs; git rm -q big.bin; git commit -qm without; git push origin HEAD:fix/lfs'
until_true 60 has_pending || die 'the push is not asked'
headgate gate approve "$(pending)" >/dev/null
until_true 60 has_pending || die 'the second push is not asked'
check_equal 'content is not left behind' '' "$(at_remote fix/lfs)"
headgate gate approve "$(pending)" >/dev/null
done_as lfs
check_has 'and the agent is told' 'big.bin is a file of Git LFS' "$WORLD/lfs"
check_equal 'control: without such a file it is pushed' without "$(git -C "$WORLD/srv/app.git" log -1 --format=%s fix/lfs)"

# ---- fetch, by a rule ----
git clone -q "$WORLD/srv/app.git" "$WORLD/other"
(cd "$WORLD/other" && git checkout -q main && echo more >>README && git commit -qam 'From elsewhere' && git push -q origin main &&
    git push -q origin HEAD:refs/pull/7/head)
before=$(git for-each-ref | grep -v headgate | sha256sum)
headgate gate rule add allow command git fetch >/dev/null
headgate gate rule add allow command git pull >/dev/null
headgate gate rule add allow command git ls-remote >/dev/null
start fetch -- 'git fetch origin; echo "status $?"; git log -1 --format=%s origin/main; git fetch -q origin pull/7/head && git log -1 --format="pull %s" FETCH_HEAD
git pull -q --rebase origin main; git log -1 --format="pulled %s"; git ls-remote --heads origin; git fsck >/dev/null && echo whole
git fetch --prune -v; bash -lc "git fetch -q" && echo login'
done_as fetch
check_has 'a fetch works' '^status 0$' "$WORLD/fetch"
check_has 'with what the remote has' '^From elsewhere$' "$WORLD/fetch"
check_has 'a pull request too' '^pull From elsewhere$' "$WORLD/fetch"
check_has 'git pull' '^pulled From elsewhere$' "$WORLD/fetch"
check_has 'ls-remote' 'refs/heads/fix/one$' "$WORLD/fetch"
check_has 'the repository of the box is whole' '^whole$' "$WORLD/fetch"
check_has 'from a login shell' '^login$' "$WORLD/fetch"
check_equal 'the refs of the person are as they were' "$before" "$(git for-each-ref | grep -v headgate | sha256sum)"
headgate gate rule add allow command git push >/dev/null
start ruled -- 'git commit -q --allow-empty -m x; git push origin HEAD:ruled'
until_true 60 has_pending || die 'a rule let a push pass'
headgate gate deny "$(pending)" --reason no >/dev/null
done_as ruled
check_equal 'no rule lets a push pass' '' "$(at_remote ruled)"

# ---- the server is killed ----
start killed -- 'git commit -q --allow-empty -m x; git push origin HEAD:fix/killed; echo "status $?"'
until_true 60 has_pending || die 'the push is not asked'
kill -9 "$(server_pid)"
headgate gate approve "$(pending)" >/dev/null
done_as killed
check_has 'a push that waits outlives the server' '^status 0$' "$WORLD/killed"
check_equal 'and is done' "$(git rev-parse "headgate/$(last_run)/1")" "$(at_remote fix/killed)"

cat >"$WORLD/srv/app.git/hooks/pre-receive" <<HOOK
#!/bin/sh
echo once >>"$WORLD/received"
until [ -e "$WORLD/go" ]; do sleep 0.05; done
HOOK
chmod +x "$WORLD/srv/app.git/hooks/pre-receive"
start midway -- 'git commit -q --allow-empty -m x; git push origin HEAD:fix/midway; echo "status $?"'
until_true 60 has_pending || die 'the push is not asked'
headgate gate approve "$(pending)" >/dev/null
until_true 60 test -s "$WORLD/received" || die 'the push does not begin'
broker=$(pgrep -x headgate-broker -u "$(id -u)" | while read -r pid; do
    tr '\0' '\n' <"/proc/$pid/environ" | grep -q "^XDG_RUNTIME_DIR=$XDG_RUNTIME_DIR\$" && echo "$pid" || :; done)
kill -9 "$(server_pid)"
until_true 20 gone "$broker" || fail 'what carries it out lives on'
headgate ls >/dev/null
done_as midway
touch "$WORLD/go"
check_has 'the agent is told that nobody knows' 'Whether it took effect is not' "$WORLD/midway"
check_has 'as a failure' '^status 1$' "$WORLD/midway"
check_equal 'it is not done twice' once "$(cat "$WORLD/received")"
rm "$WORLD/srv/app.git/hooks/pre-receive"

# ---- nothing secret is kept ----
check 'the log is whole' headgate gate verify
check_equal 'no key in what Headgate keeps' '' "$(grep -rlaF "$secret" "$XDG_STATE_HOME" "$XDG_RUNTIME_DIR" 2>/dev/null || :)"
check_equal 'control: it is where the person has it' "$HOME/.ssh/id_ed25519" "$(grep -rlaF "$secret" "$HOME/.ssh")"
exit 0
