#!/bin/sh
# Each engine gives the same harvest for the same agent, can be entered and opened, and leaves nothing. TEST_FS_BTRFS and TEST_FS_XFS
# (tests/run.sh) have the file systems of btrfs and reflink; without, these two are told as left out.
. "$(dirname "$0")/../lib.sh"

git init -q "$WORLD/lib"
(cd "$WORLD/lib" && echo l >l && git add l && git commit -qm Lib)
make_repo "$WORLD/repo"
cd "$WORLD/repo"
mkdir -p folder/inner second gone/deep
for f in folder/a folder/inner/b second/c gone/deep/d file-then-folder folder-then-file/x run.sh old.txt; do
    mkdir -p "$(dirname "$f")"
    echo "$f" >"$f"
done
chmod +x run.sh
ln -s Makefile link
git -c protocol.file.allow=always submodule --quiet add "$WORLD/lib" vendor/lib
git add -A && git commit -qm 'With everything'
mv "$WORLD/lib" "$WORLD/lib.gone"

cat >"$WORLD/agent.sh" <<'IN'
set -eux
test -z "$(git status --porcelain)"
export GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000'
echo more >>src/app.txt
echo new >new && mkdir -p brand/new && echo n >brand/new/n && echo odd >"$(printf 'odd\n name')"
rm README && rm -r gone && git mv old.txt renamed.txt
mv folder moved && mv second/c second/C
rm file-then-folder && mkdir file-then-folder && echo i >file-then-folder/i
rm -r folder-then-file && echo f >folder-then-file
chmod +x Makefile && chmod -x run.sh && ln -snf src link && ln -s ../new src/up
mkdir out && echo ignored >out/ignored && echo K=1 >.env
(cd vendor/lib && grep -q l l && echo m >>l && git commit -qam M)
git add -A && git commit -qm Work
mkdir empty && echo wip >wip && rm new && echo dirty >>src/app.txt
(cd vendor/lib && git switch -qc more && echo w >w && git add w && git commit -qm W)
IN

check_engine() { # ENGINE
    engine=$1
    check_status 0 "$engine: works" headgate run --engine "$engine" --ladder auto --ro "$WORLD/agent.sh" -- sh "$WORLD/agent.sh"
    run=$(last_run)
    tree=$(git rev-parse "headgate/$run/1^{tree}")
    check_equal "$engine: the same files come home" "${first:=$tree}" "$tree"
    check_equal "$engine: with the submodule's commits" "W M Lib " "$(git -C vendor/lib log --format=%s "headgate/$run/1" | tr '\n' ' ')"
    headgate show "$run.1" >"$WORLD/show"
    check_has "$engine: is told" "engine: +$engine \\(asked for by name" "$WORLD/show"
    face=$(headgate show "$run.1" --json | jq -r '.attempts[0].tree')
    check_equal "$engine: the host's git is led into no submodule" '' "$(git -C "$face" status --porcelain | grep vendor)"
    check_status 0 "$engine: open" headgate open "$run.1" "$WORLD/open-$engine"
    check_equal "$engine: a plain checkout of it" wip "$(cat "$WORLD/open-$engine/wip")"
    git worktree remove --force "$WORLD/open-$engine"
    check_status 1 "$engine: discard refuses what is in no branch" headgate discard "$run"
    check_status 0 "$engine: discard by force" headgate discard --force "$run"
    check_status 0 "$engine: clean" headgate clean
    check_equal "$engine: no file is left" '' "$(find "$XDG_STATE_HOME"/headgate/*/attempts "$XDG_STATE_HOME"/headgate/*/bases -name tree 2>/dev/null)"
}

is_held() { grep -q " $2/.git ro" "/proc/$1/mountinfo"; }
has_told() { headgate gate log --json | grep -q 'was replaced or removed on the host'; }
check_held() { # ENGINE TREE: .git stays read-only in the box when the file below it is replaced on the host
    files=${2%/tree}/files
    [ -e "$files/.git" ] || return 0
    pid=$(grep -lz "^HEADGATE_WORKTREE=$2\$" /proc/[0-9]*/environ 2>/dev/null | head -n 1 | cut -d/ -f3)
    check "$1: .git is read-only" is_held "$pid" "$2"
    cp "$files/.git" "$files/.git.new" && mv -f "$files/.git.new" "$files/.git"
    until_true 10 has_told || fail "$1: nothing is told of the mount that went"
    check "$1: it is mounted anew" is_held "$pid" "$2"
}

check_entered() { # ENGINE: enter shows the files where an agent runs
    headgate run --detach --engine "$1" --ladder auto -- sleep 600 >"$WORLD/out"
    run=$(last_run)
    until_true 30 is_running "$run.1" || die "$1: does not run"
    script -qec "headgate enter $run.1 -- cp Makefile left" /dev/null <&8 >"$OUT" 2>&1 || fail "$1: enter: $(cat "$OUT")"
    check_held "$1" "$(headgate show "$run.1" --json | jq -r '.attempts[0].tree')"
    headgate stop "$run.1" >/dev/null
    until_true 30 is_done "$run.1" || fail "$1: is not stopped"
    check_equal "$1: what is written there comes home" "$(cat Makefile)" "$(git show "headgate/$run/1:left")"
    headgate discard --force "$run" >/dev/null
}

# A box makes no subvolume (one that is read-only and closed would stay for ever); outside the same command does.
check_subvolumes() { # FOLDER: where the state is
    check 'control: a subvolume outside' btrfs subvolume create "$1/own"
    rm -rf "$1/own"
    check_status 1 'a subvolume in a box' headgate run --engine btrfs --ladder auto -- btrfs subvolume create own
    headgate logs "$(last_run).1" >"$WORLD/log"
    check_has 'is not permitted' 'not permitted' "$WORLD/log"
    headgate discard --force "$(last_run)" >/dev/null
}

mkfifo "$WORLD/typed" # a keyboard at which nobody sits
exec 8<>"$WORLD/typed"
for pair in $(engines_here); do
    engine=${pair%%:*}
    state_on "${pair#*:}"
    check_status 0 "$engine: doctor" headgate doctor
    check_has "$engine: works here, and doctor says so" "^  $engine: (taken|works)" "$OUT"
    check_engine "$engine"
    check_entered "$engine"
    [ "$engine" != btrfs ] || check_subvolumes "$XDG_STATE_HOME"
    check_status 0 "$engine: clean again" headgate clean
done

# One that cannot work here is refused, by name and by configuration, before anything is made.
state_on "${TEST_FS_XFS:-$WORLD/state}"
if [ "$(stat -f -c %T "$XDG_STATE_HOME")" != btrfs ]; then
    before=$(git for-each-ref)
    check_status 2 'an engine that cannot work' headgate run --engine btrfs -- true
    check_has 'says why and what to do' 'btrfs does not work here: the state folder is not on a btrfs.*without a name' "$OUT"
    git config --file "$XDG_CONFIG_HOME/headgate/config" worktree.engine btrfs
    headgate serve --stop >/dev/null
    check_status 2 'the same by configuration' headgate run -- true
    check_has 'names the key' 'worktree.engine: the engine btrfs does not work here' "$OUT"
    check_equal 'nothing is made' "$before 0" "$(git for-each-ref) $(headgate ls --json | jq '.attempts | length')"
    check_status 0 'doctor' headgate doctor
    check_has 'doctor says why not' '^  btrfs: does not work; the state folder is not on a btrfs' "$OUT"
fi
