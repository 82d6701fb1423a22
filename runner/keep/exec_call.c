#include "runner/keep/exec_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gate/broker.h"
#include "gate/exec_form.h"
#include "gate/tool.h"
#include "runner/base/clock.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/real.h"

static void forget(struct exec_call *e)
{
    free(e->command);
    free(e->cwd);
    call_request_release(&e->who);
    *e = (struct exec_call){0};
}

void exec_calls_release(struct exec_calls *c)
{
    for (size_t i = 0; i < EXEC_CALLS; i++)
        forget(&c->all[i]);
}

void exec_calls_approved(struct exec_calls *c, int64_t number, const struct call_request *call)
{
    AUTO_TOOL_USE struct tool_use use = TOOL_USE_INIT;
    if (c->config->exec != EXEC_MATCH ||
        broker_is_call(call)) /* no exec of the box carries that out */
        return;
    tool_use_of(&use, call);
    if (!use.command)
        return;
    struct exec_call *e = &c->all[c->next];
    c->next = (c->next + 1) % EXEC_CALLS;
    forget(e);
    e->number = number;
    e->command = steal_ptr(&use.command);
    e->cwd = xstrdup(call->cwd);
    e->who.session = xstrdup(call->session);
    e->who.call_id = xstrdup(call->call_id);
    e->who.sub_id = xstrdup(call->sub_id);
    e->who.sub_type = xstrdup(call->sub_type);
    e->who.sub_depth = call->sub_depth;
    e->approved_ms = clock_mono_ms();
}

static struct exec_call *find(const struct exec_calls *c, int64_t number)
{
    for (size_t i = 0; number && i < EXEC_CALLS; i++)
        if (c->all[i].number == number)
            return (struct exec_call *)(uintptr_t)&c->all[i];
    return NULL;
}

const struct exec_call *exec_calls_find(const struct exec_calls *c, int64_t number)
{
    return find(c, number);
}

void exec_calls_take(struct exec_calls *c, int64_t number)
{
    struct exec_call *e = find(c, number);
    if (e)
        e->is_taken = true;
}

void exec_calls_give_back(struct exec_calls *c, int64_t number)
{
    struct exec_call *e = find(c, number);
    if (e)
        e->is_taken = false;
}

/* What nobody in the box can have made: the name as it was called, and the file behind it. */
static bool is_of_system(const struct exec_args *args, const struct exec_image *image)
{
    bool is_own =
        strcmp(args->path, "/proc/self/exe") == 0; /* a link of the kernel's, that nobody turns */
    return is_own ? image->is_fixed : image->is_fixed_name;
}

/*
 * The program of a form: by name as it was called or found, with a slash by its whole path. Where
 * the command's own words are run, the person has read a path, or a name that leads into the
 * system.
 */
static bool is_program_of(const struct strv *form, const struct exec_args *args,
                          const struct exec_image *image, bool is_system)
{
    const char *want = form->v[0], *found = image->names.all.v[0], *word = args->argv.ptr;
    if (strcmp(want, "%w") == 0)
        return strchr(word, '/') ? strcmp(word, args->path) == 0
                                 : is_system && strcmp(word, fs_basename(args->path)) == 0;
    if (!is_system)
        return false;
    if (strchr(want, '/'))
        return strcmp(args->path, want) == 0 || strcmp(found, want) == 0;
    return strcmp(fs_basename(args->path), want) == 0 || strcmp(fs_basename(found), want) == 0;
}

/* The first form that fits, or NULL. */
static const struct strv *find_form(const struct exec_forms *forms, const struct exec_args *args,
                                    const struct exec_image *image, bool is_system,
                                    const struct exec_form_call *call)
{
    for (size_t i = 0; i < forms->n; i++)
        if (is_program_of(&forms->v[i], args, image, is_system) &&
            exec_form_fits(&forms->v[i], args->argv.ptr, args->argv.len, call))
            return &forms->v[i];
    return NULL;
}

/* A folder that was told may lead through links; the kernel's is where it leads. */
static bool is_folder(const struct exec_place *place, const char *told, const char *cwd)
{
    char root[64];
    if (!told[0] || strcmp(told, cwd) == 0)
        return true;
    snprintf(root, sizeof root, "/proc/self/fd/%d", place->root_fd);
    AUTO_FREE char *real = real_path(root, told);
    return real && strcmp(real, cwd) == 0;
}

/* Whether the exec is what this call comes to. */
static bool carries_out(const struct exec_calls *c, const struct exec_call *e,
                        const struct exec_place *place, const struct exec_args *args,
                        const struct exec_image *image, bool is_system, const char *cwd)
{
    const struct exec_form_call call = {e->command, e->cwd};
    const struct strv *form = find_form(&c->config->exec_calls, args, image, is_system, &call);
    return form && (exec_form_has_folder(form) || is_folder(place, e->cwd, cwd));
}

enum exec_standing exec_calls_stand(const struct exec_calls *c, const struct exec_place *place,
                                    const struct exec_args *args, const struct exec_image *image,
                                    const char *cwd, int64_t *ret_number)
{
    int64_t now_ms = clock_mono_ms();
    bool is_system = is_of_system(args, image);
    for (size_t i = 0; i < EXEC_CALLS; i++) {
        const struct exec_call *e = &c->all[(c->next + i) % EXEC_CALLS]; /* the oldest first */
        if (e->number && !e->is_taken && now_ms - e->approved_ms < EXEC_CALL_FRESH_MS &&
            carries_out(c, e, place, args, image, is_system, cwd)) {
            *ret_number = e->number;
            return EXEC_CALLED;
        }
    }
    if (find_form(&c->config->exec_helpers, args, image, is_system, NULL) ||
        find_form(&c->config->exec_selves, args, image, is_system, NULL))
        return EXEC_HELPER;
    return EXEC_OWN;
}

bool exec_calls_is_agent(const struct exec_calls *c, const struct exec_args *args,
                         const struct exec_image *image)
{
    return c->config->exec_selves.n > 0 &&
           find_form(&c->config->exec_selves, args, image, is_of_system(args, image), NULL);
}
