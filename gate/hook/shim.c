#include "gate/hook/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gate/broker.h"
#include "gate/hook/exchange.h"
#include "gate/hook/shim_git.h"
#include "gate/hook/shim_status.h"
#include "runner/base/b64.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"

enum { EXIT_REFUSED = 1, EXIT_NOT_YET = 75, EXIT_NO_PROGRAM = 127, BODY_BYTES = 64 * 1024 };

static const char *base_name(const char *program)
{
    const char *slash = strrchr(program, '/');
    return slash ? slash + 1 : program;
}

bool shim_is_called(const char *program)
{
    const char *name = base_name(program);
    return strcmp(name, "git") == 0 || strcmp(name, "gh") == 0 || strcmp(name, "glab") == 0;
}

char *shim_real(const char *name)
{
    struct stat own, st;
    AUTO_STRV struct strv dirs = STRV_INIT;
    const char *path = getenv("PATH");
    bool knows_own = stat("/proc/self/exe", &own) == 0;
    strv_split(&dirs, path ? path : "/usr/bin:/bin", ':', false);
    for (size_t i = 0; i < dirs.n; i++) {
        AUTO_FREE char *candidate = fs_join(dirs.v[i], name);
        if (stat(candidate, &st) != 0 || !S_ISREG(st.st_mode) || access(candidate, X_OK) != 0 ||
            (knows_own && st.st_ino == own.st_ino && st.st_dev == own.st_dev))
            continue;
        return steal_ptr(&candidate);
    }
    return NULL;
}

static int run_real(const char *name, char **argv)
{
    AUTO_FREE char *real = shim_real(name);
    if (real)
        execv(real, argv);
    fprintf(stderr, real ? "%s: cannot be started: %s\n" : "%s: command not found\n", name,
            strerror(errno));
    return EXIT_NO_PROGRAM;
}

static int fail(const char *name, const struct err *err)
{
    fprintf(stderr, "%s: %s\n", name, err->text);
    return EXIT_REFUSED;
}

/* ---- what the box adds to gh and glab ---- */

/* --body-file FILE, -F FILE: the text itself is what a person is shown. */
static bool inline_body(struct strv *words, struct err *err)
{
    AUTO_STRV struct strv out = STRV_INIT;
    for (size_t i = 0; i < words->n; i++) {
        const char *word = words->v[i];
        bool is_apart =
            (strcmp(word, "--body-file") == 0 || strcmp(word, "-F") == 0) && i + 1 < words->n;
        bool is_joined = strncmp(word, "--body-file=", 12) == 0;
        if (!is_apart && !is_joined) {
            strv_push(&out, word);
            continue;
        }
        const char *file = is_apart ? words->v[++i] : word + 12;
        AUTO_BUF struct buf text = BUF_INIT;
        bool is_stdin = strcmp(file, "-") == 0;
        if (!(is_stdin ? fs_read_fd(&text, STDIN_FILENO, BODY_BYTES, err)
                       : fs_read_file(&text, AT_FDCWD, file, BODY_BYTES, err)))
            return false;
        strv_pushf(&out, "--body=%s", text.ptr);
    }
    strv_release(words);
    *words = out;
    out = (struct strv)STRV_INIT;
    return true;
}

static bool has_option(const struct strv *words, const char *name, char letter)
{
    size_t len = strlen(name);
    for (size_t i = 1; i < words->n; i++)
        if ((strncmp(words->v[i], name, len) == 0 &&
             (!words->v[i][len] || words->v[i][len] == '=')) ||
            (words->v[i][0] == '-' && words->v[i][1] == letter && letter))
            return true;
    return false;
}

/* What these programs would find in the worktree: the branch that a pull request is about. */
static bool add_branch(struct strv *words, struct err *err)
{
    struct broker_act act = BROKER_ACT_INIT;
    struct err ignored = ERR_INIT;
    if (!broker_read(&act, words->v, words->n, &ignored))
        return true; /* refused by the gate, which keeps a record */
    bool is_pull = strncmp(act.words, "pr ", 3) == 0 || strncmp(act.words, "mr ", 3) == 0;
    bool is_list = strcmp(act.words + 3, "list") == 0;
    bool is_create = strcmp(act.words + 3, "create") == 0;
    bool is_gh = strcmp(act.program, "gh") == 0;
    bool is_told = is_create ? (is_gh ? has_option(words, "--head", 'H')
                                      : has_option(words, "--source-branch", 's'))
                             : act.operands.n > 0;
    broker_act_release(&act);
    if (!is_pull || is_list || is_told)
        return true;
    AUTO_FREE char *branch = shim_git_public_branch(err);
    if (!branch)
        return false;
    if (is_create)
        strv_pushf(words, is_gh ? "--head=%s" : "--source-branch=%s", branch);
    else
        strv_push(words, branch);
    return true;
}

/* ---- the request ---- */

static json_t *request_of(const struct strv *words, const struct shim_push *push)
{
    AUTO_FREE char *cwd = getcwd(NULL, 0);
    json_t *request = json_object(), *args = json_object();
    jx_set(args, "argv", jx_from_strv(words));
    if (push->commit) {
        jx_set_str(args, "commit", push->commit);
        jx_set_str(args, "branch", push->branch ? push->branch : "");
    }
    jx_set_int(request, "v", 1);
    jx_set_str(request, "source", "broker");
    jx_set_str(request, "agent", "box"); /* who asks is known by the socket */
    jx_set_str(request, "tool", words->v[0]);
    jx_set(request, "args", args);
    jx_set_str(request, "cwd", cwd ? cwd : "");
    return request;
}

