#include "worktree/harvest_box.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "worktree/fault.h"
#include "worktree/gitrun.h"
#include "worktree/include.h"
#include "worktree/pump.h"

enum { KNOWN_MAX = 4096, SEEDED_BYTES = 64 * 1024 * 1024, PACK_HEADER_BYTES = 12 };

void harvest_box_release(struct harvest_box *b)
{
    refs_release(&b->refs);
    unread_release(&b->unread);
    buf_release(&b->note);
    auto_fd_(&b->pack_fd);
    *b = (struct harvest_box)HARVEST_BOX_INIT;
}

static bool is_oid(const char *text, size_t oid_len)
{
    return strlen(text) == oid_len && gitrun_is_oid(text);
}

/* "-" or an object's name. */
static bool parse_oid(char ret[65], const char *text, size_t oid_len, struct err *err)
{
    if (strcmp(text, "-") == 0) {
        ret[0] = '\0';
        return true;
    }
    if (!is_oid(text, oid_len))
        return err_set(err, ERR_FORMAT, "the box named an object in an unknown form");
    memcpy(ret, text, oid_len + 1);
    return true;
}

static bool parse_ref(struct harvest_box *b, char *text, size_t oid_len, struct err *err)
{
    char *name = strchr(text, ' ');
    if (!name)
        return err_set(err, ERR_FORMAT, "the box listed a ref in an unknown form");
    *name++ = '\0';
    bool is_plain = strncmp(name, "refs/heads/", 11) == 0 || strncmp(name, "refs/tags/", 10) == 0;
    bool is_ref = strncmp(name, "refs/", 5) == 0;
    if (!is_oid(text, oid_len) || !is_ref || !refs_is_valid_name(name))
        return err_set(err, ERR_FORMAT, "the box listed a ref that git would not allow");
    AUTO_FREE char *own = xasprintf("refs/%s%s", is_plain ? "" : "other/", name + 5);
    refs_add(&b->refs, own, text, NULL);
    return true;
}

/* What has no name of its own. */
static bool parse_unnamed(struct harvest_box *b, const char *kind, const char *text, size_t oid_len,
                          size_t *n, struct err *err)
{
    if (!is_oid(text, oid_len))
        return err_set(err, ERR_FORMAT, "the box listed a commit in an unknown form");
    AUTO_FREE char *name = xasprintf("refs/%s/%zu", kind, (*n)++);
    refs_add(&b->refs, name, text, NULL);
    return true;
}

/* How many of them there were. */
struct unnamed {
    size_t stash, worktrees;
};

static bool parse_left_out(struct harvest_box *b, const char *line)
{
    const struct {
        const char *kind;
        struct strv *list;
    } kinds[] = {
        {"special ", &b->unread.special},
        {"large ", &b->unread.large},
        {"closed ", &b->unread.closed},
        {"nested ", &b->unread.nested},
    };
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        size_t len = strlen(kinds[i].kind);
        if (strncmp(line, kinds[i].kind, len) != 0)
            continue;
        strv_push(kinds[i].list, line + len);
        return true;
    }
    return false;
}

static bool parse_line(struct harvest_box *b, char *line, size_t oid_len, struct unnamed *n,
                       struct err *err)
{
    if (b->refs.n >= HARVEST_MAX_REFS)
        return err_set(err, ERR_LIMIT, "the box has more than %d changed refs", HARVEST_MAX_REFS);
    if (strncmp(line, "head ", 5) == 0)
        return parse_oid(b->head, line + 5, oid_len, err);
    if (strncmp(line, "snapshot ", 9) == 0)
        return parse_oid(b->snapshot, line + 9, oid_len, err);
    if (strncmp(line, "ref ", 4) == 0)
        return parse_ref(b, line + 4, oid_len, err);
    if (strncmp(line, "stash ", 6) == 0)
        return parse_unnamed(b, "stash", line + 6, oid_len, &n->stash, err);
    if (strncmp(line, "worktree ", 9) == 0)
        return parse_unnamed(b, "worktrees", line + 9, oid_len, &n->worktrees, err);
    if (parse_left_out(b, line))
        return true;
    if (strcmp(line, "partial") == 0)
        return b->is_partial = true;
    if (strncmp(line, "note ", 5) != 0)
        return err_set(err, ERR_FORMAT, "the box printed an unknown line");
    if (b->note.len < 500) {
        if (b->note.len > 0)
            buf_adds(&b->note, "; ");
        text_sanitise(&b->note, line + 5, strnlen(line + 5, 500), 0);
    }
    return true;
}

