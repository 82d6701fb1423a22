#include "sandbox/launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "runner/base/mem.h"

bool pty_open(int *ret_master, int *ret_slave, unsigned cols, unsigned rows, struct err *err)
{
    const int unlocked = 0;
    struct winsize size = {
        .ws_col = (unsigned short)(cols ? cols : 80),
        .ws_row = (unsigned short)(rows ? rows : 24),
    };
    AUTO_FD int master = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0 || ioctl(master, TIOCSPTLCK, &unlocked) != 0)
        return err_sys(err, errno, "cannot open a terminal in the box");
    /* By descriptor: no name in a folder that others can reach decides which terminal this is. */
    AUTO_FD int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave < 0 || ioctl(slave, TIOCSWINSZ, &size) != 0)
        return err_sys(err, errno, "cannot open the inner end of a terminal in the box");
    *ret_master = steal_fd(&master);
    *ret_slave = steal_fd(&slave);
    return true;
}