static bool print_part(int fd, const json_t *message, const char *key, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    const char *part = jx_str(message, key, "");
    return b64_decode(&text, part, strlen(part), err) && fs_write_fd(fd, text.ptr, text.len, err);
}

static int refused(const char *name, const struct exchange_answer *answer)
{
    const char *reason = json_string_value(answer->reason);
    const char *why = jx_str(answer->message, "why", "");
    bool is_person = strcmp(why, "person") == 0 || strcmp(why, "repeat") == 0;
    fprintf(stderr, "%s: %s%s%s%s%s\n", name,
            is_person                      ? "a person denied this"
            : strcmp(why, "broker") == 0   ? "not done"
            : strcmp(why, "deadline") == 0 ? "nobody has decided"
                                           : "denied",
            answer->call[0] ? " (" : "", answer->call, answer->call[0] ? ")" : "",
            reason && reason[0] ? ": " : "");
    if (reason && reason[0])
        fprintf(stderr, "%s\n", reason);
    return EXIT_REFUSED;
}

static int carried_out(const struct broker_act *act, const struct shim_push *push, char **argv,
                       const json_t *message)
{
    struct err err = ERR_INIT;
    int status = (int)jx_int(message, "status", EXIT_REFUSED);
    if (!print_part(STDOUT_FILENO, message, "out", &err) ||
        !print_part(STDERR_FILENO, message, "err", &err))
        return fail(act->program, &err);
    if (status == 0 && act->kind == BROKER_PUSH && !act->is_dry &&
        !shim_git_pushed(act, push, message, &err))
        return fail(act->program, &err);
    if (status == 0 && act->kind == BROKER_FETCH) {
        AUTO_FREE char *real = shim_real("git");
        return real ? shim_git_take(real, act, argv, message) : EXIT_NO_PROGRAM;
    }
    return status;
}

/* Agents end a command after a minute or two, and then tell the model nothing. Only what
 * signal-safety(7) allows. */
static void on_patience(int number)
{
    static const char text[] = "not done yet: a person has to decide. Go on with something else: "
                               "as long as you run, it is carried "
                               "out once it is approved, also when nobody waits for it. Type the "
                               "same again later to see what came "
                               "of it\n";
    (void)number;
    ssize_t written = write(STDERR_FILENO, text, sizeof(text) - 1);
    (void)written;
    _exit(EXIT_NOT_YET);
}

static void be_patient(void)
{
    const char *seconds = getenv("HEADGATE_PATIENCE");
    signal(SIGALRM, on_patience);
    signal(SIGTERM, on_patience);
    if (seconds)
        alarm((unsigned)strtoul(seconds, NULL, 10));
}

static int ask(const struct strv *words, char **argv, const char *gate)
{
    struct err err = ERR_INIT;
    struct exchange_answer answer;
    AUTO_SHIM_PUSH struct shim_push push = SHIM_PUSH_INIT;
    AUTO_BROKER_ACT struct broker_act act = BROKER_ACT_INIT;
    struct err unread = ERR_INIT;
    /* What cannot be read is asked all the same: the gate refuses it, and keeps a record. */
    bool is_read = broker_read(&act, words->v, words->n, &unread);
    if (is_read && act.kind == BROKER_PUSH && !shim_git_describe(&push, &act, &err))
        return fail(words->v[0], &err);
    AUTO_JSON json_t *request = request_of(words, &push);
    be_patient();
    if (!exchange(&answer, gate, request, &err))
        return fail(words->v[0], &err);
    alarm(0);
    signal(SIGALRM, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    int status = answer.allow && is_read ? carried_out(&act, &push, argv, answer.message)
                                         : refused(words->v[0], &answer);
    json_decref(answer.reason);
    json_decref(answer.message);
    free(answer.call);
    return status;
}

/* The tool call that led here passed because the broker asks. What the broker does not carry out is
 * asked as that call would be where there is none: a push publishes all the same, with what the box
 * may have, and the configuration of another repository names programs that a fetch runs. */
static int run_other(const struct strv *words, char **argv, const char *gate)
{
    struct err err = ERR_INIT;
    struct exchange_answer answer;
    AUTO_JSON json_t *request = json_object();
    json_t *args = json_object();
    AUTO_FREE char *cwd = getcwd(NULL, 0);
    jx_set(args, "command", jx_from_strv(words));
    jx_set_int(request, "v", 1);
    jx_set_str(request, "source", "shim");
    jx_set_str(request, "agent", "box");
    jx_set_str(request, "tool", "shell");
    jx_set(request, "args", args);
    jx_set_str(request, "cwd", cwd ? cwd : "");
    if (!exchange(&answer, gate, request, &err))
        return fail(words->v[0], &err);
    int status = answer.allow ? 0 : refused(words->v[0], &answer);
    bool may_run = answer.allow;
    json_decref(answer.reason);
    json_decref(answer.message);
    free(answer.call);
    return may_run ? run_real(words->v[0], argv) : status;
}

int shim_main(char **argv)
{
    const char *name = base_name(argv[0]);
    const char *gate = getenv("HEADGATE_GATE");
    AUTO_STRV struct strv words = STRV_INIT;
    struct err err = ERR_INIT;
    strv_push(&words, name);
    strv_push_all(&words, argv + 1);
    if (!gate || !gate[0] || !broker_is_for(words.v, words.n)) {
        if (strcmp(name, "git") == 0)
            shim_status_prepare(argv);
        return run_real(name, argv);
    }
    if (strcmp(name, "git") == 0 && !shim_git_is_ours(&words))
        return run_other(&words, argv, gate);
    if (strcmp(name, "git") != 0 && (!inline_body(&words, &err) || !add_branch(&words, &err)))
        return fail(name, &err);
    return ask(&words, argv, gate);
}
