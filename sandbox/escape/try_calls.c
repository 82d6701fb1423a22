#include "sandbox/launch/probe.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "runner/base/mem.h"

/* System calls that a box refuses, tried from inside (probe.h). Where the kernel asks for the right
 * before it looks at the arguments, these are harmless ones. */

static int from(long result)
{
    return result < 0 ? errno : 0;
}

static int try_request_key(const char *unused)
{
    (void)unused;
    long key = syscall(SYS_request_key, "user", "headgate-none", NULL, KEY_SPEC_PROCESS_KEYRING);
    return key < 0 && errno == ENOKEY ? 0 : from(key); /* there is none: the question was heard */
}

static int try_line_discipline(const char *unused)
{
    int discipline = 2; /* of mice: any other */
    (void)unused;
    AUTO_FD int fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
    return fd < 0 ? errno : from(ioctl(fd, TIOCSETD, &discipline));
}

/* A child that waits, as the nearest process that could be taken over. */
static pid_t start_child(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        pause();
        _exit(0);
    }
    return pid;
}

static int end_child(pid_t pid, int why)
{
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    return why;
}

static int try_attach_child(const char *unused)
{
    (void)unused;
    pid_t pid = start_child();
    return end_child(pid, from(ptrace(PTRACE_ATTACH, pid, 0, 0)));
}

static int try_write_child(const char *unused)
{
    static char byte = 'x';
    struct iovec local = {&byte, 1}, remote = {&byte, 1};
    (void)unused;
    pid_t pid = start_child();
    return end_child(pid, from(process_vm_writev(pid, &local, 1, &remote, 1, 0)));
}

static int try_take_descriptor(const char *unused)
{
    (void)unused;
    pid_t pid = start_child();
    AUTO_FD int process = (int)syscall(SYS_pidfd_open, pid, 0);
    AUTO_FD int taken = (int)syscall(SYS_pidfd_getfd, process, 1, 0);
    return end_child(pid, from(taken));
}

static int try_advise_child(const char *unused)
{
    static char byte;
    struct iovec range = {&byte, 1};
    (void)unused;
    pid_t pid = start_child();
    AUTO_FD int process = (int)syscall(SYS_pidfd_open, pid, 0);
    return end_child(pid, from(syscall(SYS_process_madvise, process, &range, 1, MADV_COLD, 0)));
}

static int try_compare_child(const char *unused)
{
    (void)unused;
    pid_t pid = start_child();
    return end_child(pid, from(syscall(SYS_kcmp, getpid(), pid, 0, 0, 1)));
}

static int try_init_module(const char *unused)
{
    (void)unused;
    return from(syscall(SYS_init_module, NULL, 0UL, ""));
}

static int try_secret_memory(const char *unused)
{
    (void)unused;
    AUTO_FD int fd = (int)syscall(SYS_memfd_secret, O_CLOEXEC);
    return from(fd);
}

static int try_quota(const char *unused)
{
    (void)unused;
    return from(syscall(SYS_quotactl, 0x80000100 /* Q_SYNC */, NULL, 0, NULL));
}

static int try_swap(const char *unused)
{
    (void)unused;
    return from(swapon("/headgate/none", 0));
}

/* Without its magic numbers: nothing would happen. */
static int try_reboot(const char *unused)
{
    (void)unused;
    return from(syscall(SYS_reboot, 0, 0, 0, NULL));
}

/* To what it is. Root of a box alone is no root of the clock. */
static int try_clock(const char *unused)
{
    struct timeval now;
    (void)unused;
    gettimeofday(&now, NULL);
    return from(settimeofday(&now, NULL));
}

static int try_accounting(const char *unused)
{
    (void)unused;
    return from(acct(NULL));
}

static int try_host_name(const char *unused)
{
    (void)unused;
    return from(sethostname("escaped", 7));
}

static int try_kernel_log(const char *unused)
{
    (void)unused;
    return from(syscall(SYS_syslog, 10 /* size of the buffer */, NULL, 0));
}

