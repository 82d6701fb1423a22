#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/attempt/claims.h"
#include "runner/base/clock.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/cmd/escape_world.h"
#include "runner/cmd/log_text.h"
#include "sandbox/escape/stage.h"
#include "ui/vt.h"

/* What the rest of Headgate does with what comes out of a box: work, text, questions, claims. */

enum { IN_TIME_MS = 60000, RUN_TIMEOUT_MS = 15000, VT_ROWS = 24, VT_COLS = 80, FILE_MAX = 1 << 20 };

/* The paths of "set -- PATH...;" in the row's word are in the review list. */
static bool is_listed(const struct escape_row *row, const struct wt_harvest *done)
{
    const char *begin = strstr(row->word, "set -- ") + strlen("set -- ");
    AUTO_FREE char *text = xstrndup(begin, strcspn(begin, ";"));
    AUTO_STRV struct strv paths = STRV_INIT;
    strv_split(&paths, text, ' ', false);
    for (size_t i = 0; i < paths.n; i++) {
        bool is = false;
        for (size_t k = 0; k < done->review.n && !is; k++) {
            const char *tab = strchr(done->review.v[k], '\t');
            is = tab && strcmp(tab + 1, paths.v[i]) == 0;
        }
        if (!is)
            return false;
    }
    return true;
}

static bool harvest(struct wt_harvest *done, struct escape_world *w, bool with_snapshot)
{
    struct err why = ERR_INIT;
    return wt_harvest(done, &w->tree, with_snapshot, boxes_run_job, &w->boxes, &why);
}

/* The agent leaves what runs later; it must be named before anybody merges it. The control does
 * the same in a plain clone, as `stage_harvest` of the others. */
static bool stage_reviewed(struct escape_try *t, char **ret_outcome, struct err *err)
{
    AUTO_WT_HARVEST struct wt_harvest done = WT_HARVEST_INIT;
    AUTO_FREE char *said = NULL;
    escape_name_place(t);
    if (!escape_plain(t, &said, err))
        return false;
    if (t->on_host)
        *ret_outcome = steal_ptr(&said);
    else if (!harvest(&done, t->scene->world, true))
        *ret_outcome = xstrdup("refused");
    else
        *ret_outcome = xstrdup(is_listed(t->row, &done) ? "listed" : "not listed");
    return true;
}

/* Harvested or refused, but soon. */
static bool stage_in_time(struct escape_try *t, char **ret_outcome, struct err *err)
{
    AUTO_WT_HARVEST struct wt_harvest done = WT_HARVEST_INIT;
    struct escape_row mend = *t->row;
    struct escape_try again = {.row = &mend, .scene = t->scene};
    AUTO_FREE char *said = NULL;
    AUTO_FREE char *mended = NULL;
    escape_name_place(t);
    if (!escape_plain(t, &said, err))
        return false;
    int64_t began_ms = clock_mono_ms();
    bool is_home = harvest(&done, t->scene->world, true);
    bool is_in_time = clock_mono_ms() - began_ms < IN_TIME_MS;
    mend.word = "sh:cd {gitdir}; [ ! -f HEAD.kept ] || mv -f HEAD.kept HEAD; rm -f {here}/huge";
    *ret_outcome = xasprintf("%s%s", is_home ? "harvested" : "refused", is_in_time ? "" : " late");
    return escape_plain(&again, &mended, err);
}

/* A folder of the repository that leads into the tree, before the box starts: hooks that are kept
 * with the sources. */
static bool stage_linked_hooks(struct escape_try *t, char **ret_outcome, struct err *err)
{
    const char *dir = t->scene->dir;
    return escape_world_sh(dir, "mv repo/.git/hooks hooks.kept; ln -s ../src repo/.git/hooks",
                           err) &&
           escape_plain(t, ret_outcome, err) &&
           escape_world_sh(dir,
                           "cd repo; git checkout -q main; cd ..; rm -f repo/.git/hooks "
                           "repo/src/post-checkout; mv hooks.kept repo/.git/hooks",
                           err);
}

/* A file of the checkout that has another name outside of it since before. */
static bool stage_linked_file(struct escape_try *t, char **ret_outcome, struct err *err)
{
    AUTO_FREE char *path = fs_join(strv_env_get(&t->scene->values, "home"), "precious");
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_FREE char *said = NULL;
    escape_scene_value(t->scene, "here",
                       strv_env_get(&t->scene->values, t->on_host ? "repo" : "tree"));
    if (!escape_plain(t, &said, err) || !fs_read_file(&text, AT_FDCWD, path, FILE_MAX, err))
        return false;
    bool is_own = strcmp(said, "ok") == 0 && strcmp(text.ptr, "precious\n") == 0;
    *ret_outcome = xasprintf("%s%s", is_own ? "a copy" : "the same file: ", is_own ? "" : said);
    return true;
}

