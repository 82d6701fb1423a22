/*
 * plan_parts: the parts of box_plan, each a list of steps appended to the plan. Private to the
 * library.
 */
#ifndef SANDBOX_PLAN_PARTS_H
#define SANDBOX_PLAN_PARTS_H

#include "sandbox/box.h"
#include "sandbox/plan.h"

/* plan_system.c: system folders read-only, /etc as a list, /dev, /proc, /tmp, /run. */
bool plan_add_system(struct buf *plan, const struct box_spec *spec, struct err *err) WARN_UNUSED;

/* plan_system.c: a writable folder in memory, of at most tmp_bytes (0: a quarter of memory). */
void plan_add_memory_folder(struct buf *plan, const char *path, const char *mode,
                            int64_t tmp_bytes);

/* plan_system.c: empty folders over those of spec->hidden that a system folder shows. */
bool plan_add_hidden(struct buf *plan, const struct box_spec *spec, struct err *err) WARN_UNUSED;

/* plan_account.c: /etc/passwd, group, hosts and hostname, generated: the box knows its own account.
 */
void plan_add_account(struct buf *plan, const struct box_spec *spec);

/* The name that an account has in the box. Allocated. */
char *plan_account_name(uid_t uid);

/* plan.c: the plan of a further process (box_join). */
void plan_join(struct buf *plan, const struct strv *argv, const struct strv *env, const char *cwd,
               uint16_t cols, uint16_t rows);

/* plan.c: the plan of a rename (box_move). */
void plan_move(struct buf *plan, const struct box_rename *rename);

/* cgroup.c: the groups for the limits of the spec, or why there are none. sys_root and proc_cgroup
 * are /sys/fs/cgroup and /proc/self/cgroup but in tests. */
void plan_add_cgroups(struct buf *plan, const struct box_limits *limits, const char *sys_root,
                      const char *proc_cgroup);

#endif
