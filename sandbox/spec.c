#include "sandbox/box.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/mem.h"

void box_spec_init(struct box_spec *spec)
{
    *spec = (struct box_spec){
        .argv = STRV_INIT,
        .env = STRV_INIT,
        .setup = STRV_INIT,
        .setup_env = STRV_INIT,
        .teardown = STRV_INIT,
        .hidden = STRV_INIT,
        .masks = STRV_INIT,
        .covered = STRV_INIT,
        .frozen = STRV_INIT,
        .listen_ports = STRV_INIT,
        .uid = geteuid(),
        .gid = getegid(),
    };
}

void box_spec_release(struct box_spec *spec)
{
    strv_release(&spec->argv);
    strv_release(&spec->env);
    strv_release(&spec->setup);
    strv_release(&spec->setup_env);
    strv_release(&spec->teardown);
    strv_release(&spec->hidden);
    strv_release(&spec->masks);
    strv_release(&spec->covered);
    free(spec->covered_in);
    strv_release(&spec->frozen);
    free(spec->ssh_config);
    strv_release(&spec->listen_ports);
    for (size_t i = 0; i < spec->n_binds; i++) {
        free(spec->binds[i].host);
        free(spec->binds[i].inside);
    }
    free(spec->binds);
    free(spec->overlay.lower);
    free(spec->overlay.under);
    free(spec->overlay.upper);
    free(spec->overlay.work);
    free(spec->overlay.inside);
    free(spec->cwd);
    free(spec->hostname);
    free(spec->home);
    free(spec->home_inside);
    box_spec_init(spec);
}

void box_spec_bind(struct box_spec *spec, const char *host, const char *inside, unsigned flags)
{
    spec->binds = xreallocarray(spec->binds, spec->n_binds + 1, sizeof(*spec->binds));
    spec->binds[spec->n_binds++] = (struct box_bind){
        .host = xstrdup(host),
        .inside = xstrdup(inside),
        .flags = flags,
    };
}
