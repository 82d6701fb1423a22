/* Words of an agent, one a line: whatever is read holds no option that is not listed, and no ref or
 * address that another program would take for an option. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gate/broker.h"
#include "gate/broker_url.h"
#include "runner/base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_url(const char *text)
{
    AUTO_BROKER_URL struct broker_url url = BROKER_URL_INIT, again = BROKER_URL_INIT;
    struct err err = ERR_INIT;
    if (!broker_url_parse(&url, text, &err))
        return;
    AUTO_FREE char *first = broker_url_text(&url);
    if (!broker_url_parse(&again, first, &err))
        abort();
    AUTO_FREE char *second = broker_url_text(&again);
    if (strcmp(first, second) != 0 || first[0] == '-' || url.host[0] == '-' || url.path[0] == '-' ||
        (url.user && (url.user[0] == '-' || strchr(url.user, ':'))))
        abort();
    broker_url_release(&again);
}

static void check_act(const struct broker_act *act)
{
    static const char *const never[] = {"--receive-pack", "--exec",   "--upload-pack", "--force-w",
                                        "--repo",         "--mirror", "--config",      "-c"};
    for (size_t i = 0; i < act->options.n && strcmp(act->program, "git") == 0; i++) {
        const char *option = act->options.v[i];
        bool is_lease = strncmp(option, "--force-with-lease=", 19) == 0 && strchr(option, ':');
        /* The word behind -o, -j, -s and -X is a value. */
        bool is_value =
            i > 0 && strlen(act->options.v[i - 1]) == 2 && strchr("ojsX", act->options.v[i - 1][1]);
        for (size_t k = 0; k < ARRAY_LEN(never) && !is_value && !is_lease; k++)
            if (strncmp(option, never[k], strlen(never[k])) == 0)
                abort();
    }
    if (act->dst && (strncmp(act->dst, "refs/heads/", 11) != 0 || !broker_is_branch(act->dst + 11)))
        abort();
    if (act->src && strcmp(act->src, "HEAD") != 0 && !broker_is_branch(act->src))
        abort();
    if (act->remote && (act->remote[0] == '-' || strpbrk(act->remote, ":/ ")))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE char *text = xstrndup((const char *)data, size);
    AUTO_STRV struct strv argv = STRV_INIT;
    AUTO_BROKER_ACT struct broker_act act = BROKER_ACT_INIT;
    struct err err = ERR_INIT;
    check_url(text);
    strv_split(&argv, text, '\n', true);
    broker_is_for(argv.v, argv.n);
    broker_publishes(argv.v, argv.n);
    if (broker_read(&act, argv.v, argv.n, &err))
        check_act(&act);
    return 0;
}
