#include "gate/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "runner/base/clock.h"
#include "runner/base/digest.h"
#include "runner/base/frame.h"
#include "runner/base/fs.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"

#define SPOOL_NAME "spool"

enum { READ_CHUNK_BYTES = 64 * 1024, ENDING_RESERVE_BYTES = 64 * 1024 };

/* Where the chain stands after a record. */
struct link {
    int64_t seq; /* 0: before the first record */
    char hash[DIGEST_HEX_SIZE];
};

struct spool {
    int fd;
    int dirfd;
    struct link last;
    off_t size_bytes;
    bool is_broken; /* the file's content is no longer known */
};

/* Called for each good record with the offset of its line. False stops the walk. */
typedef bool (*walk_visit)(void *arg, const json_t *record, off_t at);

struct walk {
    struct link last;
    off_t good_bytes; /* end of the last good record */
    bool has_begun;   /* a record was seen: from then on `prev` must fit */
    bool is_over;     /* torn tail met, or the visitor has enough */
    walk_visit visit; /* may be NULL */
    void *arg;
};

static void record_hash(char ret[DIGEST_HEX_SIZE], json_t *record)
{
    AUTO_JSON json_t *bare = json_copy(record);
    json_object_del(bare, "hash");
    AUTO_BUF struct buf text = BUF_INIT;
    jx_canonical(&text, bare);
    digest_bytes(ret, text.ptr, text.len);
}

/* Check one line against the chain and move on to it. */
static bool take_line(struct walk *w, const struct buf *line, struct err *err)
{
    int64_t want = w->last.seq + 1;
    AUTO_JSON json_t *record = NULL;
    if (!jx_parse(&record, line->ptr, line->len, err))
        return err_prefix(err, "the spool's record after number %" PRId64, w->last.seq);
    int64_t seq = jx_int(record, "seq", 0);
    if (seq < 1 || (w->has_begun && seq != want))
        return err_set(err, ERR_FORMAT,
                       "the spool has number %" PRId64 " where %" PRId64 " should be", seq, want);
    const char *prev = jx_str(record, "prev", "?");
    bool fits = w->has_begun ? strcmp(prev, w->last.hash) == 0 : seq > 1 || prev[0] == '\0';
    if (!fits)
        return err_set(err, ERR_FORMAT,
                       "the spool's record %" PRId64 " does not follow the one before it", seq);
    char hash[DIGEST_HEX_SIZE];
    record_hash(hash, record);
    if (strcmp(hash, jx_str(record, "hash", "?")) != 0)
        return err_set(err, ERR_FORMAT, "the spool's record %" PRId64 " was changed", seq);
    w->has_begun = true;
    w->last.seq = seq;
    memcpy(w->last.hash, hash, sizeof(hash));
    off_t at = w->good_bytes;
    w->good_bytes += (off_t)line->len + 1;
    w->is_over = w->visit && !w->visit(w->arg, record, at);
    return true;
}

/* A line with NULs in it is a torn one if it is the last of the file. */
static bool is_torn(int fd, const struct walk *w, const struct buf *line)
{
    struct stat st;
    return memchr(line->ptr, '\0', line->len) && fstat(fd, &st) == 0 &&
           st.st_size == w->good_bytes + (off_t)line->len + 1;
}

static bool take_lines(int fd, struct walk *w, struct frame *frame, struct err *err)
{
    AUTO_BUF struct buf line = BUF_INIT;
    while (!w->is_over) {
        bool have;
        if (!frame_next(frame, &line, &have, err))
            return false;
        if (!have)
            return true;
        if (is_torn(fd, w, &line))
            w->is_over = true;
        else if (!take_line(w, &line, err))
            return false;
    }
    return true;
}

/* Walk the file from its start. What follows the last newline is ignored. */
static bool walk(int fd, struct walk *w, struct err *err)
{
    __attribute__((cleanup(frame_release))) struct frame frame;
    frame_init(&frame, LIMIT_LINE_BYTES);
    AUTO_FREE char *chunk = xmalloc(READ_CHUNK_BYTES);
    off_t at = 0;
    while (!w->is_over) {
        ssize_t got = pread(fd, chunk, READ_CHUNK_BYTES, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_sys(err, errno, "cannot read the spool");
        if (got == 0)
            break;
        at += got;
        frame_feed(&frame, chunk, (size_t)got);
        if (!take_lines(fd, w, &frame, err))
            return false;
    }
    return true;
}

/* Open for writing and lock; the lock ends with the descriptor. */
static int open_locked(int dirfd, struct err *err)
{
    AUTO_FD int fd = fs_open_beneath(dirfd, SPOOL_NAME, O_RDWR | O_APPEND | O_CREAT, 0600, err);
    if (fd < 0)
        return -1;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK)
            err_set(err, ERR_CONFLICT, "another process writes this spool");
        else
            err_sys(err, errno, "cannot lock the spool");
        return -1;
    }
    return steal_fd(&fd);
}

/* Cut what is behind the last good record, and make file and name durable. */
static bool settle_file(struct spool *s, struct err *err)
{
    struct stat st;
    if (fstat(s->fd, &st) != 0)
        return err_sys(err, errno, "cannot examine the spool");
    if (st.st_size > s->size_bytes && ftruncate(s->fd, s->size_bytes) != 0)
        return err_sys(err, errno, "cannot cut the spool's torn tail");
    if (fsync(s->fd) != 0 || fsync(s->dirfd) != 0)
        return err_sys(err, errno, "cannot make the spool durable");
    return true;
}

