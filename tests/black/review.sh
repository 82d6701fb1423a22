#!/bin/sh
# Reviewing an attempt: files, hunks, comments, and taking a part.
. "$(dirname "$0")/../lib.sh"

make_repo "$WORLD/repo"
cd "$WORLD/repo"
seq 60 >numbers && echo '*.o' >.gitignore && git add numbers .gitignore && git commit -qm Numbers
headgate run --ladder auto -- sh -c 'sed -i "5s/.*/five/; 50s/.*/fifty/" numbers; git mv src/app.txt src/moved.txt; echo n >new; printf "a\0" >bin; chmod +x README; git add -A; git commit -qm Work' >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
run=$(last_run)
headgate diff "$run.1" --json >"$WORLD/diff.json"
check_equal 'files with their kinds' 'T README,A bin,A new,M numbers,R src/moved.txt' "$(jq -r '[.[0].files[] | "\(.status) \(.path)"] | sort_by(.[2:]) | join(",")' "$WORLD/diff.json")"
check_equal 'binary, mode, old name' 'true 100755 src/app.txt' "$(jq -r '.[0].files | map({(.path): .}) | add | "\(.bin.binary) \(.README.new_mode) \(.["src/moved.txt"].old_path)"' "$WORLD/diff.json")"
check_equal 'hunks with their lines' '1:2 2:47' "$(jq -r '[.[0].files[] | select(.path == "numbers") | .hunks[] | "\(.n):\(.old_start)"] | join(" ")' "$WORLD/diff.json")"
check_equal 'one file alone' 1 "$(headgate diff "$run.1" new --json | jq '.[0].files | length')"
check_status 0 'a folder, and a name from before' headgate diff "$run.1" ./src/ src/app.txt
check_has 'are found' '^rename to src/moved.txt' "$OUT"
for json in '' --json; do
    check_status 1 "a path that is nowhere $json" headgate diff $json "$run.1" new numbres
    check_has 'is told' "no 'numbres' in $run.1, .* from the repository's top" "$OUT"
done
check_status 0 'one that is there and was not touched' headgate diff --json "$run.1" .gitignore
check_has 'is told too' 'nothing was changed there' "$OUT"
check_equal 'beside the answer' '[]' "$(headgate diff --json "$run.1" .gitignore 2>"$WORLD/note" | jq -c '.[0].files')"
check 'what is not a terminal gets a patch that applies' sh -c "headgate diff $run.1 numbers new | git apply --check"
check_status 0 'through a program that shows patches' env HEADGATE_X=1 headgate diff "$run.1" --pager cat
check_status 0 'take a file and a hunk' headgate take "$run.1" new --hunk numbers:2
check_equal 'they are in one commit' '1 fifty 5' "$(git rev-list --count HEAD~1..HEAD) $(sed -n 50p numbers) $(sed -n 5p numbers)"
git log -1 --format=%B >"$OUT"
check_has 'whose message says from where' "Taken from headgate/$run/1" "$OUT"
check_status 1 'a hunk that is not there' headgate take "$run.1" --hunk numbers:9
check_status 2 'nothing named' headgate take "$run.1"
check_status 0 'a dry run' headgate take --dry-run "$run.1" README
check_equal 'takes nothing' 100644 "$(git ls-tree HEAD README | cut -c1-6)"
check_status 1 'a program asks to be looked at' headgate take --except "$run.1" bin
check_has 'and says so' 'README could run on this host next \(executable\).*--reviewed' "$OUT"
check_status 1 'also when it is named' headgate take "$run.1" README
check_status 0 'what is left out is not asked for' headgate take --except --dry-run "$run.1" README
check_status 0 'and all but one' headgate take --except --reviewed "$run.1" bin
check_equal 'is the rest' bin "$(git diff --name-only HEAD "headgate/$run/1")"
check_status 0 'comment' headgate comment "$run.1" bin 'No binaries, please'
check_status 0 'review' headgate review "$run.1"
check_has 'review shows what was said' 'No binaries, please' "$OUT"
check_has 'and the patch' '^\+fifty' "$OUT"
