/* The spool: durable, numbered, chained; what a crash leaves and what tampering leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "gate/spool.h"
#include "runner/base/digest.h"
#include "runner/base/fs.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "tests/unit/gate/scratch.h"

struct place {
    char *path;
    int dirfd;
};

static int set_up(void **state)
{
    struct place *p = xcalloc(1, sizeof(*p));
    struct err err = ERR_INIT;
    p->path = scratch_make();
    p->dirfd = fs_open_dir(AT_FDCWD, p->path, &err);
    assert_true(p->dirfd >= 0);
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    struct place *p = *state;
    close(p->dirfd);
    scratch_remove(p->path);
    free(p);
    return 0;
}

static struct spool *open_spool(const struct place *p)
{
    struct spool *s;
    struct err err = ERR_INIT;
    if (!spool_open(&s, p->dirfd, &err))
        fail_msg("%s", err.text);
    return s;
}

static void append(struct spool *s, int value)
{
    AUTO_JSON json_t *record = json_pack("{s:s, s:i}", "r", "note", "value", value);
    struct err err = ERR_INIT;
    int64_t seq;
    if (!spool_append(s, record, &seq, &err))
        fail_msg("%s", err.text);
    assert_int_equal(seq, spool_last_seq(s));
}

static void fill(const struct place *p, int n)
{
    struct spool *s = open_spool(p);
    for (int i = 0; i < n; i++)
        append(s, (int)spool_last_seq(s) + 1);
    spool_close(s);
}

static void read_all(struct buf *out, const struct place *p)
{
    struct err err = ERR_INIT;
    assert_true(fs_read_file(out, p->dirfd, "spool", LIMIT_SPOOL_BYTES, &err));
}

static void write_all(const struct place *p, const char *data, size_t len)
{
    struct err err = ERR_INIT;
    assert_true(fs_write_plain(p->dirfd, "spool", data, len, 0600, &err));
}

/* Each record's value is its number; collect how many there are after which. */
struct seen {
    int64_t first, last, n, stop_at;
};

static bool see(void *arg, const json_t *record)
{
    struct seen *seen = arg;
    int64_t seq = jx_int(record, "seq", -1);
    assert_int_equal(jx_int(record, "value", 0), seq);
    assert_true(jx_int(record, "at_ms", 0) > 0);
    seen->first = seen->first ? seen->first : seq;
    seen->last = seq;
    seen->n++;
    return seq != seen->stop_at;
}

static struct seen replay(const struct place *p, int64_t after)
{
    struct seen seen = {0};
    struct err err = ERR_INIT;
    if (!spool_replay(p->dirfd, after, see, &seen, &err))
        fail_msg("%s", err.text);
    return seen;
}

static void numbers_and_replays(void **state)
{
    struct place *p = *state;
    assert_int_equal(replay(p, 0).n, 0); /* no file is no record */
    fill(p, 3);
    fill(p, 2);
    struct seen seen = replay(p, 0);
    assert_int_equal(seen.n, 5);
    seen = replay(p, 3);
    assert_int_equal(seen.first, 4);
    assert_int_equal(seen.last, 5);
    struct seen some = {.stop_at = 2};
    struct err err = ERR_INIT;
    assert_true(spool_replay(p->dirfd, 0, see, &some, &err));
    assert_int_equal(some.n, 2);
}

static void has_one_writer(void **state)
{
    struct place *p = *state;
    struct spool *s = open_spool(p), *other;
    struct err err = ERR_INIT;
    assert_false(spool_open(&other, p->dirfd, &err));
    assert_int_equal(err.code, ERR_CONFLICT);
    spool_close(s);
    spool_close(open_spool(p));
}

