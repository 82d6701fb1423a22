#include "sandbox/plan_parts.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "runner/base/mem.h"

/* Names come from the host's plain files first: asking every source that nsswitch.conf lists can mean a
 * directory server. */
static const struct passwd *find_account(uid_t uid)
{
    AUTO_FILE FILE *file = fopen("/etc/passwd", "re");
    const struct passwd *entry;
    while (file && (entry = fgetpwent(file)))
        if (entry->pw_uid == uid)
            return entry;
    return getpwuid(uid);
}

static const struct group *find_group(gid_t gid)
{
    AUTO_FILE FILE *file = fopen("/etc/group", "re");
    const struct group *entry;
    while (file && (entry = fgetgrent(file)))
        if (entry->gr_gid == gid)
            return entry;
    return getgrgid(gid);
}

static bool is_plain(const char *name)
{
    return name && *name && !strpbrk(name, ":\n");
}

char *plan_account_name(uid_t uid)
{
    const struct passwd *entry = find_account(uid);
    return xstrdup(entry && is_plain(entry->pw_name) ? entry->pw_name : "agent");
}

static void add_passwd(struct buf *plan, const struct box_spec *spec)
{
    AUTO_BUF struct buf text = BUF_INIT;
    const struct passwd *entry = find_account(spec->uid);
    const char *name = entry && is_plain(entry->pw_name) ? entry->pw_name : "agent";
    const char *shell = entry && is_plain(entry->pw_shell) ? entry->pw_shell : "/bin/sh";
    /* A system account has a shell that refuses; the box is there to run programs. */
    if (strstr(shell, "nologin") || strstr(shell, "/false"))
        shell = "/bin/sh";
    buf_addf(&text,
             "root:x:0:0:root:/root:/usr/sbin/nologin\n"
             "%s:x:%u:%u:%s:%s:%s\n"
             "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
             name, spec->uid, spec->gid, name,
             is_plain(spec->home_inside) ? spec->home_inside : "/", shell);
    plan_add(plan, PLAN_FILE, 0, "/etc/passwd", text.ptr, NULL);
}

static void add_group(struct buf *plan, const struct box_spec *spec)
{
    AUTO_BUF struct buf text = BUF_INIT;
    const struct group *entry = find_group(spec->gid);
    const char *name = entry && is_plain(entry->gr_name) ? entry->gr_name : "agent";
    buf_addf(&text, "root:x:0:\n%s:x:%u:\nnogroup:x:65534:\n", name, spec->gid);
    plan_add(plan, PLAN_FILE, 0, "/etc/group", text.ptr, NULL);
}

void plan_add_account(struct buf *plan, const struct box_spec *spec)
{
    AUTO_BUF struct buf text = BUF_INIT;
    const char *hostname = spec->hostname ? spec->hostname : "box";
    add_passwd(plan, spec);
    add_group(plan, spec);
    buf_addf(&text,
             "127.0.0.1\tlocalhost %s\n"
             "::1\tlocalhost ip6-localhost ip6-loopback\n",
             hostname);
    plan_add(plan, PLAN_FILE, 0, "/etc/hosts", text.ptr, NULL);
    buf_clear(&text);
    buf_addf(&text, "%s\n", hostname);
    plan_add(plan, PLAN_FILE, 0, "/etc/hostname", text.ptr, NULL);
}
