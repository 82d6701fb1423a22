#!/bin/sh
# From a fresh Debian machine to four agents at work:
#   sh runner/quickstart.sh [REPOSITORY]
# Installs packages (asks for sudo when needed), builds, and runs the main job on a clone of REPOSITORY (Headgate's own history
# when none is given): four scripted agents, the dashboard on a terminal, plain progress lines elsewhere.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
. "$here/runner/setup.sh"
packages_install "$here/tests/packages.txt" 'Needed by the tests'

cd "$here"
cmake --preset release -DBUILD_TESTING=OFF >/dev/null
cmake --build --preset release
PATH="$here/build/release/bin:$PATH"
export PATH

if [ "$(id -u)" = 0 ] && ! id headgate >/dev/null 2>&1; then
    # A box never runs as root; this is the account that it uses instead.
    useradd --system --shell /usr/sbin/nologin headgate
fi

sample=$(mktemp -d "${TMPDIR:-/tmp}/headgate-sample.XXXXXX")
git clone -q "${1:-$here}" "$sample/repository"
cd "$sample/repository"
git config user.name >/dev/null || git config user.name 'Headgate sample'
git config user.email >/dev/null || git config user.email sample@localhost

# A small agent of our own, so that the tour needs no account with a model's provider: it gates what it does like any other.
cat >"$sample/agent.sh" <<'AGENT'
#!/bin/sh
ask() { # TOOL ARGUMENTS: exit 0 when the gate allows it
    printf '{"tool":"%s","args":%s,"cwd":"%s"}' "$1" "$2" "$PWD" | headgate-hook >/dev/null
}
name=note-$HEADGATE_ATTEMPT.md
ask Read '{"file_path":"README.md"}' && lines=$(cat ./* 2>/dev/null | wc -l)
echo "counted $lines lines"
ask Edit "{\"file_path\":\"$PWD/$name\"}" || exit 1
printf '# %s\n\n%s lines at the top level.\n' "$HEADGATE_TASK" "$lines" >"$name"
ask Bash "{\"command\":\"git commit -m note\"}" || exit 1
git add -A && git commit -q -m "Add $name" && echo "committed $name"
AGENT
chmod +x "$sample/agent.sh"

set -- run -n 4 -j 4 --ladder confirm --ro "$sample/agent.sh" -p 'Count the lines'
if [ -t 0 ] && [ -t 1 ]; then
    headgate "$@" --detach -- "$sample/agent.sh"
    headgate
else
    # Nobody is here to decide: these two rules do, for this repository alone.
    headgate gate rule add allow tool Edit in repo
    headgate gate rule add allow command git commit in repo
    headgate "$@" -- "$sample/agent.sh"
fi

cat <<END

The sample repository is $sample/repository. Try there, with PATH=$here/build/release/bin:\$PATH :
  headgate ls                 the attempts and their branches
  headgate diff RUN.N         what one of them did
  headgate merge RUN.N        bring it into the checkout
  headgate gate log           every call and who decided it
END