static bool list_refs(struct buf *ret, const char *repo, struct err *err)
{
    AUTO_STRV struct strv argv = STRV_INIT;
    AUTO_PROC_RESULT struct proc_result result = PROC_RESULT_INIT;
    const char *const words[] = {"git",      "-c",           "safe.directory=*", "-C",
                                 repo,       "for-each-ref", "refs/heads/main",  "refs/heads/other",
                                 "refs/tags"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        strv_push(&argv, words[i]);
    const struct proc_cmd cmd = {.argv = &argv, .timeout_ms = RUN_TIMEOUT_MS};
    if (!proc_run(&result, &cmd, err))
        return false;
    buf_add(ret, result.out.ptr, result.out.len);
    return true;
}

/* The refs of the person, before and after the agent did as it liked with its own. */
static bool stage_refs(struct escape_try *t, char **ret_outcome, struct err *err)
{
    AUTO_WT_HARVEST struct wt_harvest done = WT_HARVEST_INIT;
    AUTO_BUF struct buf before = BUF_INIT, after = BUF_INIT;
    AUTO_FREE char *said = NULL;
    const char *repo = strv_env_get(&t->scene->values, t->on_host ? "naive" : "repo");
    escape_name_place(t);
    if (!list_refs(&before, repo, err) || !escape_plain(t, &said, err) ||
        (!t->on_host && !harvest(&done, t->scene->world, false) &&
         !err_set(err, ERR_FAILED, "the harvest failed")) ||
        !list_refs(&after, repo, err))
        return false;
    bool is_same = before.len == after.len && memcmp(before.ptr, after.ptr, before.len) == 0;
    *ret_outcome = xstrdup(is_same ? "as they were" : "changed");
    return true;
}

static bool stage_objects(struct escape_try *t, char **ret_outcome, struct err *err)
{
    const char *dir = t->scene->dir;
    struct err broken = ERR_INIT;
    AUTO_FREE char *said = NULL;
    if (!escape_world_sh(dir, "cp -a repo/.git/objects spare", err) || !escape_plain(t, &said, err))
        return false;
    bool is_sound = escape_world_sh(dir, "git -C repo fsck --full", &broken);
    *ret_outcome = xstrdup(is_sound ? "sound" : "broken");
    return escape_world_sh(dir, "rm -rf repo/.git/objects; mv spare repo/.git/objects", err);
}

/* Bytes that mean something to a terminal. */
static bool has_sequences(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        bool is_c1 = i > 0 && (unsigned char)text[i - 1] == 0xc2 && c >= 0x80 && c < 0xa0;
        if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f || is_c1)
            return true;
    }
    return false;
}

/* What a shell in a box prints. */
static bool print_in_box(struct buf *ret, struct escape_try *t, struct err *err)
{
    AUTO_BOX_SPEC struct box_spec spec;
    AUTO_PROC_RESULT struct proc_result result = PROC_RESULT_INIT;
    const struct proc_cmd cmd = {.timeout_ms = RUN_TIMEOUT_MS};
    const char *const words[] = {"/bin/sh", "-c", t->row->word};
    if (!escape_spec(&spec, t, err))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        strv_push(&spec.argv, words[i]);
    if (!box_run(&result, &t->scene->report, t->scene->launcher, &spec, &cmd, err))
        return false;
    buf_add(ret, result.out.ptr, result.out.len);
    return true;
}

static void conclude_text(const struct buf *text, char **ret_outcome)
{
    *ret_outcome = xstrdup(has_sequences(text->ptr, text->len) ? "sequences" : "plain text");
}

static bool stage_log(struct escape_try *t, char **ret_outcome, struct err *err)
{
    AUTO_BUF struct buf raw = BUF_INIT, shown = BUF_INIT;
    AUTO_LOG_TEXT struct log_text text;
    log_text_init(&text, "lines");
    if (!print_in_box(&raw, t, err))
        return false;
    log_text_feed(&shown, &text, raw.ptr, raw.len);
    log_text_end(&shown, &text);
    conclude_text(t->is_control ? &raw : &shown, ret_outcome);
    return true;
}

