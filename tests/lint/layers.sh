#!/bin/sh
# layers.sh ROOT: the rules of the source tree that a compiler does not check: which folder may
# include which, which files may include a foreign library, banned functions, and file length.
# Prints one line for each break and fails when there is any.
set -eu
export LC_ALL=C
cd "$1"

find runner worktree sandbox gate ui tests -type f \( -name '*.c' -o -name '*.h' \) -print |
    sort |
    xargs awk '
function complain(what) {
    printf "%s:%d: %s\n", FILENAME, FNR, what
    broken = 1
}

# The layer of a path of ours, or "" for anything else.
function layer_of(path) {
    if (path ~ /^runner\/base\//)
        return "base"
    if (path ~ /^runner\/(cmd\/|main[.]c$)/)
        return "commands"
    if (match(path, /^(runner|worktree|sandbox|gate|ui|tests)\//))
        return substr(path, 1, RLENGTH - 1)
    return ""
}

# May a file of layer `from` include a file of layer `to`?
function may_include(from, to) {
    return from == to || index(" " allowed[from] " ", " " to " ") > 0
}

function check_ours(path,    to) {
    to = layer_of(path)
    if (path in generated && FILENAME ~ generated[path])
        return
    if (path ~ /^\./ || (to == "" && path !~ /^tests\//))
        complain("include \"" path "\" must be a path from the root of the repository")
    else if (!may_include(layer, to))
        complain("layer " layer " must not include " path)
}

function check_foreign(header) {
    if (header in only && layer != "tests" && (layer ":" FILENAME) !~ only[header])
        complain("<" header "> is not for this file (only " only[header] ")")
}

BEGIN {
    allowed["base"] = ""
    allowed["sandbox"] = "base"
    allowed["worktree"] = "base"
    allowed["gate"] = "base"
    allowed["runner"] = "base sandbox worktree gate"
    allowed["ui"] = "base worktree gate runner"
    allowed["commands"] = "base sandbox worktree gate runner ui" # they compose
    allowed["tests"] = "base sandbox worktree gate runner commands ui"

    # Written by the build, so not below the root.
    generated["sandbox_filter.h"] = "^sandbox/"
    generated["opencode_plugin.h"] = "^runner/agents/"
    generated["gemini_preload.h"] = "^runner/agents/"

    # Matched against "layer:path".
    only["uv.h"] = "^(runner|commands):|:ui/host"
    only["git2.h"] = "^worktree:"
    only["sqlite3.h"] = ":runner/base/db[.]c$"
    only["seccomp.h"] = "^sandbox:"
    only["vterm.h"] = "^ui:"
    only["curses.h"] = ":ui/term[.]c$"
    only["ncurses.h"] = only["curses.h"]
    only["ncursesw/curses.h"] = only["curses.h"]
    only["ncursesw/ncurses.h"] = only["curses.h"]
    only["panel.h"] = only["curses.h"]
    only["term.h"] = only["curses.h"]
}

FNR == 1 {
    layer = layer_of(FILENAME)
    in_comment = 0
}

FNR == 501 { complain("the file is longer than 500 lines") }

{
    line = $0
    # Comments and strings may name what code may not use.
    gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
    gsub(/\/\*([^*]|\*[^\/])*\*\//, "", line)
    if (in_comment) {
        if (!sub(/^.*\*\//, "", line))
            next
        in_comment = 0
    }
    sub(/\/\/.*$/, "", line)
    if (sub(/\/\*.*$/, "", line))
        in_comment = 1
}

/^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, part, "\"")
    check_ours(part[2])
    next
}

/^[ \t]*#[ \t]*include[ \t]*</ {
    split($0, part, /[<>]/)
    check_foreign(part[2])
    next
}

match(line, /(^|[^A-Za-z0-9_])(strcpy|strcat|sprintf|vsprintf|gets|stpcpy)[ \t]*\(/) {
    complain("banned function: " substr(line, RSTART))
}

END { exit broken }
'
