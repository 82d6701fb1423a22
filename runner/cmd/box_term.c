#include "runner/cmd/box_term.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include "runner/base/mem.h"

static struct termios saved;
static volatile sig_atomic_t is_raw;

/* tcsetattr(3) is safe in a handler (signal-safety(7)). */
void box_term_restore(void)
{
    if (is_raw)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &saved);
    is_raw = 0;
}

static void restore_and_die(int signal_number)
{
    box_term_restore();
    raise(signal_number); /* the handler was for once, so this kills */
}

bool box_term_raw(struct err *err)
{
    static const int deadly[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    if (tcgetattr(STDIN_FILENO, &saved) != 0)
        return err_sys(err, errno, "cannot read the settings of the terminal");
    struct termios raw = saved;
    cfmakeraw(&raw);
    for (size_t i = 0; i < ARRAY_LEN(deadly); i++) {
        const struct sigaction action = {.sa_handler = restore_and_die,
                                         .sa_flags = (int)SA_RESETHAND};
        sigaction(deadly[i], &action, NULL);
    }
    atexit(box_term_restore);
    is_raw = 1;
    if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) != 0)
        return err_sys(err, errno, "cannot set the terminal");
    return true;
}
