/*
 * Whatever a task file and a template hold: all of its tasks or a usage error that adds none; every
 * task is UTF-8, not empty, bounded, and has a title of one line. The first byte is the template's
 * length (0: none).
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "runner/cmd/tasks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_task(const struct task *task)
{
    size_t len = strlen(task->text), title_len = strlen(task->title);
    bool is_fine = len > 0 && len <= LIMIT_PROMPT_BYTES && text_is_utf8(task->text, len) &&
                   text_is_utf8(task->title, title_len) && !memchr(task->title, '\n', title_len);
    if (!is_fine)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || (size_t)data[0] + 1 > size)
        return 0;
    size_t template_len = data[0];
    AUTO_FREE char *template = template_len ? xstrndup((const char *)data + 1, template_len) : NULL;
    AUTO_TASKS struct tasks tasks = TASKS_INIT;
    struct err err = ERR_INIT;
    const char *file = (const char *)data + 1 + template_len;
    bool ok = tasks_parse(&tasks, file, size - 1 - template_len, template, &err);
    if (ok != (tasks.n > 0) || (!ok && err.code != ERR_USAGE && err.code != ERR_LIMIT))
        abort();
    for (size_t i = 0; i < tasks.n; i++)
        check_task(&tasks.v[i]);
    return 0;
}