static void drop_answer(void *arg, const char *bytes, size_t len)
{
    (void)arg;
    (void)bytes;
    (void)len;
}

static bool stage_screen(struct escape_try *t, char **ret_outcome, struct err *err)
{
    AUTO_BUF struct buf raw = BUF_INIT, shown = BUF_INIT;
    AUTO_CANVAS struct canvas canvas = CANVAS_INIT;
    if (!print_in_box(&raw, t, err))
        return false;
    struct vt *vt = vt_new(VT_ROWS, VT_COLS, true, drop_answer, NULL);
    vt_feed(vt, raw.ptr, raw.len);
    canvas_reset(&canvas, VT_ROWS, VT_COLS);
    vt_draw(vt, &canvas, 0, 0, VT_ROWS, VT_COLS, 0);
    canvas_dump(&shown, &canvas);
    vt_free(vt);
    conclude_text(t->is_control ? &raw : &shown, ret_outcome);
    return true;
}

/* A sibling attempt that lives has noted that it writes the folder; the control's has not. */
static bool stage_claimed(struct escape_try *t, char **ret_outcome, struct err *err)
{
    struct escape_world *w = t->scene->world;
    struct box_spec spec;
    struct err why = ERR_INIT;
    AUTO_FREE char *note = fs_join(w->paths.attempts, "1.2/writable");
    AUTO_FREE char *folder = xasprintf("%s-shared", t->scene->dir); /* Headgate's own is in dir */
    AUTO_FREE char *line = xasprintf("%s\n", folder);
    if (!fs_mkdirs(folder, 0755, err) || !escape_scene_give(t->scene, folder, err) ||
        (!t->is_control && !fs_write_plain(AT_FDCWD, note, line, strlen(line), 0600, err)))
        return false;
    strv_push(&w->spec.rw, folder);
    bool is_allowed = boxes_agent(&spec, &w->boxes, &why);
    if (is_allowed)
        box_spec_release(&spec);
    claims_drop(&w->paths, w->spec.id);
    strv_release(&w->spec.rw);
    unlink(note);
    rmdir(folder);
    *ret_outcome = xstrdup(is_allowed ? "ok" : why.code == ERR_CONFLICT ? "refused" : why.text);
    return true;
}

/* Whoever listens at the gate takes the question and hangs up; the control's says yes. */
static bool stage_hang_up(struct escape_try *t, char **ret_outcome, struct err *err)
{
    static const char yes[] = "{\"v\":1,\"decision\":\"allow\"}\n";
    const struct escape_world *w = t->scene->world;
    char question[4096];
    pid_t pid = fork();
    if (pid < 0)
        return err_set(err, ERR_SYS, "cannot start a gate");
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        AUTO_FD int fd = accept(w->gate_fd, NULL, NULL);
        ssize_t got = read(fd, question, sizeof(question));
        if (got > 0 && t->is_control)
            got = write(fd, yes, sizeof(yes) - 1);
        close(fd);
        _exit(got < 0);
    }
    struct escape_try own = {.row = t->row, .scene = t->scene};
    bool is_made = escape_plain(&own, ret_outcome, err);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return is_made;
}

#define LANDLOCK ESCAPE_BIT(LAYER_LANDLOCK)
#define MARK "touch {host}/empty/came-through"
#define WRITE_ALL                                                           \
    "for f; do mkdir -p $(dirname $f); rm -f $f; printf '#!/bin/sh\\n" MARK \
    "\\n' >$f; chmod +x $f; done; "
#define SEQUENCES                                                                                  \
    "printf "                                                                                      \
    "'a\\033]52;c;aGk=\\007b\\033]8;;http://x\\033\\\\c\\033]8;;\\033\\\\\\033[21td\\033P1$r "     \
    "q\\033\\\\e\\033Ptmux;\\033\\033]52;c;aGk=\\007\\033\\\\\\302\\2335n\\302\\235f\\033cg\\033[" \
    "?1049h\\n'"
#define OF_WORK .wall = "harvest", .box = escape_world_box

