#include "gate/hook/fatal.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "runner/base/mem.h"

enum { EXIT_BLOCK = 2 };

/* Signals that do not end a process by default (signal(7)); SIGKILL and SIGSTOP cannot be caught.
 */
static const int harmless[] = {SIGCHLD, SIGCONT, SIGURG,  SIGWINCH, SIGTSTP,
                               SIGTTIN, SIGTTOU, SIGKILL, SIGSTOP};

static void say(const char *text, size_t len)
{
    while (len > 0) {
        ssize_t n = write(STDERR_FILENO, text, len);
        if (n <= 0)
            return;
        text += n;
        len -= (size_t)n;
    }
}

/* Only what signal-safety(7) allows. */
static void on_signal(int number)
{
    static const char late[] = "headgate-hook: denied: the gate did not answer in time\n";
    static const char ended[] =
        "headgate-hook: denied: ended by a signal before the gate answered\n";
    if (number == SIGALRM)
        say(late, sizeof(late) - 1);
    else
        say(ended, sizeof(ended) - 1);
    _exit(EXIT_BLOCK);
}

static bool is_harmless(int number)
{
    for (size_t i = 0; i < ARRAY_LEN(harmless); i++)
        if (harmless[i] == number)
            return true;
    return false;
}

void fatal_init(void)
{
    /* A descriptor that is missing would be the next one opened: the socket as standard output. Its
     * stand-in is read-only, so that a denial that nobody can read is a failure and ends with 2. */
    int fd;
    do
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
    struct sigaction action = {.sa_handler = on_signal};
    sigfillset(&action.sa_mask);
    for (int number = 1; number < NSIG; number++)
        if (!is_harmless(number))
            sigaction(number, &action, NULL); /* fails for the two that libc keeps for itself */
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

void fatal_after(int64_t timeout_ms)
{
    struct itimerval timer = {
        .it_value = {.tv_sec = timeout_ms / 1000, .tv_usec = (timeout_ms % 1000) * 1000}};
    if (setitimer(ITIMER_REAL, &timer, NULL) != 0)
        on_signal(SIGALRM);
}

void fatal(const struct err *err)
{
    char line[sizeof(err->text) + 64];
    int len = snprintf(line, sizeof(line), "headgate-hook: denied: %s\n", err->text);
    say(line, (size_t)len);
    _exit(EXIT_BLOCK);
}
