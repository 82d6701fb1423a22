#include "tests/unit/gate/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdlib.h>
#include <cmocka.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"

char *scratch_make(void)
{
    const char *tmp = getenv("TMPDIR");
    char *path = xasprintf("%s/hg-gate-XXXXXX", tmp && tmp[0] == '/' ? tmp : "/tmp");
    assert_non_null(mkdtemp(path));
    return path;
}

void scratch_remove(char *path)
{
    struct err err = ERR_INIT;
    AUTO_FREE char *parent = fs_dirname(path);
    AUTO_FD int fd = fs_open_dir(AT_FDCWD, parent, &err);
    assert_true(fd >= 0);
    if (!fs_remove_tree(fd, fs_basename(path), &err))
        fail_msg("%s", err.text);
    free(path);
}
