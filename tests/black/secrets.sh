#!/bin/sh
# What of a person's home and session must never be in a box: every credential, start-up file, setting and daemon's socket
# of a table is planted in a throwaway home and looked for, and written to, from inside. With the mounts off each is found.
. "$(dirname "$0")/../lib.sh"

cat >"$WORLD/table" <<'T'
.ssh/id_ed25519 .ssh/config .ssh/authorized_keys .gnupg/private-keys-v1.d/k.key .gnupg/pubring.kbx .age/key.txt .config/sops/age/keys.txt .password-store/x.gpg
.aws/credentials .aws/config .aws/sso/cache/t.json .azure/msal_token_cache.json .config/gcloud/credentials.db .oci/config .aliyun/config.json .config/hcloud/cli.toml
.config/doctl/config.yaml .config/scw/config.yaml .config/linode-cli .kube/config .minikube/client.key .docker/config.json .config/containers/auth.json .terraform.d/credentials.tfrc.json .terraformrc
.vault-token .pulumi/credentials.json .fly/config.yml .vercel/auth.json .config/netlify/config.json .config/wrangler/default.toml .config/stripe/config.toml .config/ngrok/ngrok.yml .snowflake/config
.netrc .git-credentials .config/git/credentials .config/gh/hosts.yml .config/hub .config/glab-cli/config.yml .config/tea/config.yml .config/github-copilot/hosts.json .subversion/auth/x .hgrc
.npmrc .yarnrc.yml .pypirc .config/pip/pip.conf .pip/pip.conf .config/pypoetry/auth.toml .cargo/credentials.toml .cargo/credentials .gem/credentials .bundle/config .composer/auth.json .m2/settings.xml
.m2/settings-security.xml .gradle/gradle.properties .nuget/NuGet/NuGet.Config .ivy2/.credentials .sbt/.credentials .condarc .huggingface/token .cache/huggingface/token .kaggle/kaggle.json .config/rclone/rclone.conf
.pgpass .my.cnf .mylogin.cnf .s3cfg .databrickscfg .boto .msmtprc .config/filezilla/sitemanager.xml .smbcredentials
.mozilla/firefox/p/logins.json .thunderbird/p/key4.db .config/google-chrome/Default/Cookies .config/chromium/Default/Cookies .config/BraveSoftware/x .config/microsoft-edge/Default/Cookies .config/Signal/config.json
.config/Slack/Cookies .config/discord/Cookies .config/1Password/x .config/Bitwarden/data.json .local/share/keyrings/login.keyring .local/share/kwalletd/kdewallet.kwl .pki/nssdb/key4.db .config/goa-1.0/accounts.conf
.bash_history .zsh_history .python_history .node_repl_history .psql_history .mysql_history .sqlite_history .lesshst .viminfo .local/share/fish/fish_history .local/share/atuin/key
.claude.json .claude/.credentials.json .claude/settings.json .claude/settings.local.json .claude/projects/p/s.jsonl .codex/auth.json .codex/config.toml .gemini/oauth_creds.json .gemini/settings.json .qwen/oauth_creds.json
.local/share/opencode/auth.json .config/opencode/opencode.json .config/github-copilot/apps.json .cursor/mcp.json .config/amp/settings.json .config/goose/secrets.yaml
.bashrc .bash_profile .bash_logout .profile .zshrc .zshenv .zprofile .config/fish/config.fish .inputrc .xprofile .xinitrc .pam_environment .config/environment.d/x.conf .config/systemd/user/x.service
.config/autostart/x.desktop .local/share/applications/x.desktop .config/sh.rc .tmux.conf .screenrc .gitconfig .config/git/config .config/git/hooks/post-checkout .vimrc .config/nvim/init.lua .emacs.d/init.el
.config/Code/User/settings.json .config/Code/User/globalStorage/state.vscdb .config/JetBrains/x/options.xml .config/zed/settings.json .gdbinit .Xauthority .ICEauthority .Xresources .config/pulse/cookie .dbus/session-bus/x
.config/headgate/config .local/state/headgate/x .local/bin/.env .tool/.env
T
mkdir -p "$HOME/work" && make_repo "$HOME/work/repo"
tr -s ' \n' '\n\n' <"$WORLD/table" | grep . >"$WORLD/names"
while read -r name; do
    mkdir -p "$(dirname "$HOME/$name")"
    echo "# planted $name" >"$HOME/$name"
done <"$WORLD/names"
# Programs of the home, so that folders of it are shown.
for folder in .local/bin .cargo/bin .fly/bin .tool/bin; do
    mkdir -p "$HOME/$folder"
    printf '#!/bin/sh\necho tool\n' >"$HOME/$folder/tool-of-home"
    chmod +x "$HOME/$folder/tool-of-home"
done
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b PATH="$HOME/.local/bin:$HOME/.cargo/bin:$HOME/.fly/bin:$HOME/.tool/bin:$PATH"

