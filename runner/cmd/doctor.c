#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "runner/attempt/attempt.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/cmd/cmd.h"
#include "runner/cmd/out.h"
#include "runner/cmd/print_doctor.h"

/* WSL2 and containers are Linux with another set of limits, so they are named. */
static char *platform(void)
{
    struct utsname name;
    if (uname(&name) != 0)
        return xstrdup("Linux");
    bool is_wsl = strstr(name.release, "icrosoft") != NULL;
    bool is_container = fs_exists("/.dockerenv") || fs_exists("/run/.containerenv");
    return xasprintf("Linux %s %s%s", name.release, name.machine,
                     is_wsl         ? " (WSL2)"
                     : is_container ? " (in a container)"
                                    : "");
}

static json_t *layers_json(const struct layer_report *report)
{
    json_t *list = json_array();
    for (int i = 0; i < LAYER_COUNT; i++) {
        const struct layer_status *status = &report->layer[i];
        json_t *layer = json_object();
        jx_set_str(layer, "name", layer_name((enum layer_id)i));
        jx_set_str(layer, "state", layer_state_name(status->state));
        jx_set_str(layer, "mechanism", status->mechanism);
        jx_set_str(layer, "reason", status->reason);
        json_array_append_new(list, layer);
    }
    return list;
}

static bool check_required(const struct layer_report *report, unsigned mask, struct err *err)
{
    for (int i = 0; i < LAYER_COUNT; i++) {
        const struct layer_status *status = &report->layer[i];
        if ((mask & 1U << i) && status->state != LAYER_ACTIVE)
            return err_set(err, ERR_LAYER, "layer %s is %s: %s", layer_name((enum layer_id)i),
                           layer_state_name(status->state), status->reason);
    }
    return true;
}

static bool doctor(char **argv, struct err *err)
{
    bool json = false;
    const char *require = NULL;
    unsigned mask = 0;
    const struct opt table[] = {
        {0, "json", OPT_FLAG, &json, NULL, "print JSON", 0, 0},
        {0, "require", OPT_STRING, &require, "LAYER,...", "exit 4 unless these are active", 0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_PATHS struct paths paths = {0};
    AUTO_CONFIG struct config *config = NULL;
    AUTO_BUF struct buf why = BUF_INIT, text = BUF_INIT;
    AUTO_FREE char *name = platform();
    struct layer_report report;
    struct print p;
    if (!cmd_parse_n(&args, argv, table, ARRAY_LEN(table), 0, 0, err) ||
        (require && !layer_parse_list(&mask, require, err)) || !paths_init(&paths, err) ||
        !config_load(&config, &paths, err) || !attempt_probe_layers(&report, &paths, config, err))
        return false;
    AUTO_JSON json_t *result = json_object();
    jx_set_str(result, "platform", name);
    jx_set(result, "layers", layers_json(&report));
    jx_set_str(result, "ladder", ladder_name(attempt_default_ladder(&report, &why)));
    jx_set_str(result, "ladder_why", why.ptr);
    out_print(&p);
    print_doctor(&text, &p, result);
    bool ok = json ? out_json(result, err) : out_buf(&text, err);
    return ok && check_required(&report, mask, err);
}

int cmd_doctor(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(doctor(argv, &err), &err);
}
