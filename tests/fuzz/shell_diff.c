/*
 * What the splitter accepts, compared with real shells in bulk.
 *
 *   shell_diff [COUNT [SEED]]
 *
 * Strings are generated and mutated. Those that the splitter accepts, and whose programs are all
 * known names, are run by one bash and one dash for each batch, in which every known name is a
 * function that prints its words. Each string is run twice: with functions that succeed, so that
 * what follows `||` does not run, and with ones that fail, so that what follows `&&` does not. What
 * ran must be what the splitter reported: in order where the order is certain, else as a set. A
 * function reads its input to the end first, so that the parts of a pipe print one after the other.
 *
 * Exit 0: all agree; 1: one did not, which is printed. The shells have no PATH and an empty folder.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gate/shellwords.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/proc.h"
#include "tests/unit/gate/shell_pieces.h"

enum {
    BATCH = 4000,
    COUNT_DEFAULT = 20000,
    OUTPUT_BYTES = 256 * 1024 * 1024,
    WORD_END = 1,
    COMMAND_END = 2,
    STRING_END = 3,
};

static uint64_t seed = 20261130;
static unsigned pick(size_t n)
{
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    return (unsigned)((seed >> 33) % n);
}

static const char *const names[] = {"pa", "pb", "git", "npm", "make", "cat", "rm", "Z9", "_x"};

static const char *const pieces[] = {
    SHELL_PIECES, "-",
    "--",         "'\\'",
    "\"~\"",      "'${x}'",
    "\"a b\"",    "'>'",
    "~",          "a~b",
    "[",          "]",
    "{",          "}",
    "a{b,c}d",    "!",
    "^",          "a!b",
    "2>x",        "<",
    ">",          "*",
    "?",          "$x",
    "${x}",       "$(x)",
    "`x`",        "$'\\n'",
    "$\"x\"",     "\\ ",
    "\\\n",       "#c",
    "a#b",        "=",
    "a=",         "=a",
    "\"$x\"",     "\"\\\"\"",
    "\"!x\"",     "é",
    "\u00a0",     "\u2028",
    "\u200b",     "(",
    ")",          "then",
    "do",         "if",
    "for",        "in",
    "case",       "esac",
    "time",       "function",
    "coproc",     "[[",
    "]]",         "&",
    "|&",         ";;",
    ";&",         "<<EOF\nx\nEOF\n",
    "<<<x",       "\r",
    "\x0b",       "\x7f",
    "\x80",       "%1",
    "..",         "~/x",
    "a:~",        "x=~",
    "-n",         "{}",
    "+",          "\t",
    "'unclosed",  "\"unclosed",
};
static const char *const joints[] = {" && ", "&&", "; ",  ";",    "\n",   " &&\n", "\n\n", " ;\n ",
                                     " || ", "||", " | ", " |\n", "& & ", "&",     "; ;"};

static void add_word(struct buf *out)
{
    /* Two thirds of the words are from the part of the table that may be accepted. */
    for (unsigned i = 1 + pick(3); i > 0; i--)
        buf_adds(out, pieces[pick(pick(12) > 0 ? 38 : ARRAY_LEN(pieces))]);
}

static void mutate(struct buf *text)
{
    static const char bytes[] = " \t\n'\"\\$`;|&()<>{}[]*?!#~=%^,.-_/:@+aZ0\r\v";
    if (text->len == 0)
        return;
    size_t at = pick(text->len);
    char c = pick(20) > 0 ? bytes[pick(sizeof(bytes) - 1)] : (char)(1 + pick(255));
    switch (pick(3)) {
    case 0:
        text->ptr[at] = c;
        break;
    case 1:
        buf_addch(text, c);
        memmove(text->ptr + at + 1, text->ptr + at, text->len - at - 1);
        text->ptr[at] = c;
        break;
    default:
        memmove(text->ptr + at, text->ptr + at + 1, text->len - at);
        text->len--;
        break;
    }
}