static const struct escape_row rows[] = {
    {.id = "G16",
     .what = "hooks that the person keeps in the tree (core.hooksPath)",
     .word = "sh:cd {here}; set -- .husky/post-checkout; " WRITE_ALL
             "git config core.hooksPath .husky; {then}",
     .held = "listed",
     .control = ESCAPE_ON_HOST,
     .stage = stage_reviewed,
     OF_WORK},
    {.id = "G24n",
     .what = "settings in the tree, for the editor, the shell, CI and agents",
     .word = "sh:cd {here}; set -- .vscode/tasks.json .idea/workspace.xml .envrc "
             ".github/workflows/x.yml .gitlab-ci.yml .mcp.json .claude/settings.json "
             ".codex/config.toml .gitattributes sub/.gitmodules run-me; " WRITE_ALL
             "git add -A; git commit -qm x",
     .held = "listed",
     .control = ESCAPE_NONE,
     .why = "without the list they would be found in the tree only",
     .stage = stage_reviewed,
     OF_WORK},
    {.id = "G18b",
     .what = "a link in the tree that leads out of it",
     .word = "sh:cd {here}; set -- way-out; ln -s {home}/.ssh/id_ed25519 way-out",
     .held = "listed",
     .control = ESCAPE_NONE,
     .why = "without the list it would be found in the tree only",
     .stage = stage_reviewed,
     OF_WORK},
    {.id = "G20g",
     .what = "branches and tags of the person, by way of the agent's own",
     .word = "sh:cd {here}; git tag -d v1; git branch -D other; git update-ref refs/heads/main "
             "$(git commit-tree -m x $(git rev-parse HEAD:))",
     .held = "as they were",
     .control = ESCAPE_ON_HOST,
     .stage = stage_refs,
     OF_WORK},
    {.id = "G27c",
     .what = "a file of a terabyte that holds nothing",
     .word = "sh:cd {here}; truncate -s 1T huge",
     .held = "harvested",
     .control = ESCAPE_NONE,
     .why = "git reads it for hours",
     .stage = stage_in_time,
     OF_WORK},
    {.id = "G27d",
     .what = "a pipe where git keeps its HEAD",
     .word = "sh:cd {gitdir}; cp HEAD HEAD.kept; rm HEAD; mkfifo HEAD",
     .held = "refused",
     .control = ESCAPE_NONE,
     .why = "whoever reads it would wait for ever",
     .stage = stage_in_time,
     OF_WORK},
    {.id = "G27e",
     .what = "a terabyte where git keeps its HEAD",
     .word = "sh:cd {gitdir}; cp HEAD HEAD.kept; truncate -s 1T HEAD",
     .held = "refused",
     .control = ESCAPE_NONE,
     .why = "git reads it for hours",
     .stage = stage_in_time,
     OF_WORK},
    {.id = "G17b",
     .what = "a file that had another name outside before",
     .word = "append:{here}/linked",
     .held = "a copy",
     .wall = "worktree",
     .control = ESCAPE_ON_HOST,
     .stage = stage_linked_file,
     .box = escape_world_box},
    {.id = "G12",
     .what = "hooks that a link has in the tree since before",
     .word = "sh:printf '#!/bin/sh\\n" MARK "\\n' | tee {tree}/src/post-checkout "
             ">{repo}/src/post-checkout; chmod 755 {repo}/src/post-checkout",
     .held = "ECANCELED",
     .layer = LAYER_MOUNT,
     .also = LANDLOCK,
     .stage = stage_linked_hooks,
     .box = escape_world_box},
    {.id = "G21c",
     .what = "all objects of the repository",
     .word = "sh:rm -rf {repo}/.git/objects/pack {repo}/.git/objects/??",
     .held = "sound",
     .layer = LAYER_MOUNT,
     .also = LANDLOCK,
     .stage = stage_objects,
     .box = escape_world_box},
    {.id = "L03",
     .what = "a folder that a sibling writes",
     .word = "",
     .held = "refused",
     .wall = "claims",
     .stage = stage_claimed},
    {.id = "L12",
     .what = "a gate that hangs up instead of an answer",
     .word = "sh:printf '\\173\"tool\":\"Bash\",\"args\":\\173\"command\":\"x\"\\175\\175' | "
             "$HEADGATE_HOOK",
     .held = "ECANCELED",
     .wall = "gate",
     .stage = stage_hang_up,
     .box = escape_world_box},
    {.id = "I10a",
     .what = "clipboard, links, titles and pass-through in the log",
     .word = SEQUENCES,
     .held = "plain text",
     .wall = "sanitiser",
     .stage = stage_log},
    {.id = "I10b",
     .what = "the same on an attached screen",
     .word = SEQUENCES,
     .held = "plain text",
     .wall = "sanitiser",
     .stage = stage_screen},
};

const struct escape_rows escape_home = {rows, ARRAY_LEN(rows)};
