#include "runner/cmd/canary.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include "runner/agents/checked.h"
#include "runner/base/clock.h"
#include "runner/base/fs.h"
#include "runner/base/jx.h"
#include "runner/base/mem.h"
#include "runner/base/proc.h"
#include "runner/cmd/canary_config.h"
#include "runner/cmd/stub_model.h"

enum { COMMAND_TIMEOUT_MS = 120 * 1000, CALL_TIMEOUT_MS = 90 * 1000, LOOK_EVERY_MS = 200 };

struct nest {
    char *folder;
    struct strv env;
    struct stub_model model;
    char *token, *command, *reason;
    char *attempt; /* NULL: not started */
};

/* A program of the nest to its end. ret may be NULL. */
static bool run(struct buf *ret, const struct nest *n, const char *cwd, const char *const *words,
                struct err *err)
{
    AUTO_STRV struct strv argv = STRV_INIT;
    AUTO_PROC_RESULT struct proc_result result = PROC_RESULT_INIT;
    for (size_t i = 0; words[i]; i++)
        strv_push(&argv, words[i]);
    const struct proc_cmd cmd = {
        .argv = &argv, .env = &n->env, .cwd = cwd, .timeout_ms = COMMAND_TIMEOUT_MS};
    if (!proc_run(&result, &cmd, err))
        return false;
    if (result.status != 0)
        return err_set(err, ERR_FAILED, "%s %s: %s", words[0], words[1],
                       result.errout.len ? result.errout.ptr : "failed");
    if (ret)
        buf_add(ret, result.out.ptr, result.out.len);
    return true;
}

/* A command of ours with --json. */
static bool ask(json_t **ret, const struct nest *n, const char *const *words, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_FREE char *repo = fs_join(n->folder, "repo");
    return run(&text, n, repo, words, err) && jx_parse(ret, text.ptr, text.len, err);
}

static bool make_folder(struct nest *n, struct err *err)
{
    unsigned char bytes[8];
    AUTO_BUF struct buf token = BUF_INIT;
    const char *tmp = getenv("TMPDIR");
    n->folder = xasprintf("%s/headgate-canary.XXXXXX", tmp && tmp[0] == '/' ? tmp : "/tmp");
    if (!mkdtemp(n->folder)) {
        free(n->folder);
        n->folder = NULL;
        return err_sys(err, errno, "cannot make a folder for the canary");
    }
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return err_set(err, ERR_SYS, "the kernel gives no random bytes");
    for (size_t i = 0; i < sizeof bytes; i++)
        buf_addf(&token, "%02x", bytes[i]);
    n->token = buf_steal(&token);
    n->command = xasprintf("echo x > canary-%s", n->token);
    n->reason = xasprintf("reason-%s", n->token);
    return true;
}

/* The person's environment with keys that open nothing, and every provider's server on our port. */
static void make_environment(struct nest *n)
{
    static const char *const keys[] = {"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"};
    AUTO_FREE char *plain = xasprintf("http://127.0.0.1:%d", n->model.port);
    AUTO_FREE char *versioned = xasprintf("%s/v1", plain);
    AUTO_FREE char *state = fs_join(n->folder, "state");
    AUTO_FREE char *config = fs_join(n->folder, "config");
    strv_push_all(&n->env, environ);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        strv_env_set(&n->env, keys[i], "canary-0000000000000000000000");
    strv_env_set(&n->env, "ANTHROPIC_BASE_URL", plain);
    strv_env_set(&n->env, "GOOGLE_GEMINI_BASE_URL", plain);
    strv_env_set(&n->env, "OPENAI_BASE_URL", versioned);
    strv_env_set(&n->env, "HEADGATE_STATE", state);
    strv_env_set(&n->env, "XDG_CONFIG_HOME", config);
}

