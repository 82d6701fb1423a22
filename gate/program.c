#include "gate/program.h"

#include <string.h>

#include "runner/base/mem.h"

static const char why_reserved[] = "a word of the shell's own grammar";
static const char why_builtin[] = "a builtin that changes what follows";
static const char why_wrapper[] = "a program that runs its arguments";

static const char *const reserved[] = {
    "if", "then",   "else",    "elif", "fi",       "for",       "while", "until",
    "do", "done",   "case",    "esac", "function", "select",    "time",  "coproc",
    "in", "repeat", "foreach", "end",  "noglob",   "nocorrect", "-", /* of zsh, which agents use too
                                                                      */
};

/* Builtins of bash and dash that redefine names, run text, or evaluate their arguments: an array
 * subscript in a variable's name is evaluated, command substitutions included. */
static const char *const builtins[] = {
    "eval",    "exec",    "source",    ".",       "alias",   "unalias",  "trap",     "set",
    "shopt",   "enable",  "command",   "builtin", "export",  "unset",    "cd",       "chdir",
    "pushd",   "popd",    "hash",      "declare", "typeset", "local",    "readonly", "let",
    "read",    "mapfile", "readarray", "getopts", "bind",    "complete", "compgen",  "compopt",
    "history", "fc",      "suspend",   "wait",    "jobs",    "logout",
};

/* Harmless builtins but for one option, which names a variable and so evaluates its subscript. */
static const struct {
    const char *name;
    const char *options;
} evaluating[] = {{"printf", "v"}, {"test", "vR"}};

static const char *const wrappers[] = {
    "env",
    "timeout",
    "nice",
    "nohup",
    "setsid",
    "ionice",
    "stdbuf",
    "chroot",
    "chrt",
    "taskset",
    "flock",
    "watch",
    "xargs",
    "parallel",
    "sudo",
    "doas",
    "su",
    "pkexec",
    "runuser",
    "setpriv",
    "unshare",
    "nsenter",
    "bash",
    "sh",
    "dash",
    "zsh",
    "ksh",
    "fish",
    "ash",
    "rbash",
    "busybox",
    "script",
    "expect",
    "ssh",
    "strace",
    "ltrace",
    "gdb",
    "at",
    "batch",
    "crontab",
    "screen",
    "tmux",
    "systemd-run",
    "start-stop-daemon",
    "catchsegv",
    "prlimit",
    "linux64",
    "setarch",
    "unbuffer",
    "faketime",
    "fakeroot",
    "bwrap",
    "firejail",
    "proot",
    "dbus-run-session",
    "nix-shell",
    "direnv",
    "rlwrap",
    "entr",
    "sshpass",
    "torsocks",
    "proxychains",
    "cpulimit",
    "perf",
    "valgrind",
    "rr",
    "lldb",
    "socat",
    "toybox",
    "xvfb-run",
    "pwsh",
    "tclsh",
    "elvish",
    "nu",
    "csh",
    "tcsh",
    "mksh",
    "yash",
    "chpst",
    "runcon",
    "capsh",
    "flatpak-spawn",
    "distrobox",
    "toolbox",
    "ip",
    "run-parts",
    "daemonize",
    "time",
    "chronic",
    "gosu",
    "su-exec",
    "tini",
    "dumb-init",
    "numactl",
};

const char *const *program_wrappers(size_t *ret_n)
{
    *ret_n = ARRAY_LEN(wrappers);
    return wrappers;
}

bool program_is(const char *name, const char *program)
{
    size_t len = strlen(program);
    return strncmp(name, program, len) == 0 &&
           name[len + strspn(name + len, "-.0123456789")] == '\0';
}

static bool is_listed(const char *const *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i], name) == 0)
            return true;
    return false;
}

static bool is_wrapper(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(wrappers); i++)
        if (program_is(name, wrappers[i]))
            return true;
    return false;
}

static bool has_evaluating_option(const char *options, char *const *args, size_t n_args)
{
    for (size_t i = 0; i < n_args; i++)
        if (args[i][0] == '-' && args[i][1] && strchr(options, args[i][1]))
            return true;
    return false;
}

const char *program_opaque(const char *name, char *const *args, size_t n_args)
{
    if (is_listed(reserved, ARRAY_LEN(reserved), name))
        return why_reserved;
    if (is_listed(builtins, ARRAY_LEN(builtins), name))
        return why_builtin;
    const char *slash = strrchr(name, '/');
    if (is_wrapper(slash ? slash + 1 : name))
        return why_wrapper;
    for (size_t i = 0; i < ARRAY_LEN(evaluating); i++)
        if (strcmp(evaluating[i].name, name) == 0 &&
            has_evaluating_option(evaluating[i].options, args, n_args))
            return why_builtin;
    return NULL;
}
