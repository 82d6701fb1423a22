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
    NAMED(E2BIG),
    NAMED(EACCES),
    NAMED(EADDRINUSE),
    NAMED(EADDRNOTAVAIL),
    NAMED(EADV),
    NAMED(EAFNOSUPPORT),
    NAMED(EAGAIN),
    NAMED(EALREADY),
    NAMED(EBADE),
    NAMED(EBADF),
    NAMED(EBADFD),
    NAMED(EBADMSG),
    NAMED(EBADR),
    NAMED(EBADRQC),
    NAMED(EBADSLT),
    NAMED(EBFONT),
    NAMED(EBUSY),
    NAMED(ECANCELED),
    NAMED(ECHILD),
    NAMED(ECHRNG),
    NAMED(ECOMM),
    NAMED(ECONNABORTED),
    NAMED(ECONNREFUSED),
    NAMED(ECONNRESET),
    NAMED(EDEADLK),
    NAMED(EDESTADDRREQ),
    NAMED(EDOM),
    NAMED(EDOTDOT),
    NAMED(EDQUOT),
    NAMED(EEXIST),
    NAMED(EFAULT),
    NAMED(EFBIG),
    NAMED(EHOSTDOWN),
    NAMED(EHOSTUNREACH),
    NAMED(EHWPOISON),
    NAMED(EIDRM),
    NAMED(EILSEQ),
    NAMED(EINPROGRESS),
    NAMED(EINTR),
    NAMED(EINVAL),
    NAMED(EIO),
    NAMED(EISCONN),
    NAMED(EISDIR),
    NAMED(EISNAM),
    NAMED(EKEYEXPIRED),
    NAMED(EKEYREJECTED),
    NAMED(EKEYREVOKED),
    NAMED(EL2HLT),
    NAMED(EL2NSYNC),
    NAMED(EL3HLT),
    NAMED(EL3RST),
    NAMED(ELIBACC),
    NAMED(ELIBBAD),
    NAMED(ELIBEXEC),
    NAMED(ELIBMAX),
    NAMED(ELIBSCN),
    NAMED(ELNRNG),
    NAMED(ELOOP),
    NAMED(EMEDIUMTYPE),
    NAMED(EMFILE),
    NAMED(EMLINK),
    NAMED(EMSGSIZE),
    NAMED(EMULTIHOP),
    NAMED(ENAMETOOLONG),
    NAMED(ENAVAIL),
    NAMED(ENETDOWN),
    NAMED(ENETRESET),
    NAMED(ENETUNREACH),
    NAMED(ENFILE),
    NAMED(ENOANO),
    NAMED(ENOBUFS),
    NAMED(ENOCSI),
    NAMED(ENODATA),
    NAMED(ENODEV),
    NAMED(ENOENT),
    NAMED(ENOEXEC),
    NAMED(ENOKEY),
    NAMED(ENOLCK),
    NAMED(ENOLINK),
    NAMED(ENOMEDIUM),
    NAMED(ENOMEM),
    NAMED(ENOMSG),
    NAMED(ENONET),
    NAMED(ENOPKG),
    NAMED(ENOPROTOOPT),
    NAMED(ENOSPC),
    NAMED(ENOSR),
    NAMED(ENOSTR),
    NAMED(ENOSYS),
    NAMED(ENOTBLK),
    NAMED(ENOTCONN),
    NAMED(ENOTDIR),
    NAMED(ENOTEMPTY),
    NAMED(ENOTNAM),
    NAMED(ENOTRECOVERABLE),
    NAMED(ENOTSOCK),
    NAMED(ENOTTY),
    NAMED(ENOTUNIQ),
    NAMED(ENXIO),
    NAMED(EOPNOTSUPP),
    NAMED(EOVERFLOW),
    NAMED(EOWNERDEAD),
    NAMED(EPERM),
    NAMED(EPFNOSUPPORT),
    NAMED(EPIPE),
    NAMED(EPROTO),
    NAMED(EPROTONOSUPPORT),
    NAMED(EPROTOTYPE),
    NAMED(ERANGE),
    NAMED(EREMCHG),
    NAMED(EREMOTE),
    NAMED(EREMOTEIO),
    NAMED(ERESTART),
    NAMED(ERFKILL),
    NAMED(EROFS),
    NAMED(ESHUTDOWN),
    NAMED(ESOCKTNOSUPPORT),
    NAMED(ESPIPE),
    NAMED(ESRCH),
    NAMED(ESRMNT),
    NAMED(ESTALE),
    NAMED(ESTRPIPE),
    NAMED(ETIME),
    NAMED(ETIMEDOUT),
    NAMED(ETOOMANYREFS),
    NAMED(ETXTBSY),
    NAMED(EUCLEAN),
    NAMED(EUNATCH),
    NAMED(EUSERS),
    NAMED(EXDEV),
    NAMED(EXFULL),
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
