#include "runner/cmd/print_left.h"

#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "runner/cmd/cmd.h"

/* "git -C PATH VERB OPERAND" */
static void add_git(struct buf *out, const char *path, const char *verb, const char *operand)
{
    AUTO_STRV struct strv words = STRV_INIT;
    const char *const all[] = {"git", "-C", path, verb, operand};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        strv_push(&words, all[i]);
    cmd_quote(out, words.v, words.n);
}

/* The same for people. */
static void show_git(struct buf *out, const char *path, const char *verb, const char *operand)
{
    AUTO_BUF struct buf typed = BUF_INIT;
    add_git(&typed, path, verb, operand);
    text_sanitise(out, typed.ptr, typed.len, 0);
}

static void print_one(struct buf *out, const struct wt_left *left, const char *into)
{
    if (left->doing)
        buf_addf(out, "finish the %s there or give it up, then ", left->doing);
    show_git(out, left->path, "switch", into);
    if (left->doing) {
        buf_adds(out, " goes back (and ");
        show_git(out, left->path, "merge", "-");
        buf_adds(out, " brings what you committed meanwhile)");
    } else if (left->is_there) {
        buf_adds(out, " goes back and carries your changes; where it refuses, git stash -u before "
                      "it and git stash pop after it");
    } else {
        buf_adds(out, " goes back when it is there again, for its folder is gone");
    }
}

void print_left(struct buf *out, const struct wt_merge *m, bool dry_run)
{
    enum { OID_SHORT = 10 };
    for (size_t i = 0; i < m->n_left; i++) {
        AUTO_FREE char *path = text_clean(m->left[i].path);
        buf_addf(out, "; the checkout at %s %s as it is, its HEAD detached at %.*s: ", path,
                 dry_run ? "would stay" : "stays", OID_SHORT, m->target);
        print_one(out, &m->left[i], m->into);
    }
}

json_t *print_left_json(const struct wt_merge *m)
{
    json_t *all = json_array();
    for (size_t i = 0; i < m->n_left; i++) {
        const struct wt_left *left = &m->left[i];
        AUTO_BUF struct buf next = BUF_INIT;
        json_t *one = json_object();
        add_git(&next, left->path, "switch", m->into);
        jx_set_str(one, "path", left->path);
        jx_set_bool(one, "there", left->is_there);
        jx_set_str(one, "doing", left->doing);
        jx_set_str(one, "next", next.ptr);
        json_array_append_new(all, one);
    }
    return all;
}