bool harvest_box_parse(struct harvest_box *ret, size_t *ret_pack_at, const char *text, size_t len,
                       size_t oid_len, struct err *err)
{
    static const char first[] = "headgate-harvest 1";
    AUTO_HARVEST_BOX struct harvest_box b = HARVEST_BOX_INIT;
    struct unnamed n = {.stash = 0};
    bool is_first = true;
    for (size_t at = 0; at < len;) {
        const char *end = memchr(text + at, '\n', len - at);
        if (!end)
            break;
        AUTO_FREE char *line = xstrndup(text + at, (size_t)(end - text) - at);
        at = (size_t)(end - text) + 1;
        if (is_first && strcmp(line, first) != 0)
            return err_set(err, ERR_FORMAT, "the box answered in an unknown form");
        if (!is_first && strcmp(line, "end") == 0) {
            refs_sort(&b.refs);
            *ret_pack_at = at;
            *ret = b;
            b = (struct harvest_box)HARVEST_BOX_INIT;
            return true;
        }
        if (!is_first && !parse_line(&b, line, oid_len, &n, err))
            return false;
        is_first = false;
    }
    return err_set(err, ERR_FORMAT, "the box's answer is cut short");
}

static bool write_scratch(const char *scratch, const char *name, const struct buf *text,
                          struct err *err)
{
    AUTO_FREE char *path = fs_join(scratch, name);
    return fs_write_plain(AT_FDCWD, path, text->ptr, text->len, 0644, err);
}

static bool copy_record(const char *dir, const char *scratch, const char *name, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_FREE char *from = fs_join(dir, name);
    if (fs_exists(from) && !fs_read_file(&text, AT_FDCWD, from, SEEDED_BYTES, err))
        return false;
    return write_scratch(scratch, name, &text, err);
}

static void add_nul(struct buf *out, const struct strv *paths, const char *prefix)
{
    for (size_t i = 0; i < paths->n; i++) {
        buf_adds(out, prefix);
        buf_add(out, paths->v[i], strlen(paths->v[i]) + 1);
    }
}

/* What is to be added, and what not, each path ended by NUL. */
static bool write_paths(const struct harvest_ask *ask, const char *scratch, struct err *err)
{
    AUTO_UNREAD struct unread found = UNREAD_INIT;
    AUTO_BUF struct buf paths = BUF_INIT;
    if (ask->with_snapshot && !unread_find(&found, ask->a, err))
        return false;
    const struct {
        const char *name;
        const struct strv *list;
    } kinds[] = {
        {"special", &found.special},
        {"large", &found.large},
        {"closed", &found.closed},
        {"nested", &found.nested},
    };
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        AUTO_BUF struct buf list = BUF_INIT;
        add_nul(&list, kinds[i].list, "");
        if (!write_scratch(scratch, kinds[i].name, &list, err))
            return false;
    }
    buf_add(&paths, ".", sizeof("."));
    add_nul(&paths, &found.special, ":(exclude,literal)");
    add_nul(&paths, &found.large, ":(exclude,literal)");
    return write_scratch(scratch, "paths", &paths, err);
}

static bool make_scratch(const struct harvest_ask *ask, const char *scratch, struct err *err)
{
    AUTO_BUF struct buf have = BUF_INIT;
    const struct wt_attempt *a = ask->a;
    buf_addf(&have, "%s\n", a->base);
    for (size_t i = 0; i < ask->known->n && i < KNOWN_MAX; i++)
        buf_addf(&have, "%s\n", ask->known->v[i].oid);
    return fs_mkdirs(scratch, 0755, err) && write_scratch(scratch, "have", &have, err) &&
           write_paths(ask, scratch, err) && copy_record(a->dir, scratch, "seed", err) &&
           copy_record(a->dir, scratch, INCLUDE_RECORD, err) &&
           (a->uid == (uid_t)-1 || fs_chown_tree(AT_FDCWD, scratch, a->uid, a->gid, err));
}

