#!/bin/sh
# config_keys.sh ROOT: every setting that the code reads must stand in the table of
# runner/base/config.c, else a user who sets it would be told that it does not exist.
set -eu
export LC_ALL=C
cd "$1"

# A key with a variable part ("agent.%s.model") has a subsection there, `*` in the table.
read_keys() {
    find runner worktree sandbox gate ui -name '*.c' -exec cat {} + |
        tr '\n' ' ' |
        grep -oE '\bconfig_(str|bool|int|list)\([^"()]*(, *)"[^"]*"' |
        sed 's/.*"\(.*\)"/\1/' |
        sort -u
}

known_keys() {
    sed -n '/^} known\[\] = {/,/^};/s/.*{"\([^"]*\)".*/\1/p' runner/base/config.c
}

known=$(known_keys)
test -n "$known" || {
    echo "runner/base/config.c: the table of settings was not found"
    exit 1
}

status=0
for key in $(read_keys); do
    generic=$(printf '%s\n' "$key" | sed 's/^\([a-z]*\)\..*\.\([a-z]*\)$/\1.*.\2/')
    if ! printf '%s\n' "$known" | grep -qxF -e "$key" -e "$generic"; then
        echo "runner/base/config.c: the setting $key is read but not in the table"
        status=1
    fi
done
exit $status
