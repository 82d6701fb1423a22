#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/cmd/escape_world.h"
#include "sandbox/escape/live.h"

enum { RENAMES = 2000, HARVESTS = 20, END_TIMEOUT_MS = 10000 };

/* Replace a file of the host as git and editors do: written beside it and renamed over it. */
static bool replace(const char *path, int times, struct err *err)
{
    AUTO_FREE char *lock = xasprintf("%s.lock", path);
    AUTO_BUF struct buf text = BUF_INIT;
    if (!fs_read_file(&text, AT_FDCWD, path, 1 << 20, err))
        return false;
    for (int i = 0; i < times; i++) {
        if (!fs_write_plain(AT_FDCWD, lock, text.ptr, text.len, 0666, err))
            return false;
        if (rename(lock, path) != 0)
            return err_sys(err, errno, "cannot replace %s", path);
    }
    return true;
}

/* End a live box's word by its input, and take the last line that it printed. */
static char *end_live(struct escape_live *live)
{
    AUTO_BUF struct buf text = BUF_INIT;
    char chunk[256];
    ssize_t got = 1;
    struct pollfd p = {.fd = live->out_fd, .events = POLLIN};
    auto_fd_(&live->in_fd);
    live->in_fd = -1;
    while (got > 0 && poll(&p, 1, END_TIMEOUT_MS) == 1) {
        got = read(live->out_fd, chunk, sizeof(chunk));
        buf_add(&text, chunk, got > 0 ? (size_t)got : 0);
    }
    buf_rtrim(&text);
    return buf_steal(&text);
}

/* The layout that others use: a read-only file in a writable folder. */
static bool show_naive_mount(struct box_spec *spec, const struct escape_scene *scene)
{
    AUTO_FREE char *folder = fs_join(strv_env_get(&scene->values, "naive"), ".git");
    AUTO_FREE char *file = fs_join(folder, "config");
    box_spec_bind(spec, folder, folder, BOX_BIND_WRITE);
    box_spec_bind(spec, file, file, 0);
    return true;
}

/* The host replaces a protected file again and again while the box appends to it. The control does
 * it where a mount of the single file is all that protects it: the kernel takes the mount away. */
static bool stage_replaced(struct escape_try *t, char **ret_outcome, struct err *err)
{
    AUTO_ESCAPE_LIVE struct escape_live live = ESCAPE_LIVE_INIT;
    AUTO_BOX_SPEC struct box_spec spec;
    struct escape_row plain = *t->row;
    const char *naive = strv_env_get(&t->scene->values, "naive");
    AUTO_FREE char *naive_file = fs_join(naive, ".git/config");
    AUTO_FREE char *file = escape_fill(t->scene, strchr(t->row->word, ':') + 1);
    const char *target = t->is_control ? naive_file : file;
    AUTO_FREE char *word = xasprintf("append-loop:%s", target);
    if (t->is_control)
        plain.box = NULL;
    struct escape_try own = {.row = &plain, .scene = t->scene};
    if (!escape_spec(&spec, &own, err) || (t->is_control && !show_naive_mount(&spec, t->scene)))
        return false;
    if (!escape_live_start(&live, &own, &spec, word, err) || !replace(target, RENAMES, err))
        return false;
    *ret_outcome = end_live(&live);
    return true;
}

/* What a box makes in folders that lead to its mounts is its own: the host must not have it. */
bool escape_planted(struct escape_try *t, char **ret_outcome, struct err *err)
{
    AUTO_FREE char *file = escape_fill(t->scene, strchr(t->row->word, ':') + 1);
    AUTO_FREE char *said = NULL;
    if (!escape_plain(t, &said, err))
        return false;
    bool is_there = fs_exists(file);
    if (is_there)
        unlink(file);
    *ret_outcome = xstrdup(is_there ? "planted" : "not outside");
    return true;
}

static bool harvest(struct escape_world *w, bool with_snapshot, char **ret_said, struct err *err)
{
    struct wt_harvest done = WT_HARVEST_INIT;
    struct err why = ERR_INIT;
    (void)err;
    bool ok = wt_harvest(&done, &w->tree, with_snapshot, boxes_run_job, &w->boxes, &why);
    *ret_said = xstrdup(ok ? "harvested" : "refused");
    wt_harvest_release(&done);
    return true;
}

