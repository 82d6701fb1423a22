#include "sandbox/plan_parts.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"

#define BASH "/bin/bash"

enum { ACCOUNT_FILE_BYTES = 4 * 1024 * 1024, SHELL_FIELD = 6 };

/* The fields of the first line of a file in the form of passwd(5) that has this id. */
static bool find_line(struct strv *ret_fields, const char *path, unsigned id)
{
    AUTO_BUF struct buf text = BUF_INIT;
    struct err ignored = ERR_INIT;
    char wanted[16];
    snprintf(wanted, sizeof(wanted), "%u", id);
    if (!fs_read_file(&text, AT_FDCWD, path, ACCOUNT_FILE_BYTES, &ignored))
        return false;
    for (char *line = text.ptr, *end; *line; line = end + (*end ? 1 : 0)) {
        end = strchrnul(line, '\n');
        const char *first = strchr(line, ':');
        const char *second = first ? strchr(first + 1, ':') : NULL;
        size_t len = strlen(wanted);
        if (!second || second > end || strncmp(second + 1, wanted, len) != 0 ||
            second[1 + len] != ':')
            continue;
        *end = '\0';
        strv_split(ret_fields, line, ':', true);
        return true;
    }
    return false;
}

static bool is_plain(const char *name)
{
    return name && *name && !strpbrk(name, ":\n");
}

/* A name and a login shell. The host's plain files are asked first: asking every source that
 * nsswitch.conf lists can mean a directory server. */
static void find_account(char **ret_name, char **ret_shell, uid_t uid)
{
    AUTO_STRV struct strv fields = STRV_INIT;
    const char *name = NULL, *shell = NULL;
    if (find_line(&fields, "/etc/passwd", uid)) {
        name = fields.v[0];
        shell = fields.n > SHELL_FIELD ? fields.v[SHELL_FIELD] : NULL;
    } else {
        const struct passwd *entry = getpwuid(uid);
        name = entry ? entry->pw_name : NULL;
        shell = entry ? entry->pw_shell : NULL;
    }
    /* A system account has a shell that refuses; the box is there to run programs, and gets the one
     * that people have, since agents wrap their commands by which it is. */
    if (!is_plain(shell) || strstr(shell, "nologin") || strstr(shell, "/false"))
        shell = access(BASH, X_OK) == 0 ? BASH : "/bin/sh";
    *ret_name = xstrdup(is_plain(name) ? name : "agent");
    *ret_shell = xstrdup(shell);
}

char *plan_account_name(uid_t uid)
{
    AUTO_FREE char *shell = NULL;
    char *name;
    find_account(&name, &shell, uid);
    return name;
}

static void add_passwd(struct buf *plan, const struct box_spec *spec)
{
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_FREE char *name = NULL;
    AUTO_FREE char *shell = NULL;
    find_account(&name, &shell, spec->uid);
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
    AUTO_STRV struct strv fields = STRV_INIT;
    const char *name = NULL;
    if (find_line(&fields, "/etc/group", spec->gid)) {
        name = fields.v[0];
    } else {
        const struct group *entry = getgrgid(spec->gid);
        name = entry ? entry->gr_name : NULL;
    }
    buf_addf(&text, "root:x:0:\n%s:x:%u:\nnogroup:x:65534:\n", is_plain(name) ? name : "agent",
             spec->gid);
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
    if (spec->ssh_config) {
        plan_add(plan, PLAN_FOLDER, 0, "/etc/ssh", NULL);
        plan_add(plan, PLAN_FILE, 0, "/etc/ssh/ssh_config", spec->ssh_config, NULL);
    }
}
