#include "runner/cmd/escape.h"

#include "runner/base/mem.h"
#include "runner/cmd/escape_world.h"

static const struct escape_rows *const families[] = {&escape_spaces, &escape_calls, &escape_ipc,
                                                     &escape_life,   &escape_net,   &escape_git};

bool escape_suite(json_t **ret, bool *ret_contained, const char *launcher, uid_t uid, gid_t gid,
                  const char *only, struct err *err)
{
    AUTO_ESCAPE_SCENE struct escape_scene scene = ESCAPE_SCENE_INIT;
    AUTO_STRV struct strv ids = STRV_INIT;
    AUTO_JSON json_t *attempts = json_array();
    bool all = true;
    strv_split(&ids, only ? only : "", ',', false);
    AUTO_ESCAPE_WORLD struct escape_world world = ESCAPE_WORLD_INIT;
    if (!escape_scene_set(&scene, launcher, uid, gid, err) ||
        !escape_world_make(&world, &scene, err))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(families); i++)
        all = escape_run(attempts, families[i], &scene, &ids) && all;
    if (json_array_size(attempts) == 0)
        return err_set(err, ERR_USAGE, "there is no attempt \"%s\"", only);
    *ret_contained = all;
    *ret = json_object();
    jx_set(*ret, "attempts", steal_ptr(&attempts));
    return true;
}
