#include "gate/hook/shim_status.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/changes.h"
#include "runner/base/mem.h"

static bool is_plain(char **argv)
{
    static const char *const words[] = {
        "--porcelain",
        "--porcelain=v1",
        "--porcelain=v2",
        "--short",
        "-s",
        "-b",
        "--branch",
        "-sb",
        "--long",
        "-z",
        "-v",
    };
    if (!argv[1] || strcmp(argv[1], "status") != 0)
        return false;
    for (char **word = argv + 2; *word; word++) {
        bool is_known = false;
        for (size_t i = 0; i < ARRAY_LEN(words); i++)
            is_known = is_known || strcmp(*word, words[i]) == 0;
        if (!is_known)
            return false;
    }
    return true;
}

/* Nothing in the environment leads git elsewhere or sets what the configuration does. */
static bool is_untold(void)
{
    static const char *const names[] = {
        "GIT_DIR",        "GIT_WORK_TREE",    "GIT_INDEX_FILE",
        "GIT_COMMON_DIR", "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS",
    };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (getenv(names[i]))
            return false;
    return true;
}

static bool is_in_worktree(void)
{
    const char *tree = getenv("HEADGATE_WORKTREE");
    AUTO_FREE char *cwd = getcwd(NULL, 0);
    size_t len = tree ? strlen(tree) : 0;
    return len > 0 && cwd && strncmp(cwd, tree, len) == 0 && (cwd[len] == '\0' || cwd[len] == '/');
}

void shim_status_prepare(char **argv)
{
    static const char *const settings[][2] = {
        {"core.untrackedCache", "keep"},
        {"core.fsmonitor", CHANGES_HOOK},
        {"core.preloadIndex", "false"}, /* threads to look at files, of which none is looked at */
    };
    char name[40], count[20];
    if (!is_plain(argv) || !is_untold() || !is_in_worktree() || access(CHANGES_UPPER, F_OK) != 0)
        return;
    for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
        snprintf(name, sizeof(name), "GIT_CONFIG_KEY_%zu", i);
        setenv(name, settings[i][0], 1);
        snprintf(name, sizeof(name), "GIT_CONFIG_VALUE_%zu", i);
        setenv(name, settings[i][1], 1);
    }
    snprintf(count, sizeof(count), "%zu", ARRAY_LEN(settings));
    setenv("GIT_CONFIG_COUNT", count, 1);
}