bool spool_open(struct spool **ret, int dirfd, struct err *err)
{
    AUTO_SPOOL struct spool *s = xcalloc(1, sizeof(*s));
    s->fd = -1;
    s->dirfd = fcntl(dirfd, F_DUPFD_CLOEXEC, 3);
    if (s->dirfd < 0)
        return err_sys(err, errno, "cannot keep the spool's folder open");
    s->fd = open_locked(s->dirfd, err);
    if (s->fd < 0)
        return false;
    struct walk w = {0};
    if (!walk(s->fd, &w, err))
        return false;
    s->last = w.last;
    s->size_bytes = w.good_bytes;
    if (!settle_file(s, err))
        return false;
    *ret = steal_ptr(&s);
    return true;
}

void spool_close(struct spool *s)
{
    if (!s)
        return;
    if (s->fd >= 0)
        close(s->fd);
    if (s->dirfd >= 0)
        close(s->dirfd);
    free(s);
}

void auto_spool_(struct spool **s)
{
    spool_close(*s);
}

int64_t spool_last_seq(const struct spool *s)
{
    return s->last.seq;
}

int64_t spool_size_bytes(const struct spool *s)
{
    return s->size_bytes;
}

static bool write_line(struct spool *s, const struct buf *line, struct err *err)
{
    if (!fs_write_fd(s->fd, line->ptr, line->len, err)) {
        s->is_broken = ftruncate(s->fd, s->size_bytes) != 0;
        return err_prefix(err, "the spool");
    }
    if (fdatasync(s->fd) != 0) {
        s->is_broken = true;
        return err_sys(err, errno, "cannot make the spool durable");
    }
    return true;
}

bool spool_append(struct spool *s, json_t *record, int64_t *ret_seq, struct err *err)
{
    if (s->is_broken)
        return err_set(err, ERR_FAILED, "the spool failed earlier and takes no more records");
    struct link next = {.seq = s->last.seq + 1};
    jx_set_int(record, "seq", next.seq);
    jx_set_int(record, "at_ms", clock_unix_ms());
    jx_set_str(record, "prev", s->last.hash);
    record_hash(next.hash, record);
    jx_set_str(record, "hash", next.hash);
    AUTO_BUF struct buf line = BUF_INIT;
    jx_dump(&line, record);
    if (line.len > LIMIT_LINE_BYTES)
        return err_set(err, ERR_LIMIT, "a record is longer than %d bytes", LIMIT_LINE_BYTES);
    buf_addch(&line, '\n');
    bool is_ending = strcmp(jx_str(record, "r", ""), "exited") == 0;
    int64_t limit = LIMIT_SPOOL_BYTES + (is_ending ? ENDING_RESERVE_BYTES : 0);
    if (s->size_bytes + (int64_t)line.len > limit)
        return err_set(err, ERR_LIMIT, "the spool of this attempt is full");
    if (!write_line(s, &line, err))
        return false;
    s->size_bytes += (off_t)line.len;
    s->last = next;
    *ret_seq = next.seq;
    return true;
}

struct trim {
    int64_t acked;
    off_t from;
};

static bool find_kept(void *arg, const json_t *record, off_t at)
{
    struct trim *t = arg;
    t->from = at;
    return jx_int(record, "seq", 0) < t->acked;
}

/* The file's name now means another inode: take that one, with its lock. */
static bool reopen(struct spool *s, off_t size_bytes, struct err *err)
{
    int fd = open_locked(s->dirfd, err);
    if (fd < 0) {
        s->is_broken = true;
        return err_prefix(err, "after trimming");
    }
    close(s->fd);
    s->fd = fd;
    s->size_bytes = size_bytes;
    return true;
}

bool spool_trim(struct spool *s, int64_t acked, struct err *err)
{
    if (s->is_broken)
        return err_set(err, ERR_FAILED, "the spool failed earlier and cannot be trimmed");
    if (acked > s->last.seq)
        return err_set(err, ERR_USAGE, "record %" PRId64 " was never written", acked);
    struct trim t = {.acked = acked};
    struct walk w = {.visit = find_kept, .arg = &t};
    if (!walk(s->fd, &w, err))
        return false;
    if (t.from == 0)
        return true;
    AUTO_BUF struct buf kept = BUF_INIT;
    if (lseek(s->fd, t.from, SEEK_SET) < 0)
        return err_sys(err, errno, "cannot seek in the spool");
    if (!fs_read_fd(&kept, s->fd, LIMIT_SPOOL_BYTES + ENDING_RESERVE_BYTES, err) ||
        !fs_write_atomic(s->dirfd, SPOOL_NAME, kept.ptr, kept.len, 0600, err))
        return err_prefix(err, "the spool");
    return reopen(s, (off_t)kept.len, err);
}

struct replay {
    int64_t after;
    spool_visit visit;
    void *arg;
};

static bool replay_record(void *arg, const json_t *record, off_t at)
{
    (void)at;
    const struct replay *r = arg;
    return jx_int(record, "seq", 0) <= r->after || r->visit(r->arg, record);
}

bool spool_replay(int dirfd, int64_t after, spool_visit visit, void *arg, struct err *err)
{
    struct err why = ERR_INIT;
    AUTO_FD int fd = fs_open_beneath(dirfd, SPOOL_NAME, O_RDONLY, 0, &why);
    if (fd < 0 && why.sys_errno == ENOENT)
        return true;
    if (fd < 0) {
        *err = why;
        return false;
    }
    struct replay r = {.after = after, .visit = visit, .arg = arg};
    struct walk w = {.visit = replay_record, .arg = &r};
    return walk(fd, &w, err);
}
