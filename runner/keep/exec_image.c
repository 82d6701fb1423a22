#include "runner/keep/exec_image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "runner/base/fs.h"
#include "runner/base/mem.h"

enum {
    HEAD_BYTES = 256, /* of a file, that the kernel looks at (BINPRM_BUF_SIZE) */
    INTERPRETERS_MAX = 5,
};

#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0x1000
#endif

/* One exec on its way through its interpreters. */
struct chase {
    struct exec_image image;
    struct buf argv; /* as the program at this step gets it */
    char *name;      /* by which the kernel names the file of this step to an interpreter */
};

void exec_image_release(struct exec_image *image)
{
    exec_names_release(&image->names);
    exec_content_release(&image->content);
    *image = (struct exec_image)EXEC_IMAGE_INIT;
}

static void chase_done(struct chase *c)
{
    exec_image_release(&c->image);
    buf_release(&c->argv);
    auto_free_(&c->name);
}

/* The first bytes; what is behind a short file's end is zero, as in the kernel's buffer. */
static int read_head(char head[HEAD_BYTES], int path_fd)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", path_fd);
    AUTO_FD int fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    memset(head, 0, HEAD_BYTES);
    return fd >= 0 && pread(fd, head, HEAD_BYTES, 0) >= 0 ? 0 : EACCES;
}

static bool is_native_binary(const char *head)
{
    Elf64_Ehdr elf;
    memcpy(&elf, head, sizeof elf);
#if defined(__x86_64__)
    const Elf64_Half machine = EM_X86_64;
#else
    const Elf64_Half machine = EM_AARCH64;
#endif
    return memcmp(elf.e_ident, ELFMAG, SELFMAG) == 0 && elf.e_machine == machine;
}

static bool is_known_binary(const struct exec_heads *heads, const struct stat *st)
{
    if (!heads)
        return false;
    size_t i = (size_t)st->st_ino % EXEC_HEADS;
    return heads->all[i].ino == st->st_ino && heads->all[i].dev == st->st_dev &&
           heads->all[i].changed.tv_sec == st->st_ctim.tv_sec &&
           heads->all[i].changed.tv_nsec == st->st_ctim.tv_nsec;
}

