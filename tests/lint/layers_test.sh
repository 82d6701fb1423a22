#!/bin/sh
# layers_test.sh ROOT: that layers.sh can fail. Plants one break of each rule in a tree of its own and
# expects every one to be named, and a clean tree to pass.
set -eu
export LC_ALL=C
lint=$1/tests/lint/layers.sh
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cd "$tree"
mkdir -p runner/base runner/cmd runner/server worktree sandbox/launch gate/hook ui tests
status=0

# refuses FILE LINE: a file that holds LINE must be refused, by name.
refuses() {
    printf '%s\n' "$2" > "$1"
    if sh "$lint" "$tree" > out 2>&1 || ! grep -qF "$1:1:" out; then
        echo "not refused: $1: $2"
        status=1
    fi
    rm -f "$1" out
}

# accepts FILE LINE
accepts() {
    printf '%s\n' "$2" > "$1"
    if ! sh "$lint" "$tree" > out 2>&1; then
        echo "not accepted: $1: $2"
        cat out
        status=1
    fi
    rm -f "$1" out
}

refuses runner/base/a.c '#include "gate/call.h"'
refuses runner/base/a.c '#include "runner/server/x.h"'
refuses sandbox/a.c '#include "worktree/x.h"'
refuses sandbox/launch/a.c '#include "gate/x.h"'
refuses gate/hook/a.c '#include "runner/server/x.h"'
refuses worktree/a.c '#include "ui/x.h"'
refuses runner/server/a.c '#include "ui/x.h"'
refuses ui/a.c '#include "sandbox/x.h"'
refuses gate/a.c '#include "tests/x.h"'
refuses gate/a.c '#include "x.h"'
refuses gate/a.c '#include "../ui/x.h"'
refuses gate/a.c '#include <uv.h>'
refuses runner/base/a.c '#include <uv.h>'
refuses runner/server/a.c '#include <git2.h>'
refuses runner/base/a.c '#include <sqlite3.h>'
refuses runner/server/a.c '# include <seccomp.h>'
refuses ui/a.c '#include <curses.h>'
refuses ui/a.c '#include <ncursesw/curses.h>'
refuses runner/server/a.c '#include <vterm.h>'
for name in strcpy strcat sprintf vsprintf gets; do
    refuses tests/a.c "int x = $name(a, b);"
done
refuses tests/a.c '    /* why */ strcpy(a, "b");'
awk 'BEGIN { for (i = 0; i < 501; i++) print "" }' > ui/long.c
if sh "$lint" "$tree" > /dev/null; then
    echo "not refused: a file of 501 lines"
    status=1
fi
rm ui/long.c

accepts runner/base/db.c '#include <sqlite3.h>'
accepts runner/base/a.c '#include "runner/base/b.h"'
accepts runner/server/a.c '#include <uv.h>'
accepts runner/bridge.c '#include <uv.h>'
accepts runner/cmd/a.c '#include "ui/x.h"'
accepts runner/main.c '#include "ui/x.h"'
accepts runner/server/a.c '#include "sandbox/x.h"'
accepts sandbox/launch/a.c '#include "sandbox_filter.h"'
accepts gate/hook/a.c '#include "gate/x.h"'
accepts worktree/a.c '#include <git2.h>'
accepts ui/term.c '#include <curses.h>'
accepts ui/a.c '#include <vterm.h>'
accepts tests/a.c '/* never strcpy(a, b) */ snprintf(a, 2, "%s", "gets(x)");'
accepts tests/a.c '#include "ui/x.h"'
exit $status
