#!/bin/sh
# worktree.share: ignored folders of the checkout, read-only in the box, by a link in the worktree.
. "$(dirname "$0")/../lib.sh"

make_repo "$WORLD/repo"
cd "$WORLD/repo"
chmod 755 "$WORLD/repo"
printf 'node_modules/\nlinked\ncache*\n' >>.gitignore && mkdir -p pkg && echo p >pkg/p && git add -A && git commit -qm Ignore
mkdir -p node_modules/dep 'pkg/cache [x]' "$WORLD/outside"
echo dep >node_modules/dep/index && echo c >'pkg/cache [x]/c' && echo secret >"$WORLD/outside/secret"
ln -s "$WORLD/outside" linked
ln -s "$WORLD/outside" node_modules/out
config="$XDG_CONFIG_HOME/headgate/config"
for path in ./node_modules/ 'pkg/cache [x]' src not-there; do git config -f "$config" --add worktree.share "$path"; done

cat >"$WORLD/agent" <<'IN'
set -e
test -z "$(git status --porcelain)"
cat node_modules/dep/index 'pkg/cache [x]/c'
test ! -L src
! echo x >node_modules/dep/new 2>/dev/null
! cat node_modules/out/secret 2>/dev/null
echo w >w && git add -A && git commit -qm W
: >.gitignore && : >"$(git rev-parse --git-dir)/info/exclude"
IN
check_status 0 'they are there, and read-only' headgate run --ladder auto --ro "$WORLD/agent" -- sh "$WORLD/agent"
run=$(last_run)
headgate logs "$run.1" >"$OUT"
check_has 'with what is in them' '^dep$' "$OUT"
check_has 'whatever they are called' '^c$' "$OUT"
check_equal 'no link comes home, also when nothing ignores it any more' '.gitignore w' "$(git diff --name-only main "headgate/$run/1" | tr '\n' ' ' | sed 's/ $//')"
check_equal "the person's are as they were" 'dep' "$(cat node_modules/dep/index; ls node_modules/dep | grep -v index || :)"
check_status 0 'resumed it has them again' headgate resume "$run.1"
is_over() { is_done "$run.1"; }
until_true 30 is_over || die 'it does not end'

for bad in linked linked/secret node_modules/out; do
    git config -f "$config" --replace-all worktree.share "$bad"
    check_status 1 "never through a link: $bad" headgate run --ladder auto -- true
    check_has 'and says so' 'worktree.share: .* leads through a link' "$OUT"
done
for bad in /etc ../repo .; do
    git config -f "$config" --replace-all worktree.share "$bad"
    check_status 1 "nor out of the checkout: $bad" headgate run --ladder auto -- true
    check_has 'and says so' 'worktree.share: .* is no path below the top' "$OUT"
done
