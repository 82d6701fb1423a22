#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "sandbox/plan.h"
#include "sandbox/plan_parts.h"

/* A make-believe /sys/fs/cgroup: the layouts that this machine does not have. */
struct tree {
    char *dir, *own;
};

static int set_up(void **state)
{
    char dir[] = "/tmp/headgate-cgroup-XXXXXX";
    struct tree *t = xcalloc(1, sizeof(*t));
    if (!mkdtemp(dir))
        return -1;
    t->dir = xstrdup(dir);
    t->own = fs_join(dir, "self");
    *state = t;
    return 0;
}

static int tear_down(void **state)
{
    struct tree *t = *state;
    struct err err = ERR_INIT;
    if (!fs_remove_tree(AT_FDCWD, t->dir, &err))
        return -1;
    free(t->dir);
    free(t->own);
    free(t);
    return 0;
}

static void put(const struct tree *t, const char *name, const char *text)
{
    struct err err = ERR_INIT;
    AUTO_FREE char *path = fs_join(t->dir, name);
    AUTO_FREE char *folder = fs_dirname(path);
    if (!fs_mkdirs(folder, 0755, &err) ||
        !fs_write_plain(AT_FDCWD, path, text, strlen(text), 0644, &err))
        fail_msg("%s", err.text);
}

/* The steps of the plan as text, one a line. */
static char *plan_for(const struct tree *t, int64_t memory_bytes, int64_t pids)
{
    const struct plan_head head = {0};
    const struct box_limits limits = {.memory_bytes = memory_bytes, .pids = pids};
    AUTO_BUF struct buf plan = BUF_INIT;
    AUTO_BUF struct buf text = BUF_INIT;
    plan_begin(&plan, &head);
    plan_add_cgroups(&plan, &limits, t->dir, t->own);
    const struct plan view = {.head = (const void *)plan.ptr, .size_bytes = plan.len};
    for (const struct plan_step *s = NULL; (s = plan_next(&view, s));) {
        const char *first = plan_text(s, 0);
        if (strncmp(first, t->dir, strlen(t->dir)) == 0)
            first += strlen(t->dir);
        if (s->kind != PLAN_LIMITS)
            buf_addf(&text, "%s=%s%s\n", first, plan_text(s, 1),
                     s->flags & PLAN_OPTIONAL ? "?" : "");
    }
    return buf_steal(&text);
}

static void no_limit_needs_no_group(void **state)
{
    const struct tree *t = *state;
    put(t, "self", "0::/\n");
    AUTO_FREE char *plan = plan_for(t, 0, 0);
    assert_string_equal(plan, "");
}

static const char v2_values[] =
    "memory.max=1048576\nmemory.swap.max=0?\nmemory.oom.group=1?\npids.max=11\ncpu.weight=50?\n";

static void version_2_delegated_to_the_parent(void **state)
{
    const struct tree *t = *state;
    put(t, "self", "0::/user.slice/app.scope\n");
    put(t, "user.slice/cgroup.procs", "");
    put(t, "user.slice/cgroup.subtree_control", "cpu memory pids\n");
    put(t, "user.slice/app.scope/cgroup.procs", "");
    AUTO_FREE char *missing = fs_join(t->dir, "user.slice/app.scope/cgroup.subtree_control");
    assert_int_equal(mkdir(missing, 0755),
                     0); /* writing there fails, as it does with processes inside */
    AUTO_FREE char *plan = plan_for(t, 1 << 20, 10);
    AUTO_FREE char *expected = xasprintf("/user.slice=cgroup v2 memory, pids\n%s", v2_values);
    assert_string_equal(plan, expected);
}

static void version_2_delegated_to_ourselves(void **state)
{
    const struct tree *t = *state;
    put(t, "self", "0::/a/b\n");
    put(t, "a/b/cgroup.procs", "");
    put(t, "a/b/cgroup.subtree_control", "memory pids");
    AUTO_FREE char *plan = plan_for(t, 1 << 20, 10);
    AUTO_FREE char *expected = xasprintf("/a/b=cgroup v2 memory, pids\n%s", v2_values);
    assert_string_equal(plan, expected);
}

static void version_1_beside_a_bare_version_2(void **state)
{
    const struct tree *t = *state;
    put(t, "self", "8:pids:/p\n4:memory:/m/n\n3:cpu,cpuacct:/\n0::/\n");
    put(t, "pids/p/pids.max", "max");
    put(t, "memory/m/n/memory.limit_in_bytes", "0");
    AUTO_FREE char *unified = fs_join(t->dir, "unified");
    assert_int_equal(mkdir(unified, 0755), 0);
    AUTO_FREE char *plan = plan_for(t, 1 << 20, 10);
    assert_string_equal(plan, "/memory/m/n=cgroup v1 memory, pids\n"
                              "memory.limit_in_bytes=1048576\n"
                              "memory.memsw.limit_in_bytes=1048576?\n"
                              "/pids/p=cgroup v1 memory, pids\n"
                              "pids.max=11\n");
}

static void nothing_delegated_is_no_group(void **state)
{
    const struct tree *t = *state;
    put(t, "self", "0::/gone\nrubbish\n::\n");
    AUTO_FREE char *plan = plan_for(t, 1 << 20, 10);
    assert_string_equal(plan, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_limit_needs_no_group, set_up, tear_down),
        cmocka_unit_test_setup_teardown(version_2_delegated_to_the_parent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(version_2_delegated_to_ourselves, set_up, tear_down),
        cmocka_unit_test_setup_teardown(version_1_beside_a_bare_version_2, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_delegated_is_no_group, set_up, tear_down)};
    return cmocka_run_group_tests_name("cgroup", tests, NULL, NULL);
}
