/*
 * What gitconf reads, compared with git itself.
 *
 *   gitconf_diff [COUNT [SEED]]
 *
 * Texts are put together from pieces of configuration files; each is read by gitconf and by `git
 * config --list`. Both must refuse it, or both read the same settings in the same order. Exit 0:
 * all agree; 1: one did not, which is printed. A tab counts as a space: see gitconf.h.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/gitconf.h"
#include "runner/base/mem.h"
#include "runner/base/proc.h"

enum { COUNT_DEFAULT = 400, PIECES_MAX = 14, TIMEOUT_MS = 30000 };

static uint64_t seed = 20261130;

static unsigned pick(size_t n)
{
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    return (unsigned)((seed >> 33) % n);
}

static const char *const pieces[] = {
    "[run]\n",
    "[Run]",
    "[box \"Sub Section\"]\n",
    "[a.b]\n",
    "[a \"q\\\"x\\\\y\"] ",
    "[a\t \"b\"]\n",
    "[a \"b\" ]",
    "[a-1]\r\n",
    "[",
    "]",
    "[]\n",
    "[a \"",
    "[a b]\n",
    "[a_b]\n",
    "name = value\n",
    "Name=Value\n",
    "name\n",
    "  name\t=  spaced  out \n",
    "name-2 = \"quoted \"\n",
    "name = \" a \" b \" c\" \n",
    "name = x # comment\n",
    "name = \"x # no\" ; yes\n",
    "; comment\n",
    "# comment [x]\n",
    "name = a\\\n  b\n",
    "name = \\t\\n\\b\\\\\\\"\n",
    "name = \\x\n",
    "name = \"open\n",
    "name =\n",
    "name = \r\n",
    "name = \"\"\n",
    "name",
    " = value\n",
    "2name = x\n",
    "n.m = x\n",
    "\n",
    "\r\n",
    " ",
    "name = \xc3\xa9 \xff\n",
    "\xef\xbb\xbf",
    "name = a;b#c\n",
    "name = =\n",
    "name = x",
    "\\",
    "\"",
    "=",
    "x",
    "name = \"a\\\nb\"\n",
    "name = a \\\n\n",
    "[run] name = same line\n",
    "[include]\npath = /etc/x\n",
};

static void generate(struct buf *out)
{
    unsigned n = 1 + pick(PIECES_MAX);
    buf_clear(out);
    if (pick(4) != 0)
        buf_adds(out, "[run]\n");
    for (unsigned i = 0; i < n; i++)
        buf_adds(out, pieces[pick(ARRAY_LEN(pieces))]);
}

/* As `git config -z --list` prints it: "key\nvalue" or "key", with a NUL behind each. */
static bool add_line(const char *key, const char *value, void *arg, struct err *err)
{
    struct buf *out = arg;
    (void)err;
    buf_adds(out, key);
    if (value)
        buf_addf(out, "\n%s", value);
    buf_addch(out, '\0');
    return true;
}

static bool read_with_git(struct proc_result *ret, const struct buf *text)
{
    struct err err = ERR_INIT;
    AUTO_STRV struct strv argv = STRV_INIT, env = STRV_INIT;
    strv_push_all(&argv, (char *const[]){"git", "config", "--file", "-", "--no-includes", "-z",
                                         "--list", NULL});
    strv_push(&env, "PATH=/usr/local/bin:/usr/bin:/bin");
    strv_push(&env, "GIT_CONFIG_NOSYSTEM=1");
    strv_push(&env, "GIT_CONFIG_GLOBAL=/dev/null");
    strv_push(&env, "LC_ALL=C");
    const struct proc_cmd cmd = {.argv = &argv,
                                 .env = &env,
                                 .cwd = "/",
                                 .input = text->ptr,
                                 .input_len = text->len,
                                 .timeout_ms = TIMEOUT_MS};
    if (proc_run(ret, &cmd, &err))
        return true;
    fprintf(stderr, "git cannot be run: %s\n", err.text);
    return false;
}

static void flatten(struct buf *text)
{
    for (size_t i = 0; i < text->len; i++)
        if (text->ptr[i] == '\t')
            text->ptr[i] = ' ';
}

static bool compare(const struct buf *text)
{
    struct err err = ERR_INIT;
    AUTO_BUF struct buf ours = BUF_INIT;
    AUTO_PROC_RESULT struct proc_result theirs = PROC_RESULT_INIT;
    bool is_read = gitconf_each(text->ptr, text->len, add_line, &ours, &err);
    if (!read_with_git(&theirs, text))
        return false;
    flatten(&ours);
    flatten(&theirs.out);
    bool is_same = is_read == (theirs.status == 0) &&
                   (!is_read || (ours.len == theirs.out.len &&
                                 memcmp(ours.ptr, theirs.out.ptr, ours.len) == 0));
    if (!is_same) {
        printf("---- text\n%s\n---- git: status %d\n", text->ptr, theirs.status);
        fwrite(theirs.out.ptr, 1, theirs.out.len, stdout);
        printf("\n---- gitconf: %s\n", is_read ? "read" : err.text);
        fwrite(ours.ptr, 1, ours.len, stdout);
        printf("\n");
    }
    return is_same;
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? strtol(argv[1], NULL, 10) : COUNT_DEFAULT;
    AUTO_BUF struct buf text = BUF_INIT;
    if (argc > 2)
        seed = strtoull(argv[2], NULL, 10);
    for (long i = 0; i < count; i++) {
        generate(&text);
        if (!compare(&text))
            return 1;
    }
    printf("%ld texts are read as git reads them\n", count);
    return 0;
}
