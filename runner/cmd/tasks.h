/*
 * tasks: what is asked of the agents of a run, out of words, a file or another program's JSON.
 * Pure.
 *
 * Forms of a task file, told apart by its first character that is not white space:
 *   [   a JSON array of strings or objects (`gh issue list --json number,title,body`); a text that
 * starts with [ and is no JSON at all is taken as lines ("[BUG] crash at start") {   JSONL, one
 * object a line else plain lines, one task each; blank ones are passed over An object gives its
 * `prompt`, `task` or `text`; else `title` and `body`, with `#number` in front. With a template,
 * every {{field}} is replaced by that member of the object ({{author.login}} reaches inside); a
 * plain line or a JSON string has the one field {{line}}. With or without a template, the member
 * `ladder` of an object is the rung of that task.
 *
 * Invariant: nothing or everything. Each error names the row: the line, or the place in the array,
 * from 1.
 */
#ifndef CMD_TASKS_H
#define CMD_TASKS_H

#include "runner/base/jx.h"

struct task {
    char *text;
    char *title;  /* one short line */
    char *ladder; /* its rung; NULL: the run's */
};

struct tasks {
    struct task *v;
    size_t n;
};
#define TASKS_INIT \
    {              \
        0          \
    }
#define AUTO_TASKS __attribute__((cleanup(tasks_release)))
void tasks_release(struct tasks *t);

/* Add one task, with a title from its first line when title is NULL. ERR_USAGE: empty, not UTF-8,
 * or longer than LIMIT_PROMPT_BYTES; ERR_LIMIT: more than LIMIT_TASKS. */
bool tasks_add(struct tasks *t, const char *text, const char *title, struct err *err) WARN_UNUSED;
/* Add the tasks of a file's bytes. template NULL: none. ERR_USAGE with the row when a row is bad.
 */
bool tasks_parse(struct tasks *t, const char *bytes, size_t len, const char *template,
                 struct err *err) WARN_UNUSED;
/* [{"text":…,"title":…,"ladder":…}…] (new reference). */
json_t *tasks_json(const struct tasks *t);

#endif