void escape_name_place(struct escape_try *t)
{
    escape_scene_value(t->scene, "here",
                       strv_env_get(&t->scene->values, t->on_host ? "naive" : "tree"));
    escape_scene_value(t->scene, "then",
                       t->on_host ? "git status; git add -A; git diff HEAD; git diff; "
                                    "git commit -qm x; git checkout -q -b other-$$; git log -p"
                                  : ":");
}

/* The agent plants something, then the host brings its work home and looks at it. The control does
 * the same in a plain clone and looks at that with git, as anybody would. */
static bool stage_harvest(struct escape_try *t, char **ret_outcome, struct err *err)
{
    struct escape_world *w = t->scene->world;
    AUTO_FREE char *said = NULL;
    escape_name_place(t);
    if (!escape_plain(t, &said, err))
        return false;
    if (t->on_host) {
        *ret_outcome = steal_ptr(&said);
        return true;
    }
    return harvest(w, true, ret_outcome, err);
}

/* The box exchanges a folder of its git folder for a link again and again while the host harvests.
 */
static bool stage_exchanged(struct escape_try *t, char **ret_outcome, struct err *err)
{
    AUTO_ESCAPE_LIVE struct escape_live live = ESCAPE_LIVE_INIT;
    AUTO_BOX_SPEC struct box_spec spec;
    AUTO_FREE char *word = escape_fill(t->scene, t->row->word);
    if (!escape_spec(&spec, t, err) || !escape_live_start(&live, t, &spec, word, err))
        return false;
    for (int i = 0; i < HARVESTS; i++) {
        AUTO_FREE char *said = NULL;
        if (!harvest(t->scene->world, false, &said, err))
            return false;
    }
    AUTO_FREE char *end = end_live(&live);
    *ret_outcome = xstrdup(strcmp(end, "ok") == 0 ? "held" : end);
    return true;
}

#define LANDLOCK ESCAPE_BIT(LAYER_LANDLOCK)
#define BY_MOUNT .layer = LAYER_MOUNT, .also = LANDLOCK, .box = escape_world_box
#define ABSENT .held = "ENOENT", BY_MOUNT
#define PLANTED .held = "not outside", .stage = escape_planted, BY_MOUNT
#define PLANT(name, text, path)                                         \
    {                                                                   \
        .id = name, .what = text, .word = "plant:{home}/" path, PLANTED \
    }
#define READ_ONLY .held = "EROFS", BY_MOUNT
#define MARK "touch {host}/empty/came-through"
#define BY_HARVEST                                                                             \
    .held = "harvested", .wall = "harvest", .control = ESCAPE_ON_HOST, .stage = stage_harvest, \
    .box = escape_world_box

/* Where the agent broke its own git folder, its work may not come home. */
#define BY_HARVEST_OR_NOT                                                      \
    .held = "harvested refused", .wall = "harvest", .control = ESCAPE_ON_HOST, \
    .stage = stage_harvest, .box = escape_world_box

