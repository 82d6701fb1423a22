#include "sandbox/launch/launch.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/base/mem.h"
#include "sandbox/launch/probe.h"

/*
 * `headgate-box --probe ATTEMPT[:ARGUMENT]...`: try things from inside a box and print for each
 * what came of it, one line an attempt: "ok", the name of the errno, the name of the signal that
 * ended it, or a value. Used by `headgate doctor` and the tests; each attempt is also run with the
 * layer off, where it must come out otherwise.
 */

static const struct probe_attempt *find(const char *name, size_t len)
{
    static const struct probe_attempt *const tables[] = {
        probe_views, probe_calls, probe_spaces, probe_escape_calls,
        probe_ipc,   probe_life,  probe_net};
    for (size_t t = 0; t < ARRAY_LEN(tables); t++)
        for (const struct probe_attempt *a = tables[t]; a->name; a++)
            if (strlen(a->name) == len && memcmp(a->name, name, len) == 0)
                return a;
    return NULL;
}

static void print_outcome(int status)
{
    if (WIFSIGNALED(status))
        printf("SIG%s\n", sys_signal_name(WTERMSIG(status)));
    else if (WEXITSTATUS(status) == PROBE_PRINTED)
        return;
    else if (WEXITSTATUS(status) == 0)
        puts("ok");
    else
        puts(sys_errno_name(WEXITSTATUS(status)));
}

/* In a child: an attempt may end the process, or change it. The exit code is the errno. */
static bool attempt(const char *word)
{
    size_t len = strcspn(word, ":");
    const struct probe_attempt *a = find(word, len);
    int status;
    if (!a)
        return false;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        int code = a->run(word[len] ? word + len + 1 : "");
        fflush(stdout);
        _exit(code);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return false;
    print_outcome(status);
    return true;
}

/* "as:UID:GID": what follows is tried as this account, where root says so. */
static bool become(const char *word)
{
    unsigned uid, gid;
    if (sscanf(word, "as:%u:%u", &uid, &gid) != 2)
        return false;
    if (geteuid() == 0 &&
        (setgroups(0, NULL) != 0 || setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0))
        return false;
    /* As after an exec: its /proc files are its own. */
    return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0;
}

int probe_main(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (!become(argv[i]) && !attempt(argv[i])) {
            fprintf(stderr, "headgate-box: cannot try %s\n", argv[i]);
            return 2;
        }
    return fflush(stdout) == 0 ? 0 : 1;
}
