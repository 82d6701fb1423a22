#include "runner/cmd/escape.h"

#include "runner/base/mem.h"
#include "runner/cmd/escape_world.h"

static const struct escape_rows *const families[] = {&escape_spaces, &escape_calls, &escape_ipc,
                                                     &escape_life,   &escape_net,   &escape_home,
                                                     &escape_git,    &escape_proxy, &escape_exec};

/* Each id that was asked for is one, or the row of some. */
static bool check_ids(const struct strv *ids, struct err *err)
{
    for (size_t i = 0; i < ids->n; i++) {
        bool is_known = false;
        const struct strv one = {.v = &ids->v[i], .n = 1};
        for (size_t f = 0; f < ARRAY_LEN(families) && !is_known; f++)
            is_known = escape_count(families[f], &one) > 0;
        if (!is_known)
            return err_set(err, ERR_USAGE,
                           "there is no attempt \"%s\"; `headgate doctor --escape` lists them",
                           ids->v[i]);
    }
    return true;
}

bool escape_suite(json_t **ret, bool *ret_contained, const char *launcher, uid_t uid, gid_t gid,
                  const char *only, struct err *err)
{
    AUTO_ESCAPE_SCENE struct escape_scene scene = ESCAPE_SCENE_INIT;
    AUTO_STRV struct strv ids = STRV_INIT;
    AUTO_JSON json_t *attempts = json_array();
    bool all = true;
    strv_split(&ids, only ? only : "", ',', false);
    AUTO_ESCAPE_WORLD struct escape_world world = ESCAPE_WORLD_INIT;
    if (!check_ids(&ids, err) || !escape_scene_set(&scene, launcher, uid, gid, err) ||
        !escape_world_make(&world, &scene, err))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(families); i++)
        all = escape_run(attempts, families[i], &scene, &ids) && all;
    *ret_contained = all;
    *ret = json_object();
    jx_set(*ret, "attempts", steal_ptr(&attempts));
    return true;
}