/* Git and files. Those that bring work home come first: the controls of the others damage. */
static const struct escape_row rows[] = {
    {.id = "G03a",
     .what = "a program for git status (core.fsmonitor)",
     BY_HARVEST,
     .word = "sh:cd {here}; git config core.fsmonitor '" MARK "; false'; echo x >>two; {then}"},
    {.id = "G03b",
     .what = "hooks of the agent's own (core.hooksPath)",
     BY_HARVEST,
     .word = "sh:cd {here}; mkdir -p h; printf '#!/bin/sh\\n" MARK "\\n' >h/post-checkout; "
             "chmod +x h/*; git config core.hooksPath $PWD/h; {then}"},
    {.id = "G03c",
     .what = "a hook in the git folder",
     BY_HARVEST,
     .word = "sh:cd {here}; d=$(git rev-parse --absolute-git-dir)/hooks; mkdir -p $d; "
             "printf '#!/bin/sh\\n" MARK "\\n' >$d/post-checkout; chmod +x $d/post-checkout; "
             "git config --unset core.hooksPath; {then}"},
    {.id = "G23a",
     .what = "a filter of the agent's (filter.clean)",
     BY_HARVEST,
     .word = "sh:cd {here}; git config filter.x.clean '" MARK "; cat'; "
             "echo '* filter=x' >.gitattributes; echo y >>two; {then}"},
    {.id = "G23b",
     .what = "an external diff (diff.external)",
     BY_HARVEST,
     .word = "sh:cd {here}; git config diff.external '" MARK "; true'; echo z >>two; {then}"},
    {.id = "G23c",
     .what = "a text conversion (diff.textconv)",
     BY_HARVEST,
     .word = "sh:cd {here}; git config diff.x.textconv '" MARK "; cat'; "
             "echo '* diff=x' >.gitattributes; echo y >>two; {then}"},
    {.id = "G22",
     .what = "a submodule whose address is a program",
     BY_HARVEST,
     .word = "sh:cd {here}; git config protocol.ext.allow always; git config submodule.s.url "
             "'ext::" MARK "'; printf '[submodule \"s\"]\\n\\tpath = s\\n\\turl = x\\n' "
             ">.gitmodules; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),s; "
             "case {then} in :) ;; *) export GIT_ALLOW_PROTOCOL=ext; git submodule update s; esac"},
    {.id = "G09a",
     .what = "a config that was not there (config.worktree)",
     BY_HARVEST,
     .word = "sh:cd {here}; git config extensions.worktreeConfig true; git config --worktree "
             "core.fsmonitor '" MARK "; false'; echo x >>two; {then}"},
    {.id = "G09b",
     .what = "a repository that was not there, in the tree",
     BY_HARVEST,
     .word = "sh:cd {here}; git init -q new; git -C new commit -q --allow-empty -m x; "
             "git -C new config core.fsmonitor '" MARK "; false'; git add -A; {then}"},
    {.id = "G19",
     .what = "a link for a folder while the work is brought home",
     .word = "exchange:{gitdir}/refs {host}",
     .held = "held",
     .wall = "harvest",
     .tries = HARVESTS,
     .control = ESCAPE_NONE,
     .why = "no git of the host ever reads that folder",
     .stage = stage_exchanged,
     .box = escape_world_box},
    {.id = "G10",
     .what = "the repository's config while the host replaces it",
     .word = "append-loop:{repo}/.git/config",
     .held = "ENOENT",
     .wall = "private git folder",
     .tries = RENAMES,
     .stage = stage_replaced,
     .box = escape_world_box},
    {.id = "G11",
     .what = "the worktree's .git while the host replaces it",
     .word = "append-loop:{tree}/.git",
     .held = "EROFS",
     .wall = "private git folder",
     .tries = RENAMES,
     .stage = stage_replaced,
     .box = escape_world_box},
    {.id = "G18",
     .what = "a key of the person through a link",
     .word = "read-through-link:{tree}/way {home}/.ssh/id_ed25519",
     ABSENT},
    {.id = "G24a", .what = "a key of the person", .word = "read:{home}/.ssh/id_ed25519", ABSENT},
    {.id = "G24b", .what = "the person's shell start-up", .word = "append:{home}/.bashrc", ABSENT},
    {.id = "G24c", .what = "the person's profile", .word = "append:{home}/.profile", ABSENT},
    {.id = "G24d", .what = "the person's git settings", .word = "append:{home}/.gitconfig", ABSENT},
    {.id = "G24e", .what = "who may log in", .word = "append:{home}/.ssh/authorized_keys", ABSENT},
    PLANT("G24f", "another shell's start-up", ".zshrc"),
    PLANT("G24g", "a service of the person's session", ".config/systemd/user/evil.service"),
    PLANT("G24h", "a program of the next login", ".config/autostart/evil.desktop"),
    PLANT("G24i", "the editor's settings", ".config/Code/User/settings.json"),
    PLANT("G24j", "the agent's settings", ".claude/settings.json"),
    PLANT("G24k", "another agent's settings", ".codex/config.toml"),
    PLANT("G24l", "a program for the person's PATH", ".local/bin/git"),
    PLANT("G24m", "a tool's settings above the checkout", ".mcp.json"),
    {.id = "G04",
     .what = "the repository's config for a worktree",
     .word = "plant:{repo}/.git/config.worktree",
     PLANTED},
    {.id = "G02",
     .what = "a hook of the repository",
     .word = "plant:{repo}/.git/hooks/post-checkout",
     PLANTED},
    {.id = "G08a",
     .what = "attributes of the repository",
     .word = "plant:{repo}/.git/info/attributes",
     PLANTED},
    {.id = "G08b",
     .what = "other objects for the repository",
     .word = "create:{repo}/.git/objects/info/alternates",
     READ_ONLY},
    {.id = "G20a", .what = "the main branch", .word = "append:{repo}/.git/refs/heads/main", ABSENT},
    {.id = "G20b", .what = "packed refs", .word = "append:{repo}/.git/packed-refs", ABSENT},
    {.id = "G20c", .what = "a new tag", .word = "plant:{repo}/.git/refs/tags/v9", PLANTED},
    {.id = "G20d", .what = "where HEAD is", .word = "append:{repo}/.git/HEAD", ABSENT},
    {.id = "G20e", .what = "the person's index", .word = "append:{repo}/.git/index", ABSENT},
    {.id = "L04a",
     .what = "a lock on the person's index",
     .word = "plant:{repo}/.git/index.lock",
     PLANTED},
    {.id = "L04b",
     .what = "a lock on the refs of all",
     .word = "plant:{repo}/.git/packed-refs.lock",
     PLANTED},
    {.id = "L04c", .what = "the stash of all", .word = "plant:{repo}/.git/refs/stash", PLANTED},
    {.id = "G01", .what = "the repository's config", .word = "append:{repo}/.git/config", ABSENT},
    {.id = "G21a",
     .what = "cut a pack of the repository short",
     .word = "truncate:{pack}",
     READ_ONLY},
    {.id = "G21b", .what = "remove a pack of the repository", .word = "remove:{pack}", READ_ONLY},
    {.id = "G07a",
     .what = "where the worktree's entry leads",
     .word = "append:{entry}/commondir",
     ABSENT},
    {.id = "G07b",
     .what = "which worktree the entry is of",
     .word = "append:{entry}/gitdir",
     ABSENT},
    {.id = "G20f", .what = "the person's own checkout", .word = "append:{repo}/two", ABSENT},
    {.id = "G05", .what = "the worktree's .git", .word = "append:{tree}/.git", READ_ONLY},
    {.id = "G06a",
     .what = "move the worktree's .git away",
     .word = "rename:{tree}/.git {tree}/x",
     .held = "EBUSY",
     BY_MOUNT},
    {.id = "L09",
     .what = "Headgate's own settings of the person",
     .word = "append:{home}/.config/headgate/config",
     ABSENT},
    {.id = "L10",
     .what = "Headgate's own socket, to approve itself",
     .word = "connect-socket:{run}/ctl",
     ABSENT},
    {.id = "L01e",
     .what = "the git folder of a sibling attempt",
     .word = "read:{attempts}/1.2/git/config",
     ABSENT},
    {.id = "L01f",
     .what = "the log of a sibling attempt",
     .word = "append:{attempts}/1.2/log",
     ABSENT},
    {.id = "L01h",
     .what = "the private home of a sibling attempt",
     .word = "list:{attempts}/1.2/home",
     ABSENT},
    {.id = "L01i",
     .what = "the worktree of a sibling attempt",
     .word = "append:{attempts}/1.2/tree/file",
     ABSENT},
    {.id = "L01g", .what = "the base that attempts share", .word = "list:{bases}", ABSENT},
    {.id = "G27b",
     .what = "a pipe where the host expects a file",
     .word = "sh:cd {here}; rm -f two; mkfifo two; {then}",
     .held = "harvested refused",
     .wall = "harvest",
     .control = ESCAPE_NONE,
     .why = "whoever reads it would wait for ever",
     .stage = stage_harvest,
     .box = escape_world_box},
    {.id = "G14",
     .what = "a git folder that leads to another one",
     BY_HARVEST_OR_NOT,
     .word = "sh:cd {here}; rm -f two; git init -q evil; git -C evil config core.fsmonitor "
             "'" MARK "; false'; echo $PWD/evil/.git >$(git rev-parse "
             "--absolute-git-dir)/commondir; {then}"},
    {.id = "G06b",
     .what = "move the worktree away",
     .word = "rename:{tree} {tree}.moved",
     .held = "EBUSY EROFS EXDEV EACCES",
     BY_MOUNT},
};

const struct escape_rows escape_git = {rows, ARRAY_LEN(rows)};