# Daemons of the session, and what leads to them.
unique=$(basename "$WORLD")
cat >"$WORLD/daemons" <<T
$XDG_RUNTIME_DIR/bus
$XDG_RUNTIME_DIR/systemd/private
$XDG_RUNTIME_DIR/wayland-0
$XDG_RUNTIME_DIR/pipewire-0
$XDG_RUNTIME_DIR/pulse/native
$XDG_RUNTIME_DIR/gnupg/S.gpg-agent
$XDG_RUNTIME_DIR/keyring/ssh
$XDG_RUNTIME_DIR/podman/podman.sock
$XDG_RUNTIME_DIR/docker.sock
$XDG_RUNTIME_DIR/vscode-ipc.sock
$HOME/.docker/run/docker.sock
$HOME/.gnupg/S.gpg-agent
$HOME/.ssh/agent.sock
$HOME/.local/share/tmux
/tmp/.$unique-ssh
/tmp/.$unique-X97
/var/tmp/.$unique-tmux
@$unique-X11
@$unique-dbus
T
cat >"$WORLD/serve.py" <<'P'
import os, selectors, socket, sys
mux, made = selectors.DefaultSelector(), []
for name in open(sys.argv[1]).read().split():
    s = socket.socket(socket.AF_UNIX)
    if name[0] != "@":
        os.makedirs(os.path.dirname(name), exist_ok=True)
        made.append(name)
    s.bind("\0" + name[1:] if name[0] == "@" else name)
    if name[0] != "@":
        os.chmod(name, 0o777)
    s.listen(16)
    mux.register(s, selectors.EVENT_READ)
open(sys.argv[2], "w").close()
try:
    while os.path.exists(sys.argv[2]):
        for key, _ in mux.select(0.2):
            key.fileobj.accept()[0].close()
finally:
    for name in made:
        os.unlink(name)
P
python3 "$WORLD/serve.py" "$WORLD/daemons" "$WORLD/serving" &
server=$!
BACKGROUND="$BACKGROUND $server"
until_true 10 test -e "$WORLD/serving" || die 'the daemons did not start'
chmod 755 "$XDG_RUNTIME_DIR"
chmod -R a+rX "$HOME" "$XDG_RUNTIME_DIR"

cat >"$WORLD/look.py" <<'P'
# What of the lists is found, one a line; then the same names are written to.
import os, socket, sys
home, names, daemons = sys.argv[1:4]
for name in open(names).read().split():
    path = os.path.join(home, name)
    try:
        if "planted" in open(path).read():
            print("READ", name)
    except OSError:
        pass
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "a") as f:
            f.write("evil\n")
    except OSError:
        pass
for name in open(daemons).read().split():
    try:
        socket.socket(socket.AF_UNIX).connect("\0" + name[1:] if name[0] == "@" else name)
        print("REACHED", name)
    except OSError:
        pass
for name in ("docker.sock", "dbus/system_bus_socket", "podman/podman.sock", "containerd/containerd.sock", "systemd/private", "snapd.socket"):
    for run in ("/run/", "/var/run/"):
        if os.path.exists(run + name):
            print("SOCKET", run + name)
for name, value in os.environ.items():
    if "planted" in value:
        print("VARIABLE", name)
print("looked")
P
for variable in SSH_AUTH_SOCK DBUS_SESSION_BUS_ADDRESS DISPLAY WAYLAND_DISPLAY XAUTHORITY GPG_AGENT_INFO DOCKER_HOST KUBECONFIG AWS_SECRET_ACCESS_KEY \
    GITHUB_TOKEN GH_TOKEN NPM_TOKEN CARGO_REGISTRY_TOKEN PYPI_TOKEN OPENAI_API_KEY GOOGLE_APPLICATION_CREDENTIALS VAULT_TOKEN PGPASSWORD NETRC BASH_ENV ENV \
    LD_PRELOAD TMUX GNUPGHOME HISTFILE PULSE_SERVER XDG_RUNTIME_DIR_OF_HOST; do
    eval "export $variable='planted'"
done
unset LD_PRELOAD BASH_ENV ENV DOCKER_HOST
cd "$HOME/work/repo"
chmod -R a+rwX .
untouched() {
    while read -r name; do
        [ "$(cat "$HOME/$name" 2>&1)" = "# planted $name" ] || echo "$name"
    done <"$WORLD/names"
}
show="--ro $WORLD/look.py --ro $WORLD/names --ro $WORLD/daemons"
look="python3 $WORLD/look.py $HOME $WORLD/names $WORLD/daemons"

check_equal 'box: nothing is seen or reached' looked "$(headgate box $show -- $look)"
check_equal 'box: nothing is written' '' "$(untouched)"
check_equal 'box: programs of the home run' tool "$(headgate box -- tool-of-home)"
check_status 0 'run: looks' headgate run $show -- sh -c "$look"
headgate logs "$(last_run).1" >"$WORLD/log"
check_equal 'run: nothing is seen or reached' looked "$(cat "$WORLD/log")"
check_equal 'run: nothing is written' '' "$(untouched)"
# A folder that holds much is shown: what is known to be a secret in it is covered.
headgate box $show --ro "$HOME/.config" --ro "$HOME/.local/share" --ro "$HOME/.claude" -- $look >"$WORLD/wide"
check_lacks 'wide: no secret of what is shown' 'gcloud|gh/|rclone|chrom|keyrings|credentials|auth.json|Cookies|sops|fish_history|pulse|Signal|globalStorage' "$WORLD/wide"
check_has 'wide: the rest is there' 'READ .config/nvim/init.lua' "$WORLD/wide"
check_equal 'wide: nothing is written' '' "$(untouched)"

# The negative control: each of them is there to be found.
headgate box --off mount,landlock,net -- $look >"$WORLD/control"
check_equal 'control: every file is seen' "$(wc -l <"$WORLD/names")" "$(grep -c READ "$WORLD/control")"
check_equal 'control: every daemon is reached' "$(wc -l <"$WORLD/daemons")" "$(grep -c REACHED "$WORLD/control")"
[ "$(id -u)" = 0 ] || check_equal 'control: every file is written' "$(wc -l <"$WORLD/names")" "$(untouched | wc -l)"
rm "$WORLD/serving"
wait "$server"
exit $FAILED