static int try_move_pages(const char *unused)
{
    (void)unused;
    return from(syscall(SYS_move_pages, 0, 0UL, NULL, NULL, NULL, 0));
}

static int try_fanotify(const char *unused)
{
    (void)unused;
    AUTO_FD int fd = (int)syscall(SYS_fanotify_init, 0x200 /* FAN_REPORT_FID */, O_RDONLY);
    return from(fd);
}

#if defined(__x86_64__)
/* x32 numbers of calls that the filter would refuse or watch. */
static int try_x32(const char *number)
{
    return from(syscall(0x40000000L | atol(number), 0, 0, 0, 0, 0));
}

static int try_ldt(const char *unused)
{
    char entry[16];
    (void)unused;
    return from(syscall(SYS_modify_ldt, 0, entry, sizeof(entry)));
}

static int try_ports(const char *unused)
{
    (void)unused;
    return from(syscall(SYS_iopl, 0));
}

/* execve of the 32-bit ABI. */
static int try_i386_exec(const char *unused)
{
    long result;
    (void)unused;
    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "0"(11L), "b"(0L), "c"(0L), "d"(0L)
                     : "memory", "r8", "r9", "r10", "r11");
    return result < 0 ? (int)-result : 0;
}

/* A whole program of the 32-bit ABI: exit(0). */
static int run_elf32(const char *path)
{
    static const struct {
        Elf32_Ehdr head;
        Elf32_Phdr part;
        unsigned char code[9];
    } program = {
        .head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, ELFDATA2LSB,
                             EV_CURRENT},
                 .e_type = ET_EXEC,
                 .e_machine = EM_386,
                 .e_version = EV_CURRENT,
                 .e_entry = 0x08048000 + sizeof(Elf32_Ehdr) + sizeof(Elf32_Phdr),
                 .e_phoff = sizeof(Elf32_Ehdr),
                 .e_ehsize = sizeof(Elf32_Ehdr),
                 .e_phentsize = sizeof(Elf32_Phdr),
                 .e_phnum = 1},
        .part = {.p_type = PT_LOAD,
                 .p_vaddr = 0x08048000,
                 .p_filesz = sizeof(program),
                 .p_memsz = sizeof(program),
                 .p_flags = PF_R | PF_X,
                 .p_align = 0x1000},
        .code = {0xb8, 1, 0, 0, 0, 0x31, 0xdb, 0xcd, 0x80},
    };
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    if (fd < 0 || write(fd, &program, sizeof(program)) < 0)
        return errno;
    close(fd); /* what is open to write is not executed */
    execl(path, path, (char *)NULL);
    return errno;
}
#endif

/* A call by its number, with arguments that are good for nothing. */
static int try_number(const char *number)
{
    return syscall(atol(number), -1L, -1L, -1L, -1L, -1L, -1L) < 0 ? errno : 0;
}

const struct probe_attempt probe_escape_calls[] = {
    {"call", try_number},
    {"request-key", try_request_key},
    {"line-discipline", try_line_discipline},
    {"attach-child", try_attach_child},
    {"write-child", try_write_child},
    {"take-descriptor", try_take_descriptor},
    {"advise-child", try_advise_child},
    {"compare-child", try_compare_child},
    {"init-module", try_init_module},
    {"secret-memory", try_secret_memory},
    {"quota", try_quota},
    {"swap", try_swap},
    {"reboot", try_reboot},
    {"clock", try_clock},
    {"accounting", try_accounting},
    {"set-hostname", try_host_name},
    {"kernel-log", try_kernel_log},
    {"move-pages", try_move_pages},
    {"fanotify", try_fanotify},
#if defined(__x86_64__)
    {"x32-call", try_x32},
    {"ldt", try_ldt},
    {"ports", try_ports},
    {"i386-exec", try_i386_exec},
    {"elf32", run_elf32},
#endif
    {NULL, NULL},
};