static bool make_config(const struct nest *n, const struct agent *agent,
                        const struct config *config, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_FREE char *folder = fs_join(n->folder, "config/headgate");
    AUTO_FREE char *file = fs_join(folder, "config");
    canary_config(&text, agent, config);
    return fs_mkdirs(folder, 0700, err) &&
           fs_write_plain(AT_FDCWD, file, text.ptr, text.len, 0600, err);
}

static bool make_repository(const struct nest *n, struct err *err)
{
    AUTO_FREE char *repo = fs_join(n->folder, "repo");
    const char *const init[] = {"git", "init", "-q", repo, NULL};
    const char *const commit[] = {"git",
                                  "-c",
                                  "user.name=Headgate",
                                  "-c",
                                  "user.email=headgate@localhost",
                                  "-C",
                                  repo,
                                  "commit",
                                  "-q",
                                  "--no-verify",
                                  "--no-gpg-sign",
                                  "--allow-empty",
                                  "-m",
                                  "canary",
                                  NULL};
    return run(NULL, n, n->folder, init, err) && run(NULL, n, n->folder, commit, err);
}

static bool start(struct nest *n, const char *self, const char *agent, struct err *err)
{
    AUTO_JSON json_t *created = NULL;
    AUTO_FREE char *port = xasprintf("%d", n->model.port);
    const char *const words[] = {self,      "run",       "--json",    "--detach", "--no-canary",
                                 "--agent", agent,       "--service", port,       "--ladder",
                                 "confirm", "Say hello", NULL};
    if (!ask(&created, n, words, err))
        return false;
    n->attempt = xstrdup(jx_str(json_array_get(jx_arr(created, "attempts"), 0), "id", ""));
    return n->attempt[0] || err_set(err, ERR_INTERNAL, "the canary's run has no attempt");
}

/* The id of the canary's call once it waits, NULL: it does not yet. */
static char *waiting_call(const struct nest *n, const json_t *list)
{
    size_t i;
    const json_t *call;
    json_array_foreach(jx_arr(list, "calls"), i, call)
    {
        AUTO_BUF struct buf args = BUF_INIT;
        const json_t *value = json_object_get(call, "args");
        if (!value || strcmp(jx_str(call, "state", ""), "pending") != 0)
            continue;
        jx_dump(&args, value);
        if (strstr(args.ptr, n->token))
            return xstrdup(jx_str(call, "id", ""));
    }
    return NULL;
}

static bool is_over(const struct nest *n, const char *self)
{
    const char *const words[] = {self, "ls", "--json", NULL};
    AUTO_JSON json_t *list = NULL;
    struct err err = ERR_INIT;
    return ask(&list, n, words, &err) &&
           strcmp(jx_str(json_array_get(jx_arr(list, "attempts"), 0), "state", ""), "done") == 0;
}

static bool deny(struct nest *n, const char *self, struct err *err)
{
    const char *const list[] = {self, "gate", "ls", "--json", NULL};
    int64_t until_ms = clock_mono_ms() + CALL_TIMEOUT_MS;
    AUTO_FREE char *call = NULL;
    while (!call) {
        AUTO_JSON json_t *calls = NULL;
        if (!ask(&calls, n, list, err))
            return false;
        call = waiting_call(n, calls);
        if (!call && is_over(n, self))
            return err_set(err, ERR_FAILED, "it ended, and its call did not come to the gate");
        if (!call && clock_mono_ms() > until_ms)
            return err_set(err, ERR_FAILED,
                           "its call did not come to the gate within %d seconds, which may be no "
                           "more than a machine with too much to do",
                           CALL_TIMEOUT_MS / 1000);
        if (!call)
            poll(NULL, 0, LOOK_EVERY_MS);
    }
    const char *const words[] = {self, "gate", "deny", call, "--reason", n->reason, NULL};
    return run(NULL, n, n->folder, words, err);
}

static bool hear(const struct nest *n, struct err *err)
{
    struct pollfd fd = {.fd = n->model.news_fd, .events = POLLIN};
    char news = 0;
    if (poll(&fd, 1, CALL_TIMEOUT_MS) != 1 || read(fd.fd, &news, 1) != 1)
        return err_set(err, ERR_FAILED, "it did not go on after its call was denied");
    return news == 'D' ||
           err_set(err, ERR_FAILED, "the words of the denial did not reach the model");
}

