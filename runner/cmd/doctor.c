#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runner/attempt/account.h"
#include "runner/attempt/attempt.h"
#include "runner/base/mem.h"
#include "runner/cmd/cmd.h"
#include "runner/cmd/escape.h"
#include "runner/cmd/facts.h"
#include "runner/cmd/out.h"
#include "runner/cmd/print_doctor.h"
#include "runner/keep/exec_probe.h"
#include "sandbox/probe.h"
#include "worktree/worktree.h"

/* Each layer tried in real boxes, as the account that boxes of this Headgate have. */
static bool prove_layers(json_t **ret, struct layer_report *ret_report,
                         struct layer_status *ret_exec, const struct config *config,
                         struct err *err)
{
    struct account account;
    AUTO_FREE char *launcher = paths_program("headgate-box", err);
    if (!launcher || !account_of_boxes(&account, config, err) ||
        !probe_run(ret, ret_report, launcher, account.uid, account.gid, err))
        return false;
    json_array_append_new(jx_arr(*ret, "layers"),
                          exec_probe_run(ret_exec, launcher, account.uid, account.gid));
    return true;
}

/* [{"name","works","taken","why","trade"}]: how an attempt would get its files. */
static json_t *list_engines(const struct paths *paths, const struct config *config)
{
    json_t *list = json_array();
    AUTO_FREE char *first_why = NULL;
    enum wt_engine taken = wt_engine_first(paths->bases, &first_why);
    const char *named = config_str(config, "worktree.engine", NULL);
    struct err ignored = ERR_INIT; /* of a name that is none: `run` says so */
    bool is_named = named && wt_engine_parse(&taken, named, &ignored);
    for (int i = 0; i < WT_ENGINES; i++) {
        json_t *one = json_object();
        AUTO_FREE char *why = NULL;
        bool works = wt_engine_works((enum wt_engine)i, paths->bases, &why);
        bool is_taken = works && (int)taken == i;
        jx_set_str(one, "name", wt_engine_name((enum wt_engine)i));
        jx_set_str(one, "trade", wt_engine_trade((enum wt_engine)i));
        jx_set_bool(one, "works", works);
        jx_set_bool(one, "taken", is_taken);
        jx_set_str(one, "why",
                   !works                 ? why
                   : is_taken && is_named ? "worktree.engine of the configuration"
                                          : "");
        json_array_append_new(list, one);
    }
    return list;
}

static bool check_required(const struct layer_report *report, const struct layer_status *exec,
                           unsigned mask, struct err *err)
{
    if ((mask & LAYER_EXEC_BIT) && exec->state != LAYER_ACTIVE)
        return err_set(err, ERR_LAYER, "layer " EXEC_LAYER_NAME " is %s: %s",
                       layer_state_name(exec->state), exec->reason);
    for (int i = 0; i < LAYER_COUNT; i++) {
        const struct layer_status *status = &report->layer[i];
        if ((mask & 1U << i) && status->state != LAYER_ACTIVE)
            return err_set(err, ERR_LAYER, "layer %s is %s: %s", layer_name((enum layer_id)i),
                           layer_state_name(status->state), status->reason);
    }
    return true;
}

/* The escape suite. One that came through a layer said to be active: ERR_FAILED, after the table.
 */
static bool try_escapes(const struct config *config, const char *only, bool json, struct err *err)
{
    struct account account;
    struct print p;
    AUTO_FREE char *launcher = paths_program("headgate-box", err);
    AUTO_JSON json_t *result = NULL;
    AUTO_BUF struct buf text = BUF_INIT;
    bool is_contained = false;
    if (!launcher || !account_of_boxes(&account, config, err) ||
        !escape_suite(&result, &is_contained, launcher, account.uid, account.gid, only, err))
        return false;
    out_print(&p);
    print_escapes(&text, &p, result);
    if (!(json ? out_json(result, err) : out_buf(&text, err)))
        return false;
    return is_contained || err_set(err, ERR_FAILED,
                                   "not every attempt was contained; a box on this machine does "
                                   "not hold what the table marks");
}

static bool doctor(char **argv, struct err *err)
{
    bool json = false, escape = false;
    const char *require = NULL, *only = NULL;
    unsigned mask = 0;
    const struct opt table[] = {
        {0, "json", OPT_FLAG, &json, NULL, "print JSON", 0, 0},
        {0, "escape", OPT_FLAG, &escape, NULL, "try to get out of a box in every known way", 0, 0},
        {0, "only", OPT_STRING, &only, "ID,...", "with --escape: these attempts", 0, 0},
        {0, "require", OPT_STRING, &require, "LAYER,...", "exit 4 unless these are active", 0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_PATHS struct paths paths = {0};
    AUTO_CONFIG struct config *config = NULL;
    AUTO_BUF struct buf why = BUF_INIT, text = BUF_INIT;
    AUTO_FREE char *name = facts_platform();
    AUTO_JSON json_t *result = NULL;
    struct layer_report report;
    struct layer_status exec;
    struct print p;
    if (!cmd_parse_n(&args, argv, table, ARRAY_LEN(table), 0, 0, err) ||
        (require && !layer_parse_required(&mask, require, err)) || !paths_init(&paths, err) ||
        !config_load(&config, &paths, err))
        return false;
    if (only && !escape)
        return cmd_usage("doctor", "--only chooses among the attempts of --escape", err);
    if (escape)
        return try_escapes(config, only, json, err);
    if (!prove_layers(&result, &report, &exec, config, err))
        return false;
    jx_set_str(result, "platform", name);
    jx_set(result, "engines", list_engines(&paths, config));
    jx_set(result, "facts", facts_of_host(&report));
    jx_set_str(result, "ladder", ladder_name(attempt_default_ladder(&report, &why)));
    jx_set_str(result, "ladder_why", why.ptr);
    out_print(&p);
    print_doctor(&text, &p, result);
    bool ok = json ? out_json(result, err) : out_buf(&text, err);
    return ok && check_required(&report, &exec, mask, err);
}

int cmd_doctor(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(doctor(argv, &err), &err);
}
