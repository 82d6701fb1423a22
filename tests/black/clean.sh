#!/bin/sh
# What clean and discard remove is told by run and attempt, base checkouts by their names, whichever was gone first.
. "$(dirname "$0")/../lib.sh"

make_repo "$WORLD/repo"
cd "$WORLD/repo"
echo junk >.gitignore && git add .gitignore && git commit -qm Junk
# The first attempt of each run is the longest to remove.
work='case $HEADGATE_ATTEMPT in *.1) mkdir junk && cd junk && seq 3000 | xargs touch ;; esac'
for n in 1 2 3; do
    echo "# $n" >.gitattributes && git add .gitattributes && git commit -qm "Base $n" # of its own: no delta of the one before
    headgate run -n 3 --ladder auto -- sh -c "$work" >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
done
headgate clean -n --json | jq -c '.removed' >"$WORLD/told"
headgate clean --json | jq -c '.removed' >"$WORLD/done"
check_equal 'by run and attempt' '1.1 1.2 1.3 2.1 2.2 2.3 3.1 3.2 3.3' "$(jq -r '[.[].what | select(startswith("attempt ")) | .[8:]] | join(" ")' "$WORLD/done")"
check_equal 'as it was told before' "$(jq -c 'map(.what) - ["base"]' "$WORLD/told")" "$(jq -c 'map(.what) - ["base"]' "$WORLD/done")"
jq -r '.[] | select(.what == "base") | .path' "$WORLD/done" >"$WORLD/bases"
case $(headgate doctor --json | jq -r '.engines[] | select(.taken) | .name') in
checkout) ;;
*) check_equal 'three bases' 3 "$(wc -l <"$WORLD/bases")" ;;
esac
check 'by their names' env LC_ALL=C sort -c "$WORLD/bases"

headgate run -n 3 --ladder auto -- sh -c "$work" >"$WORLD/out" 2>&1 || die "$(cat "$WORLD/out")"
run=$(last_run)
check_status 0 'discard' headgate discard "$run.1" "$run.3" "$run.2"
check_equal 'as they were asked for' "$run.1 removed,$run.3 removed,$run.2 removed" "$(paste -sd, <"$OUT")"
