#include "runner/cmd/escape_world.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"

enum { SCRIPT_TIMEOUT_MS = 20000 };

static const char make_script[] =
    "set -e\n"
    "umask 022\n"
    "mkdir -p home/.ssh home/.config/headgate bases attempts/1.1/home attempts/1.2/git "
    "attempts/1.2/home attempts/1.2/tree run\n"
    "echo '[core]' | tee attempts/1.2/git/config attempts/1.2/log attempts/1.2/tree/file "
    "home/.config/headgate/config "
    ">home/.profile\n"
    "for f in .bashrc .gitconfig .profile .ssh/id_ed25519 .ssh/authorized_keys; do\n"
    "    echo '# of the person' >home/$f; done\n"
    "git init -q -b main repo\n"
    "cd repo\n"
    "git config user.name Person\n"
    "git config user.email person@example.com\n"
    "mkdir src\n"
    "echo one >src/one.c\n"
    "echo two >two\n"
    "echo precious >../home/precious\n"
    "ln ../home/precious linked\n"
    "git add .\n"
    "git commit -q -m First\n"
    "git branch other\n"
    "git tag v1\n"
    "git gc -q\n"
    "echo three >three\n"
    "git add .\n"
    "git commit -q -m Second\n"
    "cd ..\n"
    "git clone -q --no-local repo naive\n"
    "git -C naive config user.name Agent\n"
    "git -C naive config user.email agent@example.com\n";

/* After the worktree was made: what is not the attempt's own is open to the account. */
static const char open_script[] = "chmod -R a+rwX repo home attempts/1.1/tree attempts/1.2\n"
                                  "chmod 777 home\n"
                                  "chmod 777 attempts/1.1\n"
                                  "chmod 711 attempts run\n"
                                  "chmod 755 bases\n"
                                  "for pack in repo/.git/objects/pack/*.pack; do :; done\n"
                                  "ln -s \"../$pack\" run/pack\n";

bool escape_world_sh(const char *folder, const char *script, struct err *err)
{
    AUTO_STRV struct strv argv = STRV_INIT;
    AUTO_PROC_RESULT struct proc_result result = PROC_RESULT_INIT;
    const char *const words[] = {"/bin/sh", "-c", script};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        strv_push(&argv, words[i]);
    const struct proc_cmd cmd = {.argv = &argv, .cwd = folder, .timeout_ms = SCRIPT_TIMEOUT_MS};
    if (!proc_run(&result, &cmd, err))
        return false;
    buf_rtrim(&result.errout);
    return result.status == 0 ||
           err_set(err, ERR_FAILED, "the suite's own git failed: %s", result.errout.ptr);
}

static void set_folder(struct escape_scene *scene, char **ret, const char *name)
{
    *ret = fs_join(scene->dir, name);
    escape_scene_value(scene, name, *ret);
}

static void set_paths(struct escape_world *w, struct escape_scene *scene)
{
    set_folder(scene, &w->paths.home, "home");
    set_folder(scene, &w->paths.bases, "bases");
    set_folder(scene, &w->paths.attempts, "attempts");
    set_folder(scene, &w->paths.runtime, "run");
    set_folder(scene, &w->spec.repo, "repo");
    w->paths.state = xstrdup(scene->dir);
    w->paths.user_config = fs_join(scene->dir, "no-config");
    AUTO_FREE char *naive = fs_join(scene->dir, "naive");
    escape_scene_value(scene, "naive", naive);
    setenv("HOME", w->paths.home, 1);
    setenv("XDG_CONFIG_HOME", w->paths.user_config, 1);
    setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
    strv_env_set(&scene->env, "HOME", w->paths.home);
}

static bool describe(struct escape_world *w, const struct escape_scene *scene)
{
    struct attempt_spec *s = &w->spec;
    s->id = xstrdup("1.1");
    s->run = s->n = 1;
    s->subdir = xstrdup("");
    s->branch = xstrdup("headgate/1/1");
    s->base_ref = xstrdup("main");
    s->agent = xstrdup("command");
    s->prompt = xstrdup("");
    strv_push(&s->command, "true");
    strv_push_all(&s->env, strv_array(&scene->env));
    w->boxes = (struct boxes){.paths = &w->paths, .config = w->config, .spec = s, .tree = &w->tree};
    w->boxes.account = (struct account){scene->uid, scene->gid, scene->uid != geteuid()};
    return true;
}