static void remember_binary(struct exec_heads *heads, const struct stat *st)
{
    if (!heads)
        return;
    size_t i = (size_t)st->st_ino % EXEC_HEADS;
    heads->all[i].dev = st->st_dev;
    heads->all[i].ino = st->st_ino;
    heads->all[i].changed = st->st_ctim;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static size_t skip_blanks(const char *head, size_t at, size_t end)
{
    while (at < end && is_blank(head[at]))
        at++;
    return at;
}

/* The end of a word: a blank, a NUL, or `end`. */
static size_t find_end(const char *head, size_t at, size_t end)
{
    while (at < end && !is_blank(head[at]) && head[at])
        at++;
    return at;
}

/*
 * The first line of a script, read exactly as the kernel reads it (fs/binfmt_script.c). False: it
 * is none that the kernel would run.
 */
static bool read_shebang(const char *head, char **ret_program, char **ret_argument)
{
    const char *newline = memchr(head, '\n', HEAD_BYTES);
    size_t end = newline ? (size_t)(newline - head) : HEAD_BYTES - 1;
    size_t start = skip_blanks(head, 2, end);
    if (head[0] != '#' || head[1] != '!' || start == end)
        return false;
    if (!newline && find_end(head, start, end) == end)
        return false; /* cut off: the name may go on */
    while (end > start && is_blank(head[end - 1]))
        end--;
    size_t stop = find_end(head, start, end);
    if (stop == start)
        return false;
    *ret_program = xstrndup(head + start, stop - start);
    size_t argument = stop < end && head[stop] ? skip_blanks(head, stop, end) : end;
    *ret_argument =
        argument < end ? xstrndup(head + argument, strnlen(head + argument, end - argument)) : NULL;
    return true;
}

/* A script's arguments: interpreter, its one argument, the script's name, and all but the first. */
static void put_interpreter(struct chase *c, const char *program, const char *argument)
{
    struct buf argv = BUF_INIT;
    size_t first = strlen(c->argv.ptr) + 1;
    buf_add(&argv, program, strlen(program) + 1);
    if (argument)
        buf_add(&argv, argument, strlen(argument) + 1);
    buf_add(&argv, c->name, strlen(c->name) + 1);
    buf_add(&argv, c->argv.ptr + first, c->argv.len - first);
    buf_release(&c->argv);
    c->argv = argv;
    auto_free_(&c->name);
    c->name = xstrdup(program);
}

static bool is_loader(const char *path)
{
    const char *name = fs_basename(path);
    return strncmp(name, "ld-linux", 8) == 0 || strncmp(name, "ld-musl", 7) == 0 ||
           strncmp(name, "ld.so", 5) == 0;
}

static bool takes_value(const char *option)
{
    static const char *const all[] = {
        "--library-path",         "--inhibit-rpath",     "--audit", "--preload",
        "--glibc-hwcaps-prepend", "--glibc-hwcaps-mask", "--argv0",
    };
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (strcmp(option, all[i]) == 0)
            return true;
    return false;
}

/* What `ld.so [OPTION]... PROGRAM` loads is what is run. */
static void add_loaded(struct chase *c, const struct exec_place *place)
{
    const char *end = c->argv.ptr + c->argv.len;
    const char *word = c->argv.ptr + strlen(c->argv.ptr) + 1;
    while (word < end && strncmp(word, "--", 2) == 0) {
        bool has_value = takes_value(word);
        word += strlen(word) + 1;
        if (has_value && word < end)
            word += strlen(word) + 1;
    }
    if (word >= end)
        return;
    AUTO_FD int fd = exec_resolve(place, word, 0);
    if (fd >= 0)
        exec_content_add(&c->image.content, fd);
    exec_names_loaded(&c->image.names, word, fd);
}

static void settle(struct chase *c, const struct stat *st)
{
    c->image.is_runnable = true;
    c->image.dev = st->st_dev;
    c->image.ino = st->st_ino;
    c->image.args_bytes = c->argv.len;
    digest_bytes(c->image.args_digest, c->argv.ptr, c->argv.len);
}

/* A native binary is the end of the way. */
static void settle_binary(struct chase *c, const struct exec_place *place, const struct stat *st,
                          const char *found)
{
    if (is_loader(found))
        add_loaded(c, place);
    settle(c, st);
}

/* One file: settled when it is a binary, else on to its interpreter. *ret_next: its path, or NULL
 * at the end. */
static int follow(struct chase *c, const struct exec_place *place, int fd, char **ret_next)
{
    char head[HEAD_BYTES];
    struct stat st;
    char *argument = NULL;
    if (fstat(fd, &st) != 0)
        return errno;
    if (!S_ISREG(st.st_mode))
        return EACCES;
    exec_content_add(&c->image.content, fd);
    if (c->image.names.all.n == 0)
        c->image.is_fixed = c->image.content.n == 0;
    const char *found = exec_names_found(&c->image.names, place, fd);
    if (is_known_binary(place->heads, &st)) {
        settle_binary(c, place, &st, found);
        return 0;
    }
    int why = read_head(head, fd);
    if (why)
        return why;
    if (is_native_binary(head)) {
        remember_binary(place->heads, &st);
        settle_binary(c, place, &st, found);
    } else if (read_shebang(head, ret_next, &argument)) {
        put_interpreter(c, *ret_next, argument);
        auto_free_(&argument);
    }
    return 0;
}

/* How the kernel names the file to an interpreter (execveat(2)). */
static char *name_of(const struct exec_place *place, const char *path)
{
    if (path[0] == '/' || place->dirfd == AT_FDCWD)
        return xstrdup(path);
    return xasprintf("/dev/fd/%d%s%s", place->dirfd, path[0] ? "/" : "", path);
}

int exec_image_of(struct exec_image *ret, const struct exec_place *place,
                  const struct exec_args *args, int flags)
{
    __attribute__((cleanup(chase_done))) struct chase c = {.image = EXEC_IMAGE_INIT,
                                                           .argv = BUF_INIT};
    const struct exec_place from_cwd = {place->root_fd, place->tid, AT_FDCWD, place->heads,
                                        place->path};
    AUTO_FD int fd = exec_resolve(place, args->path, flags);
    if (fd < 0)
        return errno;
    buf_add(&c.argv, args->argv.ptr, args->argv.len);
    c.name = name_of(place, args->path);
    for (int depth = 0;; depth++) {
        AUTO_FREE char *next = NULL;
        if (depth > INTERPRETERS_MAX)
            return ELOOP;
        int why = follow(&c, &from_cwd, fd, &next);
        if (why)
            return why;
        if (depth == 0 && args->path[0])
            c.image.is_fixed_name = exec_names_told(&c.image.names, place, args->path, fd);
        if (!next)
            break;
        auto_fd_(&fd);
        fd = exec_resolve(&from_cwd, next, 0);
        if (fd < 0)
            return errno;
        exec_names_told(&c.image.names, &from_cwd, next, fd);
    }
    *ret = c.image;
    c.image = (struct exec_image)EXEC_IMAGE_INIT;
    return 0;
}