/* Nothing of the call is in what it leaves. */
static bool stop_and_look(struct nest *n, const char *self, struct err *err)
{
    const char *const stop[] = {self, "stop", n->attempt, NULL};
    const char *const show[] = {self, "show", "--json", n->attempt, NULL};
    AUTO_JSON json_t *shown = NULL;
    if (!run(NULL, n, n->folder, stop, err) || !ask(&shown, n, show, err))
        return false;
    return jx_int(json_array_get(jx_arr(shown, "attempts"), 0), "files", -1) == 0 ||
           err_set(err, ERR_FAILED, "its call ran although it was denied");
}

static void clear(struct nest *n, const char *self)
{
    struct err ignored = ERR_INIT;
    const char *const all[] = {self, "stop", "--all", NULL};
    const char *const serve[] = {self, "serve", "--stop", NULL};
    bool ok = !n->folder ||
              (run(NULL, n, n->folder, all, &ignored) && run(NULL, n, n->folder, serve, &ignored));
    stub_model_stop(&n->model);
    ok = ok && (!n->folder || fs_remove_tree(AT_FDCWD, n->folder, &ignored));
    (void)ok; /* what is left is in the folder for temporary files */
    free(n->folder);
    free(n->token);
    free(n->command);
    free(n->reason);
    free(n->attempt);
    strv_release(&n->env);
}

bool canary(const struct agent *agent, const struct config *config, struct err *err)
{
    struct nest n = {.env = STRV_INIT};
    AUTO_FREE char *self = fs_realpath("/proc/self/exe", err);
    if (!self)
        return false;
    bool ok = make_folder(&n, err) && stub_model_start(&n.model, n.command, n.reason, err);
    if (ok)
        make_environment(&n);
    ok = ok && make_config(&n, agent, config, err) && make_repository(&n, err) &&
         start(&n, self, agent->name, err) && deny(&n, self, err) && hear(&n, err) &&
         stop_and_look(&n, self, err);
    clear(&n, self);
    return ok;
}

/* ---- once ---- */

/* Of all who would make the same canary one does, and the others wait for it. */
static int lock_checked(const struct paths *paths, const struct agent *agent, struct err *err)
{
    AUTO_FREE char *folder = fs_join(paths->state, "checked");
    AUTO_FREE char *file = xasprintf("%s/%s.lock", folder, agent->name);
    if (!fs_mkdirs(folder, 0700, err))
        return -1;
    AUTO_FD int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    while (fd >= 0 && flock(fd, LOCK_EX) != 0)
        if (errno != EINTR)
            return err_sys(err, errno, "cannot lock %s", file), -1;
    if (fd < 0)
        return err_sys(err, errno, "cannot open %s", file), -1;
    return steal_fd(&fd);
}

bool canary_once(const struct agent *agent, const struct paths *paths, const struct config *config,
                 struct err *err)
{
    AUTO_STRV struct strv env = STRV_INIT;
    strv_push_all(&env, environ);
    AUTO_FREE char *program = agent_program_path(agent, &env);
    if (!program || !agent_is_checkable(agent) ||
        agent_checked(paths->state, agent, program, config))
        return true;
    AUTO_FD int lock = lock_checked(paths, agent, err);
    if (lock < 0)
        return false;
    if (agent_checked_content(paths->state, agent, program, config))
        return true;
    fprintf(stderr,
            "headgate: the canary of %s, once for this program and these settings: a call that is "
            "denied must not run\n",
            agent->name);
    if (!canary(agent, config, err))
        return err_prefix(err,
                          "nothing was started: the canary of %s ('headgate agent check --canary "
                          "%s' tries again, "
                          "--no-canary starts it all the same)",
                          agent->name, agent->name);
    return agent_checked_write(paths->state, agent, program, config, err);
}