static void generate(struct buf *out)
{
    unsigned commands = 1 + pick(3);
    for (unsigned c = 0; c < commands; c++) {
        /* Pipes start processes, so they are rarer. */
        buf_adds(out, c > 0 ? joints[pick(pick(12) > 0 ? 10 : ARRAY_LEN(joints))] : "");
        buf_adds(out, names[pick(ARRAY_LEN(names))]);
        for (unsigned w = pick(5); w > 0; w--) {
            buf_adds(out, pick(8) > 0 ? " " : "\t ");
            add_word(out);
        }
    }
    for (unsigned m = pick(6) > 2 ? 0 : 1 + pick(3); m > 0; m--)
        mutate(out);
}

struct sample {
    char *text;
    struct shellwords words;
    bool is_ordered; /* only && ; and newlines join it */
};

struct batch {
    struct sample v[BATCH];
    size_t n;
    const char *folder;
};

static bool is_known(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static bool all_known(const struct shellwords *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (!is_known(s->commands[i].v[0]))
            return false;
    return true;
}

static void batch_clear(struct batch *b)
{
    for (size_t i = 0; i < b->n; i++) {
        free(b->v[i].text);
        shellwords_release(&b->v[i].words);
    }
    b->n = 0;
}

static void add_quoted(struct buf *out, const char *text)
{
    buf_addch(out, '\'');
    for (; *text; text++) {
        if (*text == '\'')
            buf_adds(out, "'\\''");
        else
            buf_addch(out, *text);
    }
    buf_addch(out, '\'');
}

static void write_script(const struct batch *b, const char *path)
{
    AUTO_BUF struct buf script = BUF_INIT;
    struct err err = ERR_INIT;
    buf_adds(&script, "w='\001' c='\002' s='\003'\nexec 3>out\n");
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        buf_addf(&script,
                 "%s() { while read -r l; do :; done; printf '%%s\001' %s \"$@\" \"$c\" >&3; "
                 "return $r; }\n",
                 names[i], names[i]);
    for (size_t i = 0; i < b->n; i++)
        for (int r = 0; r < 2; r++) {
            buf_addf(&script, "r=%d\neval ", r);
            add_quoted(&script, b->v[i].text);
            buf_adds(&script, " </dev/null\nprintf %s \"$s\" >&3\n");
        }
    if (!fs_write_atomic(AT_FDCWD, path, script.ptr, script.len, 0600, &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(2);
    }
}

static void run_shell(struct buf *out, const struct batch *b, const char *shell, const char *script)
{
    struct err err = ERR_INIT;
    AUTO_STRV struct strv argv = STRV_INIT, env = STRV_INIT;
    AUTO_PROC_RESULT struct proc_result result = PROC_RESULT_INIT;
    AUTO_FREE char *file = fs_join(b->folder, "out");
    strv_push(&argv, shell);
    strv_push(&argv, script);
    strv_push(&env, "PATH=/nonexistent");
    strv_push(&env, "LC_ALL=C.UTF-8");
    unlink(file);
    struct proc_cmd cmd = {.argv = &argv, .env = &env, .cwd = b->folder};
    if (!proc_run(&result, &cmd, &err) || !fs_read_file(out, AT_FDCWD, file, OUTPUT_BYTES, &err)) {
        fprintf(stderr, "%s: %s\n", shell, err.text);
        exit(2);
    }
}

/* Each command as it is printed, one after the other; *starts are their offsets, one more than
 * there are. */
static void expected(struct buf *out, size_t *starts, const struct shellwords *s)
{
    for (size_t i = 0; i < s->n; i++) {
        starts[i] = out->len;
        for (size_t k = 0; k < s->commands[i].n; k++)
            buf_addf(out, "%s%c", s->commands[i].v[k], WORD_END);
        buf_addf(out, "%c%c", COMMAND_END, WORD_END);
    }
    starts[s->n] = out->len;
}

/* Mark what of the expected commands ran; false when something else did. */
static bool mark(bool *ran, const struct buf *want, const size_t *starts, size_t n, const char *got,
                 size_t len)
{
    while (len > 0) {
        const char *end = memchr(got, COMMAND_END, len);
        if (!end)
            return false;
        size_t size = (size_t)(end - got) + 2;
        bool found = false;
        for (size_t i = 0; i < n; i++)
            if (starts[i + 1] - starts[i] == size && memcmp(want->ptr + starts[i], got, size) == 0)
                found = ran[i] = true;
        if (!found || size > len)
            return false;
        got += size;
        len -= size;
    }
    return true;
}

static bool agrees(const struct sample *s, const char *const *got, const size_t *len)
{
    AUTO_BUF struct buf want = BUF_INIT;
    AUTO_FREE size_t *starts = xcalloc(s->words.n + 1, sizeof(*starts));
    AUTO_FREE bool *ran = xcalloc(s->words.n, sizeof(*ran));
    expected(&want, starts, &s->words);
    if (s->is_ordered)
        return len[0] == want.len && memcmp(got[0], want.ptr, want.len) == 0;
    for (int r = 0; r < 2; r++)
        if (!mark(ran, &want, starts, s->words.n, got[r], len[r]))
            return false;
    for (size_t i = 0; i < s->words.n; i++)
        if (!ran[i])
            return false;
    return true;
}

/* False when a sample's output differs, which is told. */
static bool compare(const struct batch *b, const char *shell, const struct buf *out)
{
    const char *at = out->ptr, *end = out->ptr + out->len;
    for (size_t i = 0; i < b->n; i++) {
        const char *got[2] = {"", ""};
        size_t len[2] = {0, 0};
        bool is_whole = true;
        for (int r = 0; r < 2 && is_whole; r++) {
            const char *stop = memchr(at, STRING_END, (size_t)(end - at));
            is_whole = stop != NULL;
            got[r] = at;
            len[r] = (size_t)((stop ? stop : end) - at);
            at = stop ? stop + 1 : end;
        }
        if (is_whole && agrees(&b->v[i], got, len))
            continue;
        printf("%s disagrees%s: [%s]\n", shell, is_whole ? "" : " (it ended)", b->v[i].text);
        for (int r = 0; r < 2; r++)
            printf("  run %d printed: [%.*s]\n", r, (int)len[r], got[r]);
        return false;
    }
    return true;
}

static bool run_batch(struct batch *b)
{
    static const char *const shells[] = {"/bin/bash", "/bin/dash"};
    AUTO_FREE char *script = fs_join(b->folder, "script");
    bool ok = true;
    write_script(b, script);
    for (size_t i = 0; i < ARRAY_LEN(shells) && ok; i++) {
        AUTO_BUF struct buf out = BUF_INIT;
        run_shell(&out, b, shells[i], script);
        ok = compare(b, shells[i], &out);
    }
    batch_clear(b);
    return ok;
}

struct counts {
    unsigned long made, opaque, foreign, compared;
};

static void take(struct batch *b, struct counts *n, const struct buf *text)
{
    struct sample s = {.words = SHELLWORDS_INIT};
    shellwords_split(&s.words, text->ptr, text->len);
    n->made++;
    bool is_opaque = s.words.opaque != NULL, is_foreign = !is_opaque && !all_known(&s.words);
    n->opaque += is_opaque;
    n->foreign += is_foreign;
    if (is_opaque || is_foreign) {
        shellwords_release(&s.words);
        return;
    }
    n->compared++;
    s.text = xstrndup(text->ptr, text->len);
    s.is_ordered = !memchr(text->ptr, '|', text->len);
    b->v[b->n++] = s;
}

int main(int argc, char **argv)
{
    unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : COUNT_DEFAULT;
    if (argc > 2)
        seed = strtoull(argv[2], NULL, 10);
    char folder[] = "/tmp/shell_diff.XXXXXX";
    if (!mkdtemp(folder))
        return 2;
    struct batch *b = xcalloc(1, sizeof(*b));
    struct counts n = {0};
    b->folder = folder;
    bool ok = true;
    while (ok && n.made < count) {
        AUTO_BUF struct buf text = BUF_INIT;
        generate(&text);
        take(b, &n, &text);
        if (b->n == BATCH)
            ok = run_batch(b);
    }
    ok = ok && (b->n == 0 || run_batch(b));
    batch_clear(b);
    free(b);
    struct err ignored = ERR_INIT;
    bool is_clean = fs_remove_tree(AT_FDCWD, folder, &ignored);
    printf("%lu strings: %lu not understood, %lu with other programs, %lu compared with bash and "
           "dash\n",
           n.made, n.opaque, n.foreign, n.compared);
    return ok && is_clean ? 0 : 1;
}
