#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "runner/cmd/cmd.h"
#include "runner/cmd/out.h"

/* The words before the handler's own become its argv[0]: "gate approve". */
static int call_handler(const struct command *c, const char *full_name, int argc, char **argv)
{
    AUTO_FREE char **words = xcalloc((size_t)argc + 1, sizeof(*words));
    AUTO_FREE char *name = xstrdup(full_name);
    words[0] = name;
    for (int i = 1; i < argc; i++)
        words[i] = argv[i];
    return c->run(argc, words);
}

static int unknown(const struct command *table, const char *prefix, const char *word)
{
    AUTO_FREE char *clean = text_clean(word);
    const char *meant = cmd_nearest(table, word);
    struct err err = ERR_INIT;
    const char *space = *prefix ? " " : "";
    if (meant)
        err_set(&err, ERR_USAGE, "unknown command '%s%s%s'; did you mean 'headgate %s%s%s'?",
                prefix, space, clean, prefix, space, meant);
    else
        err_set(&err, ERR_USAGE, "unknown command '%s%s%s'; headgate%s%s --help lists them", prefix,
                space, clean, space, prefix);
    return cmd_exit(false, &err);
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* argv[0] is the word that led here, argv[1] the child's name, if there is one. */
static int dispatch(const struct command *table, const char *prefix, const char *fallback, int argc,
                    char **argv)
{
    const struct command *c = argc > 1 ? cmd_child(table, argv[1], strlen(argv[1])) : NULL;
    bool takes_fallback = !c && fallback && (argc == 1 || (argv[1][0] == '-' && !is_help(argv[1])));
    if (takes_fallback) {
        AUTO_FREE char *name = xasprintf("%s %s", prefix, fallback);
        return call_handler(cmd_child(table, fallback, strlen(fallback)), name, argc, argv);
    }
    if (!c && argc > 1 && is_help(argv[1])) {
        struct err err = ERR_INIT;
        return cmd_exit(cmd_print_help(prefix, NULL, 0, &err), &err);
    }
    if (!c)
        return unknown(table, prefix, argv[1]);
    AUTO_FREE char *name = xasprintf("%s%s%s", prefix, *prefix ? " " : "", c->name);
    if (!c->run)
        return dispatch(c->children, name, c->fallback, argc - 1, argv + 1);
    return call_handler(c, name, argc - 1, argv + 1);
}

/* `headgate help [COMMAND...]` */
static int help(int argc, char **argv)
{
    struct err err = ERR_INIT;
    if (argc == 1) {
        AUTO_BUF struct buf text = BUF_INIT;
        cmd_help(&text);
        return cmd_exit(out_buf(&text, &err), &err);
    }
    AUTO_FREE char **words = xcalloc((size_t)argc + 2, sizeof(*words));
    char flag[] = "--help";
    for (int i = 0; i < argc; i++)
        words[i] = argv[i];
    words[argc] = flag;
    return dispatch(commands, "", NULL, argc + 1, words);
}

static int version(void)
{
    struct err err = ERR_INIT;
    static const char text[] = "headgate " HEADGATE_VERSION "\n";
    return cmd_exit(out_write(text, sizeof(text) - 1, &err), &err);
}

int cmd_main(int argc, char **argv)
{
    char name[] = "headgate";
    char *none[] = {name, NULL};
    signal(SIGPIPE, SIG_IGN); /* a server that went away is an error to report, not our end */
    if (argc <= 1) {
        bool is_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
        return is_terminal ? cmd_dashboard(1, none) : cmd_ls(1, none);
    }
    if (strcmp(argv[1], "--version") == 0)
        return version();
    if (is_help(argv[1]))
        return help(1, argv);
    if (strcmp(argv[1], "help") == 0)
        return help(argc - 1, argv + 1);
    return dispatch(commands, "", NULL, argc, argv);
}