/* A crash leaves a beginning of the last line, of any length: it is cut, and the rest goes on. */
static void cuts_a_torn_tail_at_each_length(void **state)
{
    struct place *p = *state;
    AUTO_BUF struct buf two = BUF_INIT;
    AUTO_BUF struct buf three = BUF_INIT;
    fill(p, 2);
    read_all(&two, p);
    fill(p, 1);
    read_all(&three, p);
    for (size_t len = two.len; len < three.len; len++) {
        write_all(p, three.ptr, len);
        assert_int_equal(replay(p, 0).n, 2);
        struct spool *s = open_spool(p);
        assert_int_equal(spool_last_seq(s), 2);
        assert_int_equal(spool_size_bytes(s), two.len);
        spool_close(s);
        AUTO_BUF struct buf after = BUF_INIT;
        read_all(&after, p);
        assert_int_equal(after.len, two.len);
        assert_memory_equal(after.ptr, two.ptr, two.len);
    }
}

/* Pages of one write may reach the disk in any order: the newline is there, the middle is not. */
static void cuts_a_tail_with_holes(void **state)
{
    struct place *p = *state;
    AUTO_BUF struct buf all = BUF_INIT;
    fill(p, 3);
    read_all(&all, p);
    memset(all.ptr + all.len - 40, 0, 20);
    write_all(p, all.ptr, all.len);
    assert_int_equal(replay(p, 0).n, 2);
    fill(p, 1);
    assert_int_equal(replay(p, 0).n, 3);
}

static bool ignore(void *arg, const json_t *record)
{
    (void)arg;
    (void)record;
    return true;
}

static void expect_broken(const struct place *p, const char *word)
{
    struct spool *s;
    struct err err = ERR_INIT;
    if (spool_open(&s, p->dirfd, &err))
        fail_msg("opened; expected: %s", word);
    assert_int_equal(err.code, ERR_FORMAT);
    if (!strstr(err.text, word))
        fail_msg("%s; expected: %s", err.text, word);
    assert_false(spool_replay(p->dirfd, 0, ignore, NULL, &err));
}

/* Three lines, rearranged: `order` names which lines are written. */
static void rearrange(const struct place *p, const struct buf *all, const char *order)
{
    AUTO_STRV struct strv lines = STRV_INIT;
    AUTO_BUF struct buf out = BUF_INIT;
    strv_split(&lines, all->ptr, '\n', false);
    for (; *order; order++)
        buf_addf(&out, "%s\n", lines.v[*order - '1']);
    write_all(p, out.ptr, out.len);
}

static void finds_tampering(void **state)
{
    struct place *p = *state;
    AUTO_BUF struct buf all = BUF_INIT;
    fill(p, 3);
    read_all(&all, p);
    rearrange(p, &all, "13");
    expect_broken(p, "number 3 where 2");
    rearrange(p, &all, "132");
    expect_broken(p, "number 3 where 2");
    rearrange(p, &all, "1223");
    expect_broken(p, "number 2 where 3");
    char *value = strstr(all.ptr, "\"value\":2");
    value[8] = '9';
    write_all(p, all.ptr, all.len);
    expect_broken(p, "record 2 was changed");
    value[8] = '2';
    char *hash = strstr(strstr(all.ptr, "\"hash\"") + 1, "\"hash\"") + 10;
    *hash = *hash == '0' ? '1' : '0';
    write_all(p, all.ptr, all.len);
    expect_broken(p, "record 2 was changed");
    write_all(p, "nonsense\n", 9);
    expect_broken(p, "after number 0");
}

/* A row that was replaced by a well-made one of the same number breaks the chain behind it. */
static void finds_a_forged_record(void **state)
{
    struct place *p = *state;
    AUTO_BUF struct buf all = BUF_INIT;
    AUTO_BUF struct buf forged = BUF_INIT;
    fill(p, 3);
    read_all(&all, p);
    assert_int_equal(unlinkat(p->dirfd, "spool", 0), 0);
    struct spool *s = open_spool(p);
    append(s, 77);
    spool_close(s);
    read_all(&forged, p);
    buf_adds(&forged, strchr(all.ptr, '\n') + 1);
    write_all(p, forged.ptr, forged.len);
    expect_broken(p, "record 2 does not follow");
}

