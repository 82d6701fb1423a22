#include "sandbox/launch/job.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "runner/base/mem.h"
#include "sandbox/wire.h"

enum exec_step { EXEC_CWD, EXEC_TERMINAL, EXEC_PROGRAM };

/* What the child says when it could not become the program. */
struct exec_failure {
    int32_t step;
    int32_t why;
};

/* The vectors of a program; they point into the plan. */
struct program {
    const char **argv, **env;
    const char *cwd;
};

static void program_release(struct program *p)
{
    free(p->argv);
    free(p->env);
}

static size_t count(const struct plan *plan, enum plan_kind kind)
{
    size_t n = 0;
    const struct plan_step *step = NULL;
    while ((step = plan_next(plan, step)))
        n += step->kind == kind;
    return n;
}

static const char **collect(const struct plan *plan, enum plan_kind kind)
{
    const char **all = xcalloc(count(plan, kind) + 1, sizeof(*all));
    const struct plan_step *step = NULL;
    for (size_t n = 0; (step = plan_next(plan, step));)
        if (step->kind == kind)
            all[n++] = plan_text(step, 0);
    return all;
}

static bool names_variable(const struct job_source *source, const char *variable)
{
    size_t name_len = strcspn(variable, "=");
    const struct plan_step *step = NULL;
    while ((step = plan_next(source->plan, step)))
        if (step->kind == source->env && strncmp(plan_text(step, 0), variable, name_len) == 0 &&
            plan_text(step, 0)[name_len] == '=')
            return true;
    return false;
}

/* The source's own variables, then those of its base that it does not name itself. */
static const char **collect_env(const struct job_source *source)
{
    size_t n = count(source->plan, source->env);
    const char **all = collect(source->plan, source->env);
    if (!source->base)
        return all;
    all = xreallocarray(all, n + count(source->base, PLAN_ENV) + 1, sizeof(*all));
    const struct plan_step *step = NULL;
    while ((step = plan_next(source->base, step)))
        if (step->kind == PLAN_ENV && !names_variable(source, plan_text(step, 0)))
            all[n++] = plan_text(step, 0);
    all[n] = NULL;
    return all;
}

static const char *search_path(const struct program *p)
{
    for (const char **e = p->env; *e; e++)
        if (strncmp(*e, "PATH=", 5) == 0)
            return *e + 5;
    return "/usr/local/bin:/usr/bin:/bin";
}

/* execvp(3) with the PATH of the program's own environment. Returns an errno only when it failed.
 */
static int exec_program(const struct program *p)
{
    char *const *argv = (char *const *)(uintptr_t)p->argv;
    char *const *env = (char *const *)(uintptr_t)p->env;
    const char *name = p->argv[0];
    if (strchr(name, '/')) {
        execve(name, argv, env);
        return errno;
    }
    int why = ENOENT;
    for (const char *at = search_path(p), *end; *name; at = end + 1) {
        char file[PATH_MAX];
        end = strchrnul(at, ':');
        int len =
            snprintf(file, sizeof(file), "%.*s/%s", (int)(end - at), end > at ? at : ".", name);
        if (len > 0 && (size_t)len < sizeof(file)) {
            execve(file, argv, env);
            if (errno != ENOENT && errno != ENOTDIR)
                why = errno;
            if (why != ENOENT && why != EACCES)
                return why;
        }
        if (!*end)
            break;
    }
    return why;
}

static _Noreturn void fail(int fd, enum exec_step step, int why)
{
    struct exec_failure failure = {.step = step, .why = why};
    ssize_t ignored = write(fd, &failure, sizeof(failure));
    (void)ignored;
    _exit(127);
}

/* The report takes the place of pid 1's control socket, which must not be reachable from inside. */
static int drop_control(int report_fd)
{
    if (dup3(report_fd, WIRE_CTL_FD, O_CLOEXEC) < 0)
        _exit(127);
    return WIRE_CTL_FD;
}

/* In the child: every layer is inherited already; only session, streams and signals are its own. */
static _Noreturn void become(const struct program *p, bool is_deaf, int tty_fd, int report_fd)
{
    sigset_t none;
    setsid();
    if (tty_fd < 0 && is_deaf) {
        int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (null < 0 || dup2(null, STDIN_FILENO) < 0)
            fail(report_fd, EXEC_TERMINAL, errno);
    }
    if (tty_fd >= 0) {
        if (ioctl(tty_fd, TIOCSCTTY, 0) != 0)
            fail(report_fd, EXEC_TERMINAL, errno);
        for (int fd = 0; fd <= 2; fd++)
            if (dup2(tty_fd, fd) < 0)
                fail(report_fd, EXEC_TERMINAL, errno);
    }
    if (chdir(p->cwd) != 0)
        fail(report_fd, EXEC_CWD, errno);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    /* As it will be after the exec, so that whoever answers for the exec can read what is asked.
     * Others in the box may reach its memory now: nothing in it is more than they have. */
    report_fd = drop_control(report_fd);
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    fail(report_fd, EXEC_PROGRAM, exec_program(p));
}

bool job_start(struct job *ret, int id, const struct job_source *source, int tty_fd,
               struct err *err)
{
    const struct plan_step *cwd = plan_find(source->plan, PLAN_CWD);
    if (!plan_find(source->plan, source->argv) || !cwd)
        return err_set(err, ERR_FORMAT, "there is no program to run");
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_sys(err, errno, "cannot create a pipe");
    __attribute__((cleanup(program_release))) struct program program = {
        .argv = collect(source->plan, source->argv),
        .env = collect_env(source),
        .cwd = plan_text(cwd, 0),
    };
    pid_t pid = fork();
    if (pid == 0)
        become(&program, source->base != NULL, tty_fd, ends[1]);
    int why = errno;
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return err_sys(err, why, "cannot start %s", program.argv[0]);
    }
    *ret = (struct job){.id = id, .pid = pid, .exec_fd = ends[0]};
    return true;
}

static bool explain_program(const char *program, int why, struct err *err)
{
    switch (why) {
    case ENOENT:
    case ENOTDIR:
        return err_set(err, ERR_NOT_FOUND,
                       "the program %s, or the interpreter that it names, is not there in the box; "
                       "install it below /usr, or show its folder (--ro FOLDER)",
                       program);
    case EACCES:
    case ENOEXEC:
    case EISDIR:
    case ELOOP:
        err_sys(err, why, "cannot run %s in the box", program);
        err->code = ERR_REFUSED;
        return false;
    default:
        return err_sys(err, why, "cannot run %s in the box", program);
    }
}

bool job_outcome(struct job *job, const char *program, struct err *err)
{
    struct exec_failure failure;
    ssize_t got;
    do
        got = read(job->exec_fd, &failure, sizeof(failure));
    while (got < 0 && errno == EINTR);
    close(job->exec_fd);
    job->exec_fd = -1;
    if (got != (ssize_t)sizeof(failure))
        return true;
    switch ((enum exec_step)failure.step) {
    case EXEC_CWD:
        if (failure.why == ENOENT)
            return err_set(
                err, ERR_SYS,
                "the folder in which %s is to start is not there: it is the one where the "
                "command was typed, so commit something in it, or type it in another",
                program);
        return err_sys(err, failure.why, "cannot enter the working folder of %s", program);
    case EXEC_TERMINAL:
        return err_sys(err, failure.why, "cannot give %s its terminal", program);
    case EXEC_PROGRAM:
        break;
    }
    return explain_program(program, failure.why, err);
}

int job_failed_code(const struct err *err)
{
    if (err->code == ERR_NOT_FOUND)
        return 127;
    return err->code == ERR_REFUSED ? 126 : 125;
}
