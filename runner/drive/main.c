/*
 * headgate-drive: see drive.h.
 *
 *     headgate-drive [--resume] KIND -- PROGRAM [ARGUMENT...]
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/mem.h"
#include "runner/base/opt.h"
#include "runner/drive/drive.h"

static const struct {
    const char *name;
    drive_start_fn start;
} kinds[] = {{"codex", drive_codex}};

static bool find_kind(drive_start_fn *ret, const char *name, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            *ret = kinds[i].start;
            return true;
        }
    }
    return err_set(err, ERR_USAGE, "'%s' is no agent that headgate-drive knows", name);
}

static bool take_environment(struct drive *d, struct err *err)
{
    static const char *const names[] = {"HEADGATE_TASK", "HEADGATE_GATE", "HEADGATE_HOOK", "HOME"};
    const char **const targets[] = {&d->prompt, &d->gate, &d->hook, &d->home};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        *targets[i] = getenv(names[i]);
        if (!*targets[i])
            return err_set(err, ERR_USAGE, "%s is not set: this program runs in a box of Headgate",
                           names[i]);
    }
    return true;
}

static bool run(struct drive *d, char **argv, struct err *err)
{
    const struct opt table[] = {
        {0, "resume", OPT_FLAG, &d->is_resumed, NULL, "go on with the last conversation", 0, 0},
    };
    AUTO_STRV struct strv words = STRV_INIT;
    AUTO_FREE char *cwd = getcwd(NULL, 0);
    size_t dashdash;
    drive_start_fn start;
    if (!opt_parse(&words, &dashdash, table, ARRAY_LEN(table), argv, false, err))
        return false;
    if (dashdash != 1 || words.n < 2)
        return err_set(err, ERR_USAGE,
                       "usage: headgate-drive [--resume] KIND -- PROGRAM [ARGUMENT...]");
    if (!find_kind(&start, words.v[0], err) || !take_environment(d, err))
        return false;
    if (d->is_resumed && getenv("HEADGATE_MESSAGE"))
        d->prompt = getenv("HEADGATE_MESSAGE");
    d->argv = strv_array(&words) + 1;
    d->cwd = cwd ? cwd : "/";
    if (!start(d, err))
        return false;
    uv_run(&d->loop, UV_RUN_DEFAULT);
    return true;
}

int main(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    struct drive d = {.status = 1};
    signal(SIGPIPE, SIG_IGN);
    int status = uv_loop_init(&d.loop);
    if (status == 0 && run(&d, argv, &err))
        return d.status;
    fprintf(stderr, "headgate: %s\n", status ? uv_strerror(status) : err.text);
    return 1;
}
