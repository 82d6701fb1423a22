#include "gate/program.h"

#include <string.h>

#include "runner/base/mem.h"

static const char why_reserved[] = "a word of the shell's own grammar";
static const char why_builtin[] = "a builtin that changes what follows";
static const char why_wrapper[] = "a program that runs its arguments";

static const char *const reserved[] = {
    "if",   "then", "else", "elif",     "fi",     "for",  "while",  "until", "do",
    "done", "case", "esac", "function", "select", "time", "coproc", "in",
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
};

/*
 * Options that make a program run something else or work elsewhere. `letters` are short options
 * (also in a cluster), `names` are matched whole, with =VALUE, and long ones also abbreviated, as
 * getopt does. `has_variables`: NAME=VALUE arguments count too.
 */
static const struct {
    const char *program;
    const char *letters;
    const char *const *names;
    bool has_variables;
} widening[] = {
    {"git", "cCO",
     (const char *const[]){"--config-env", "--exec-path", "--git-dir", "--work-tree", "--namespace",
                           "--upload-pack", "--receive-pack", "--exec", "--output", "--ext-diff",
                           "--textconv", "--open-files-in-pager", "--extcmd", "--tool",
                           "--upload-archive", "--template", "--ssh-command", NULL},
     false},
    {"npm", "C",
     (const char *const[]){"--script-shell", "--prefix", "--shell", "--node-options",
                           "--globalconfig", "--userconfig", "--scripts-prepend-node-path", "--git",
                           "--cwd", NULL},
     false},
    {"pnpm", "C", (const char *const[]){"--script-shell", "--dir", "--shell-mode", NULL}, false},
    {"yarn", "", (const char *const[]){"--cwd", "--use-yarnrc", NULL}, false},
    {"make", "fCIE",
     (const char *const[]){"--file", "--makefile", "--directory", "--eval", "--include-dir", NULL},
     true},
    {"cargo", "CZ", (const char *const[]){"--config", "--manifest-path", NULL}, false},
    {"go", "",
     (const char *const[]){"-exec", "--exec", "-toolexec", "--toolexec", "-vettool", "--vettool",
                           "-C", "-overlay", "--overlay", "-modfile", "--modfile", NULL},
     false},
    {"pytest", "cpo",
     (const char *const[]){"--rootdir", "--override-ini", "--confcutdir", "--pyargs", NULL}, false},
    {"find", "",
     (const char *const[]){"-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0",
                           "-fprintf", "-fls", "-files0-from", NULL},
     false},
    {"fd", "xX", (const char *const[]){"--exec", "--exec-batch", NULL}, false},
    {"rg", "z", (const char *const[]){"--pre", "--hostname-bin", "--search-zip", NULL}, false},
    {"tar", "IF",
     (const char *const[]){"--to-command", "--checkpoint-action", "--use-compress-program",
                           "--rsh-command", "--info-script", "--new-volume-script", NULL},
     false},
    {"rsync", "e", (const char *const[]){"--rsh", "--rsync-path", NULL}, false},
    {"sort", "oT", (const char *const[]){"--compress-program", "--output", NULL}, false},
    {"sed", "ief", (const char *const[]){"--in-place", "--expression", "--file", NULL}, false},
    {"awk", "fi", (const char *const[]){"--file", "--include", "--load", NULL}, true},
    {"man", "PHC", (const char *const[]){"--pager", "--html", "--config-file", NULL}, false},
    {"node", "er",
     (const char *const[]){"--eval", "--require", "--import", "--loader", "--print", NULL}, false},
    {"python", "cm", (const char *const[]){NULL}, false},
    {"python3", "cm", (const char *const[]){NULL}, false},
    {"perl", "eEIMm", (const char *const[]){NULL}, false},
    {"ruby", "erI", (const char *const[]){NULL}, false},
    {"docker", "H", (const char *const[]){"--host", "--context", "--config", NULL}, false},
    {"cmake", "PE", (const char *const[]){"--build", "--install", NULL}, false},
    {"ctest", "S", (const char *const[]){"--script", "--build-and-test", NULL}, false},
    {"gcc", "B", (const char *const[]){"-wrapper", "-specs", "-fplugin", NULL}, false},
    {"tsc", "p", (const char *const[]){"--project", "--outDir", "--outFile", NULL}, false},
    {"eslint", "co",
     (const char *const[]){"--config", "--rulesdir", "--resolve-plugins-relative-to",
                           "--output-file", "--format", NULL},
     false},
};

static bool is_listed(const char *const *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i], name) == 0)
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
    if (is_listed(wrappers, ARRAY_LEN(wrappers), slash ? slash + 1 : name))
        return why_wrapper;
    for (size_t i = 0; i < ARRAY_LEN(evaluating); i++)
        if (strcmp(evaluating[i].name, name) == 0 &&
            has_evaluating_option(evaluating[i].options, args, n_args))
            return why_builtin;
    return NULL;
}

/* arg is option, option=value, or, for a long one, an abbreviation of it. */
static bool is_option(const char *arg, const char *option)
{
    size_t len = strcspn(arg, "=");
    if (len == strlen(option))
        return strncmp(arg, option, len) == 0;
    bool is_long = option[0] == '-' && option[1] == '-';
    return is_long && len > 2 && strncmp(arg, option, len) == 0;
}

static bool has_letter(const char *arg, const char *letters)
{
    bool is_cluster = arg[0] == '-' && arg[1] != '-' && arg[1] != '\0';
    return is_cluster && letters[0] && strpbrk(arg + 1, letters);
}

bool program_widens(const char *name, char *const *args, size_t n_args)
{
    size_t p = 0;
    while (p < ARRAY_LEN(widening) && strcmp(widening[p].program, name) != 0)
        p++;
    if (p == ARRAY_LEN(widening))
        return false;
    bool is_operand = false; /* behind "--" there are no options, but still variables */
    for (size_t i = 0; i < n_args; i++) {
        if (widening[p].has_variables && args[i][0] != '-' && strchr(args[i], '='))
            return true;
        is_operand = is_operand || strcmp(args[i], "--") == 0;
        if (is_operand)
            continue;
        if (has_letter(args[i], widening[p].letters))
            return true;
        for (const char *const *option = widening[p].names; *option; option++)
            if (is_option(args[i], *option))
                return true;
    }
    return false;
}
