/*
 * What the splitter accepts, real shells split the same way: for generated strings, the argument
 * vectors that bash and dash hand to a program are compared with the splitter's.
 *
 * Only `&&`, `;` and newlines join the commands that are run, so that each of them runs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <unistd.h>
#include <cmocka.h>

#include "gate/shellwords.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/proc.h"
#include "tests/unit/gate/scratch.h"
#include "tests/unit/gate/shell_pieces.h"

enum { STRINGS = 400 };

/* A fixed generator: the same strings on every machine. */
static uint32_t seed = 20261130;
static unsigned pick(unsigned n)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

static const char *const pieces[] = {SHELL_PIECES};
/* Sometimes a piece that must make the whole opaque; then there is nothing to replay. */
static const char *const poison[] = {"$x",    "`x`", "\\x", "*", "~",
                                     "{a,b}", "#",   ">x",  "!", "\"$x\""};
static const char *const blanks[] = {" ", "  ", "\t", " \t "};
static const char *const joints[] = {" && ", "&&", "; ", ";", "\n", " &&\n", "\n\n", " ;\n "};

static void add_word(struct buf *out)
{
    unsigned n = 1 + pick(3);
    for (unsigned i = 0; i < n; i++)
        buf_adds(out,
                 pick(60) == 0 ? poison[pick(ARRAY_LEN(poison))] : pieces[pick(ARRAY_LEN(pieces))]);
}

static void generate(struct buf *out)
{
    unsigned commands = 1 + pick(3);
    for (unsigned c = 0; c < commands; c++) {
        buf_adds(out, c > 0 ? joints[pick(ARRAY_LEN(joints))] : "");
        buf_adds(out, "pa");
        for (unsigned w = pick(5); w > 0; w--) {
            buf_adds(out, blanks[pick(ARRAY_LEN(blanks))]);
            add_word(out);
        }
    }
}

static void add_expected(struct buf *out, const struct shellwords *s)
{
    for (size_t i = 0; i < s->n; i++) {
        for (size_t k = 0; k < s->commands[i].n; k++) {
            const char *word = s->commands[i].v[k];
            buf_adds(out, k > 0 ? " " : "");
            buf_adds(out, *word ? "" : "-");
            for (; *word; word++)
                buf_addf(out, "%02x", (unsigned)(unsigned char)*word);
        }
        buf_addch(out, '\n');
    }
}

/* Run text with `shell -c` and return what the program saw. */
static void run_shell(struct buf *out, const char *shell, const char *folder, const char *text)
{
    struct err err = ERR_INIT;
    AUTO_STRV struct strv argv = STRV_INIT;
    AUTO_STRV struct strv env = STRV_INIT;
    AUTO_FREE char *file = fs_join(folder, "out");
    unlink(file);
    strv_push(&argv, shell);
    strv_push(&argv, "-c");
    strv_push(&argv, text);
    strv_pushf(&env, "PATH=%s", folder);
    strv_pushf(&env, "ARGV_OUT=%s", file);
    AUTO_PROC_RESULT struct proc_result result = PROC_RESULT_INIT;
    struct proc_cmd cmd = {.argv = &argv, .env = &env, .cwd = folder};
    if (!proc_run(&result, &cmd, &err))
        fail_msg("%s", err.text);
    if (result.status != 0)
        fail_msg("%s -c [%s]: %d %s", shell, text, result.status, result.errout.ptr);
    assert_true(fs_read_file(out, AT_FDCWD, file, 1 << 20, &err));
}

static void shells_agree(void **state)
{
    (void)state;
    char *folder = scratch_make();
    AUTO_FREE char *link_path = fs_join(folder, "pa");
    assert_int_equal(symlink(PRINT_ARGV, link_path), 0);
    unsigned accepted = 0, opaque = 0;
    while (accepted < STRINGS) {
        AUTO_BUF struct buf text = BUF_INIT;
        AUTO_BUF struct buf want = BUF_INIT;
        AUTO_SHELLWORDS struct shellwords s = SHELLWORDS_INIT;
        generate(&text);
        shellwords_split(&s, text.ptr, text.len);
        opaque += s.opaque != NULL;
        if (s.opaque)
            continue;
        accepted++;
        add_expected(&want, &s);
        static const char *const shells[] = {"/bin/bash", "/bin/dash"};
        for (size_t i = 0; i < ARRAY_LEN(shells); i++) {
            AUTO_BUF struct buf got = BUF_INIT;
            run_shell(&got, shells[i], folder, text.ptr);
            if (strcmp(got.ptr, want.ptr) != 0)
                fail_msg("%s: [%s]\nsplitter:\n%sshell:\n%s", shells[i], text.ptr, want.ptr,
                         got.ptr);
        }
    }
    assert_true(opaque > 0);
    scratch_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shells_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