static bool run_box(const struct harvest_ask *ask, const char *scratch, int out_fd, struct err *err)
{
    const struct wt_attempt *a = ask->a;
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    AUTO_STRV struct strv env = STRV_INIT;
    AUTO_BUF struct buf objects = BUF_INIT, script = BUF_INIT;
    for (size_t i = 0; harvest_script[i]; i++)
        buf_adds(&script, harvest_script[i]);
    AUTO_FREE char *plain = fs_join(a->gitdir, "objects");
    gitrun_quote_path(&objects, plain);
    strv_pushf(&env, "GIT_DIR=%s", a->gitdir);
    if (ask->with_snapshot)
        strv_pushf(&env, "GIT_WORK_TREE=%s", a->tree);
    strv_pushf(&env, "HARVEST_OBJECTS=%s", objects.ptr);
    strv_pushf(&env, "HARVEST_LAST=%s", ask->last_snapshot);
    strv_push(&env, "GIT_OPTIONAL_LOCKS=0");
    strv_push(&env, "GIT_NO_REPLACE_OBJECTS=1");
    strv_push(&env, "LC_ALL=C");
    const char *const argv[] = {
        "sh", "-c", script.ptr, "harvest", ask->with_snapshot ? "snapshot" : "refs", NULL};
    struct wt_box_job job = {
        .argv = argv,
        .env = env,
        .with_tree = ask->with_snapshot,
        .scratch_host = scratch,
        .output_fd = out_fd,
        .max_output_bytes = (size_t)HARVEST_MAX_PACK_BYTES,
        .timeout_ms = ask->with_snapshot ? HARVEST_TIMEOUT_MS : HARVEST_REFS_TIMEOUT_MS,
    };
    if (!ask->run_in_box(ask->arg, &job, &r, err))
        return err_prefix(err, "cannot read attempt %s", a->id);
    if (r.status == 0)
        return true;
    AUTO_BUF struct buf said = BUF_INIT;
    text_sanitise(&said, r.errout.ptr, r.errout.len < 600 ? r.errout.len : 600, 0);
    return err_set(err, ERR_FAILED, "cannot read attempt %s: %s (status %d)", a->id, said.ptr,
                   r.status);
}

/* Leave pack_fd at the pack, or close it when the pack holds nothing. */
static bool find_pack(struct harvest_box *b, int fd, size_t pack_at, struct err *err)
{
    char header[PACK_HEADER_BYTES];
    ssize_t got = pread(fd, header, sizeof(header), (off_t)pack_at);
    if (got < 0)
        return err_sys(err, errno, "cannot read what the box sent");
    if (got < PACK_HEADER_BYTES || memcmp(header, "PACK", 4) != 0)
        return err_set(err, ERR_FORMAT, "the box sent no pack");
    uint32_t n;
    memcpy(&n, header + 8, sizeof(n));
    b->n_objects = ntohl(n);
    if (b->n_objects > HARVEST_MAX_OBJECTS)
        return err_set(err, ERR_LIMIT, "the box sent more than %u objects", HARVEST_MAX_OBJECTS);
    if (b->n_objects == 0)
        return true;
    if (lseek(fd, (off_t)pack_at, SEEK_SET) < 0)
        return err_sys(err, errno, "cannot read what the box sent");
    b->pack_fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    return b->pack_fd >= 0 || err_sys(err, errno, "cannot read what the box sent");
}

static bool read_answer(struct harvest_box *ret, const struct wt_attempt *a, int fd,
                        struct err *err)
{
    AUTO_FREE char *text = xmalloc(HARVEST_MAX_HEADER_BYTES);
    AUTO_HARVEST_BOX struct harvest_box b = HARVEST_BOX_INIT;
    ssize_t got = pread(fd, text, HARVEST_MAX_HEADER_BYTES, 0);
    size_t pack_at = 0;
    if (got < 0)
        return err_sys(err, errno, "cannot read what the box sent");
    if (!harvest_box_parse(&b, &pack_at, text, (size_t)got, strlen(a->base), err) ||
        !find_pack(&b, fd, pack_at, err))
        return false;
    *ret = b;
    b = (struct harvest_box)HARVEST_BOX_INIT;
    return true;
}

bool harvest_box_run(struct harvest_box *ret, const struct harvest_ask *ask, struct err *err)
{
    AUTO_FREE char *scratch = fs_join(ask->a->dir, "scratch");
    AUTO_FREE char *incoming = fs_join(ask->a->dir, "incoming");
    if (!unread_check_gitdir(ask->a, err) || !make_scratch(ask, scratch, err) || !wt_fault(err))
        return false;
    AUTO_FD int fd = open(incoming, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_sys(err, errno, "cannot create %s", incoming);
    struct pump pump;
    if (!pump_start(&pump, fd, HARVEST_MAX_PACK_BYTES, err))
        return false;
    struct err box_err = ERR_INIT;
    bool has_run = run_box(ask, scratch, pump.write_fd, &box_err);
    if (!pump_finish(&pump, err)) /* the bound that was met is the better reason */
        return false;
    if (!has_run) {
        *err = box_err;
        return false;
    }
    return wt_fault(err) && read_answer(ret, ask->a, fd, err);
}