static bool create(struct escape_world *w, struct err *err)
{
    AUTO_WT_SOURCE struct wt_source *source = wt_source_new(w->spec.repo);
    const struct wt_repo *repo;
    AUTO_WT_COMMIT struct wt_commit commit = WT_COMMIT_INIT;
    AUTO_FREE char *dir = fs_join(w->paths.attempts, w->spec.id);
    if (!wt_source_repo(&repo, source, err) || !wt_resolve(&commit, repo, NULL, err))
        return false;
    const struct account *account = &w->boxes.account;
    w->spec.base = xstrdup(commit.oid);
    const struct wt_create how = {
        .id = w->spec.id,
        .dir = dir,
        .bases_dir = w->paths.bases,
        .branch = w->spec.branch,
        .base_oid = commit.oid,
        .base_name = "main",
        .engine = WT_ENGINE_OVERLAY,
        .uid = account->is_other ? account->uid : (uid_t)-1,
        .gid = account->is_other ? account->gid : (gid_t)-1,
    };
    return wt_create(&w->tree, source, &how, err);
}

/* The private home is the account's, and the plain clone. */
static bool give_away(const struct escape_world *w, const struct escape_scene *scene,
                      struct err *err)
{
    AUTO_FREE char *home = fs_join(w->tree.dir, "home");
    const char *naive = strv_env_get(&scene->values, "naive");
    return !w->boxes.account.is_other ||
           (fs_chown_tree(AT_FDCWD, home, scene->uid, scene->gid, err) &&
            fs_chown_tree(AT_FDCWD, naive, scene->uid, scene->gid, err));
}

/* Nobody answers: a keeper would, or the server. */
static bool open_socket(int *ret_fd, const char *path, struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path))
        return err_set(err, ERR_LIMIT, "TMPDIR is too long for the path of a socket");
    memcpy(address.sun_path, path, strlen(path));
    *ret_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return (*ret_fd >= 0 && bind(*ret_fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
            chmod(path, 0666) == 0 && listen(*ret_fd, 16) == 0) ||
           err_sys(err, errno, "cannot make %s", path);
}

static bool open_sockets(struct escape_world *w, struct err *err)
{
    AUTO_FREE char *gate = paths_gate_socket(&w->paths, w->spec.id);
    AUTO_FREE char *control = fs_join(w->paths.runtime, "ctl");
    return open_socket(&w->gate_fd, gate, err) && open_socket(&w->control_fd, control, err);
}

/* The host's face of the worktree says where its entry in the repository is. Allocated. */
static char *find_entry(const struct wt_attempt *tree)
{
    static const char intro[] = "gitdir: ";
    struct err ignored = ERR_INIT;
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_FREE char *face = fs_join(tree->tree, ".git");
    if (!fs_read_file(&text, AT_FDCWD, face, 8192, &ignored) ||
        strncmp(text.ptr, intro, strlen(intro)) != 0)
        return xstrdup("/none");
    buf_rtrim(&text);
    return xstrdup(text.ptr + strlen(intro));
}

/* Names that only git and the attempt know. */
static void name_parts(const struct escape_world *w, struct escape_scene *scene)
{
    char target[4096];
    AUTO_FREE char *entry = find_entry(&w->tree);
    AUTO_FREE char *link = fs_join(w->paths.runtime, "pack");
    ssize_t len = readlink(link, target, sizeof(target) - 1);
    target[len > 0 ? len : 0] = '\0';
    AUTO_FREE char *pack = fs_join(scene->dir, len > 3 ? target + 3 : "");
    escape_scene_value(scene, "tree", w->tree.tree);
    escape_scene_value(scene, "gitdir", w->tree.gitdir);
    escape_scene_value(scene, "gitfile", w->tree.gitfile);
    escape_scene_value(scene, "entry", entry);
    escape_scene_value(scene, "pack", pack);
}

bool escape_world_make(struct escape_world *w, struct escape_scene *scene, struct err *err)
{
    set_paths(w, scene);
    if (!config_load(&w->config, &w->paths, err) || !describe(w, scene) ||
        !escape_world_sh(scene->dir, make_script, err) || !create(w, err) ||
        !escape_world_sh(scene->dir, open_script, err) || !give_away(w, scene, err) ||
        !open_sockets(w, err))
        return false;
    name_parts(w, scene);
    scene->world = w;
    return true;
}

void escape_world_release(struct escape_world *w)
{
    wt_attempt_release(&w->tree);
    attempt_spec_release(&w->spec);
    auto_config_(&w->config);
    auto_fd_(&w->gate_fd);
    auto_fd_(&w->control_fd);
    paths_done(&w->paths);
}

bool escape_world_box(struct escape_try *t, struct box_spec *spec, struct err *err)
{
    const struct escape_world *w = t->scene->world;
    struct box_spec agents;
    if (!boxes_agent(&agents, &w->boxes, err))
        return false;
    box_spec_release(spec);
    *spec = agents;
    strv_release(&spec->argv);
    spec->without = t->without;
    spec->move_notify = false; /* no keeper would answer */
    box_spec_bind(spec, t->scene->launcher, ESCAPE_INSIDE, 0);
    return true;
}
