/*
 * A cloned folder: everything that git looks at is the same, and the content is shared.
 */
#include "tests/unit/worktree/fixture.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "worktree/clonetree.h"

static void clone_ok(const struct fixture *f, const char *from, const char *to)
{
    struct err err = ERR_INIT;
    AUTO_FREE char *source = fs_join(f->root, from);
    AUTO_FREE char *target = fs_join(f->root, to);
    assert_ok(clonetree(source, target, &err), &err);
}

static void everything_is_kept(void **state)
{
    struct fixture *f = *state;
    free(sh(f, NULL,
            "mkdir -p from/a/b/c from/'odd name' from/empty && echo x >from/a/b/c/x && : "
            ">from/nothing && "
            "head -c 3000000 /dev/urandom >from/big && printf y >\"from/odd name/$(printf "
            "'n\\nl')\" && "
            "chmod 751 from/a && chmod 700 from/a/b && chmod 555 from/a/b/c/x && ln -s ../big "
            "from/a/link && "
            "ln -s /nowhere from/dangling && "
            "for i in $(seq 300); do mkdir -p from/many/$i && echo $i >from/many/$i/f; done && "
            "find from -depth -exec touch -h -d '2001-02-03 04:05:06.789' {} +"));
    clone_ok(f, "from", "to");
#define LIST "find . -printf '%%p %%y %%m %%s %%T+ %%u %%l\\n' | sort"
    AUTO_FREE char *files = xasprintf("%s/from", f->root);
    AUTO_FREE char *copies = xasprintf("%s/to", f->root);
    AUTO_FREE char *expected = sh(f, files, LIST);
    assert_text(sh(f, copies, LIST), expected);
    free(sh(f, NULL, "diff -r --no-dereference from to"));
    free(sh(f, NULL, "sync -f to/big && /usr/sbin/filefrag -v to/big | grep -q shared"));
}

static void what_is_written_stays_apart(void **state)
{
    struct fixture *f = *state;
    free(sh(f, NULL, "mkdir from && echo one >from/f"));
    clone_ok(f, "from", "to");
    free(sh(f, NULL, "echo two >>to/f && echo new >to/new"));
    assert_text(sh(f, NULL, "cat from/f to/f; ls from"), "one\none\ntwo\nf");
}

static void a_failure_is_told_once_with_its_path(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    AUTO_FREE char *source = fs_join(f->root, "from");
    AUTO_FREE char *target = fs_join(f->root, "to");
    free(sh(f, NULL,
            "for i in $(seq 50); do mkdir -p from/$i/d && echo $i >from/$i/d/f; done && mkfifo "
            "from/7/d/pipe"));
    assert_false(clonetree(source, target, &err));
    assert_has(err.text, "pipe is neither file, folder nor link");
    free(sh(f, NULL, "rm -r to from/7/d/pipe && mkdir to"));
    assert_false(clonetree(source, target, &err));
    assert_has(err.text, "cannot make the folder");
    free(sh(f, NULL, "rmdir to"));
    clone_ok(f, "from", "to");
    free(sh(f, NULL, "diff -r from to"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(everything_is_kept),
        TEST(what_is_written_stays_apart),
        TEST(a_failure_is_told_once_with_its_path),
    };
    if (!fixture_use("reflink"))
        return SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
