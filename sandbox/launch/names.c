#include "sandbox/launch/sys.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>

#include "runner/base/mem.h"

#define NAMED(number)   \
    {                   \
        number, #number \
    }

static const struct name {
    int number;
    const char *name;
} errors[] = {
    NAMED(E2BIG),           NAMED(EACCES),       NAMED(EADDRINUSE),
    NAMED(EADDRNOTAVAIL),   NAMED(EAFNOSUPPORT), NAMED(EAGAIN),
    NAMED(EALREADY),        NAMED(EBADF),        NAMED(EBUSY),
    NAMED(ECHILD),          NAMED(ECONNABORTED), NAMED(ECONNREFUSED),
    NAMED(ECONNRESET),      NAMED(EDOM),         NAMED(EDQUOT),
    NAMED(EEXIST),          NAMED(EFAULT),       NAMED(EFBIG),
    NAMED(EHOSTUNREACH),    NAMED(EINPROGRESS),  NAMED(EINTR),
    NAMED(EINVAL),          NAMED(EIO),          NAMED(EISCONN),
    NAMED(EISDIR),          NAMED(ELOOP),        NAMED(EMFILE),
    NAMED(EMLINK),          NAMED(EMSGSIZE),     NAMED(ENAMETOOLONG),
    NAMED(ENETDOWN),        NAMED(ENETUNREACH),  NAMED(ENFILE),
    NAMED(ENODATA),         NAMED(ENODEV),       NAMED(ENOENT),
    NAMED(ENOEXEC),         NAMED(ENOKEY),       NAMED(ENOMEM),
    NAMED(ENOPROTOOPT),     NAMED(ENOSPC),       NAMED(ENOSYS),
    NAMED(ENOTCONN),        NAMED(ENOTDIR),      NAMED(ENOTEMPTY),
    NAMED(ENOTSOCK),        NAMED(ENOTTY),       NAMED(ENXIO),
    NAMED(EOPNOTSUPP),      NAMED(EOVERFLOW),    NAMED(EPERM),
    NAMED(EPIPE),           NAMED(EPROTO),       NAMED(EPROTONOSUPPORT),
    NAMED(EPROTOTYPE),      NAMED(ERANGE),       NAMED(EROFS),
    NAMED(ESOCKTNOSUPPORT), NAMED(ESPIPE),       NAMED(ESRCH),
    NAMED(ESTALE),          NAMED(ETIMEDOUT),    NAMED(ETXTBSY),
    NAMED(EUSERS),          NAMED(EXDEV),
};

#define SIGNAL(name)     \
    {                    \
        SIG##name, #name \
    }

static const struct name signals[] = {
    SIGNAL(ABRT), SIGNAL(ALRM), SIGNAL(BUS),    SIGNAL(CHLD),  SIGNAL(CONT), SIGNAL(FPE),
    SIGNAL(HUP),  SIGNAL(ILL),  SIGNAL(INT),    SIGNAL(IO),    SIGNAL(KILL), SIGNAL(PIPE),
    SIGNAL(PROF), SIGNAL(PWR),  SIGNAL(QUIT),   SIGNAL(SEGV),  SIGNAL(STOP), SIGNAL(SYS),
    SIGNAL(TERM), SIGNAL(TRAP), SIGNAL(TSTP),   SIGNAL(TTIN),  SIGNAL(TTOU), SIGNAL(URG),
    SIGNAL(USR1), SIGNAL(USR2), SIGNAL(VTALRM), SIGNAL(WINCH), SIGNAL(XCPU), SIGNAL(XFSZ),
};

static const char *find(const struct name *all, size_t n, int number)
{
    for (size_t i = 0; i < n; i++)
        if (all[i].number == number)
            return all[i].name;
    return "?";
}

const char *sys_errno_name(int errnum)
{
    return find(errors, ARRAY_LEN(errors), errnum);
}

const char *sys_signal_name(int signal_number)
{
    return find(signals, ARRAY_LEN(signals), signal_number);
}
