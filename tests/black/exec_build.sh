#!/bin/sh
# A build of a real C project, Headgate's own gate and base, under each policy of the exec gate: the same results as without, every
# program counted, nobody asked.
. "$(dirname "$0")/../lib.sh"

for header in jansson.h sha256.h; do
    echo "#include <$header>" | cc -E - >/dev/null 2>&1 || skip "$header is not installed"
done
git init -q "$WORLD/repo"
cd "$WORLD/repo"
mkdir -p runner
cp -r "$TESTS/../gate" . && cp -r "$TESTS/../runner/base" runner/
cat >Makefile <<'M'
sources := $(wildcard gate/*.c runner/base/*.c)
sources := $(filter-out gate/ledger%.c runner/base/db.c,$(sources))
project.a: $(sources:.c=.o)
	ar rcs $@ $^
%.o: %.c
	cc -std=c17 -D_GNU_SOURCE -O0 -I. -c -o $@ $<
M
printf '*.o\n*.a\n' >.gitignore
git add -A && git commit -q -m 'A project'
headgate gate rule add allow exec make >/dev/null
headgate gate rule add allow exec nm >/dev/null

build() { # POLICY: what it made, in $WORLD/POLICY
    headgate run --exec "$1" -- sh -c 'make -s -j4 && nm project.a' >"$WORLD/out" 2>&1 || die "$1: $(cat "$WORLD/out")"
    headgate logs "$(last_run).1" >"$WORLD/$1"
}
build off
check_has 'it builds' 'T policy_judge' "$WORLD/off"
for policy in watch match ask; do
    build "$policy"
    check "$policy: the same comes of it" cmp "$WORLD/off" "$WORLD/$policy"
    check_equal "$policy: nobody was asked" 0 "$(headgate gate ls --all --json | jq '[.calls[] | select(.source == "exec")] | length')"
done