/* Number 1 that claims to follow something is no first record, however well it is hashed. */
static void begins_with_nothing_before_it(void **state)
{
    struct place *p = *state;
    char hash[DIGEST_HEX_SIZE];
    AUTO_BUF struct buf canonical = BUF_INIT;
    AUTO_BUF struct buf line = BUF_INIT;
    AUTO_JSON json_t *record =
        json_pack("{s:i, s:i, s:s, s:s}", "seq", 1, "at_ms", 5, "prev", "abc", "r", "note");
    jx_canonical(&canonical, record);
    digest_bytes(hash, canonical.ptr, canonical.len);
    jx_set_str(record, "hash", hash);
    jx_dump(&line, record);
    buf_addch(&line, '\n');
    write_all(p, line.ptr, line.len);
    expect_broken(p, "record 1 does not follow");
}

static void denies_when_full(void **state)
{
    struct place *p = *state;
    struct spool *s = open_spool(p);
    struct err err = ERR_INIT;
    int64_t seq;
    AUTO_FREE char *big = xmalloc(LIMIT_LINE_BYTES);
    memset(big, 'x', LIMIT_LINE_BYTES);
    big[LIMIT_LINE_BYTES - 1000] = '\0';
    AUTO_JSON json_t *record = json_pack("{s:s, s:s}", "r", "asked", "text", big);
    while (spool_append(s, record, &seq, &err))
        assert_true(spool_size_bytes(s) <= LIMIT_SPOOL_BYTES);
    assert_int_equal(err.code, ERR_LIMIT);
    big[LIMIT_SPOOL_BYTES - spool_size_bytes(s) < LIMIT_LINE_BYTES - 1000
            ? LIMIT_SPOOL_BYTES - spool_size_bytes(s)
            : 0] = '\0';
    jx_set_str(record, "text", big);
    assert_false(spool_append(s, record, &seq, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    int64_t before = spool_last_seq(s);
    /* The end of the attempt is told all the same, and the file is whole. */
    jx_set_str(record, "r", "exited");
    jx_set_str(record, "text", big + strlen(big) - (strlen(big) < 30000 ? strlen(big) : 30000));
    assert_true(spool_append(s, record, &seq, &err));
    assert_int_equal(seq, before + 1);
    /* What the server has merged makes room. */
    assert_true(spool_trim(s, seq, &err));
    append(s, 1);
    spool_close(s);
    spool_close(open_spool(p));
}

static void refuses_a_record_beyond_a_line(void **state)
{
    struct place *p = *state;
    struct spool *s = open_spool(p);
    struct err err = ERR_INIT;
    int64_t seq;
    AUTO_FREE char *big = xmalloc(LIMIT_LINE_BYTES + 1);
    memset(big, 'x', LIMIT_LINE_BYTES);
    big[LIMIT_LINE_BYTES] = '\0';
    AUTO_JSON json_t *record = json_pack("{s:s}", "text", big);
    assert_false(spool_append(s, record, &seq, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    append(s, 1);
    spool_close(s);
    assert_int_equal(replay(p, 0).n, 1);
}

static void trims_the_front(void **state)
{
    struct place *p = *state;
    struct err err = ERR_INIT;
    fill(p, 10);
    struct spool *s = open_spool(p);
    int64_t before = spool_size_bytes(s);
    assert_true(spool_trim(s, 0, &err));
    assert_int_equal(spool_size_bytes(s), before);
    assert_true(spool_trim(s, 7, &err));
    assert_true(spool_size_bytes(s) < before);
    append(s, 11);
    struct seen seen = replay(p, 0);
    assert_int_equal(seen.first, 7);
    assert_int_equal(seen.last, 11);
    assert_false(spool_trim(s, 12, &err));
    struct spool *other;
    assert_false(spool_open(&other, p->dirfd, &err)); /* the new file is locked too */
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_true(spool_trim(s, 11, &err));
    append(s, 12);
    spool_close(s);
    fill(p, 1);
    assert_int_equal(replay(p, 11).n, 2);
}

/* In a child: a full disk, by the limit of a file's size. The record is refused, what was there
 * stays, and with room again the next record follows it. */
static int meet_a_full_disk(const struct place *p)
{
    struct spool *s;
    struct err err = ERR_INIT;
    int64_t seq;
    AUTO_JSON json_t *record = json_pack("{s:s, s:i}", "r", "note", "value", 4);
    struct rlimit limit;
    signal(SIGXFSZ, SIG_IGN);
    if (!spool_open(&s, p->dirfd, &err) || getrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 1;
    limit.rlim_cur = (rlim_t)spool_size_bytes(s) + 10;
    setrlimit(RLIMIT_FSIZE, &limit);
    if (spool_append(s, record, &seq, &err) || err.code != ERR_SYS || spool_last_seq(s) != 3)
        return 2;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit);
    if (!spool_append(s, record, &seq, &err) || seq != 4)
        return 3;
    spool_close(s);
    return 0;
}

static void survives_a_full_disk(void **state)
{
    struct place *p = *state;
    fill(p, 3);
    pid_t pid = fork();
    if (pid == 0)
        _exit(meet_a_full_disk(p));
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(replay(p, 0).n, 4);
}

/* The linker puts this between the spool and libc (--wrap=fdatasync). */
static int syncs, sync_fails;
int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
int __wrap_fdatasync(int fd)
{
    syncs++;
    if (!sync_fails)
        return __real_fdatasync(fd);
    errno = EIO;
    return -1;
}

/* After a failed sync nobody knows what is on the disk: no record is taken any more. */
static void syncs_each_record(void **state)
{
    struct place *p = *state;
    struct spool *s = open_spool(p);
    struct err err = ERR_INIT;
    int64_t seq;
    AUTO_JSON json_t *record = json_pack("{s:s}", "r", "note");
    syncs = 0;
    append(s, 1);
    append(s, 2);
    assert_int_equal(syncs, 2);
    sync_fails = 1;
    assert_false(spool_append(s, record, &seq, &err));
    assert_int_equal(err.sys_errno, EIO);
    sync_fails = 0;
    assert_false(spool_append(s, record, &seq, &err));
    assert_false(spool_trim(s, 1, &err));
    spool_close(s);
    spool_close(open_spool(p));
}

/* A writer is killed at any moment: what it told to be written is there, and the file opens. */
static void survives_kill_while_appending(void **state)
{
    struct place *p = *state;
    int64_t told = 0;
    for (int round = 0; round < 20; round++) {
        int ends[2];
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        pid_t pid = fork();
        if (pid == 0) {
            struct spool *s = open_spool(p);
            for (;;) {
                append(s, (int)spool_last_seq(s) + 1);
                int64_t seq = spool_last_seq(s);
                if (write(ends[1], &seq, sizeof(seq)) != sizeof(seq))
                    _exit(1);
            }
        }
        close(ends[1]);
        int64_t seq;
        for (int n = 0; n < 3 + round; n++) {
            assert_int_equal(read(ends[0], &seq, sizeof(seq)), sizeof(seq));
            told = seq;
        }
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        while (read(ends[0], &seq, sizeof(seq)) == sizeof(seq))
            told = seq;
        close(ends[0]);
        struct spool *s = open_spool(p);
        assert_true(spool_last_seq(s) >= told);
        assert_true(spool_last_seq(s) <= told + 1);
        spool_close(s);
    }
    struct seen seen = replay(p, 0);
    assert_int_equal(seen.first, 1);
    assert_true(seen.n >= told);
}

#define SPOOL_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPOOL_TEST(numbers_and_replays),
        SPOOL_TEST(has_one_writer),
        SPOOL_TEST(cuts_a_torn_tail_at_each_length),
        SPOOL_TEST(cuts_a_tail_with_holes),
        SPOOL_TEST(finds_tampering),
        SPOOL_TEST(finds_a_forged_record),
        SPOOL_TEST(denies_when_full),
        SPOOL_TEST(refuses_a_record_beyond_a_line),
        SPOOL_TEST(trims_the_front),
        SPOOL_TEST(survives_a_full_disk),
        SPOOL_TEST(syncs_each_record),
        SPOOL_TEST(begins_with_nothing_before_it),
        SPOOL_TEST(survives_kill_while_appending),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
