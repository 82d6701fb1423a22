#include "tests/unit/sandbox/boxtest.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"

#define BIT(layer) (1U << (layer))

/* Each call, what the agent gets, and what it gets without the layers named: not the same. */
static void calls_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *attempt, *expected;
        unsigned without;
        const char
            *control; /* NULL: the kernel refuses it by itself too, with or without a filter */
    } cases[] = {
        {"unshare:10000000", "EPERM", BIT(LAYER_SECCOMP) | BIT(LAYER_LIMITS), "ok"},
        {"clone:10000000", "EPERM", BIT(LAYER_SECCOMP) | BIT(LAYER_LIMITS), "ok"},
        {"clone:10020000", "EPERM", BIT(LAYER_SECCOMP) | BIT(LAYER_LIMITS), "ok"},
        {"clone3", "ENOSYS", BIT(LAYER_SECCOMP) | BIT(LAYER_LIMITS), "ok"},
        {"unshare:40000000", "EPERM", 0, NULL},
        {"unshare:80", "EPERM", 0, NULL},
        {"unshare:400", "ok", 0, NULL}, /* CLONE_FILES: harmless, and stays */
        {"setns:/proc/self/ns/uts", "EPERM", 0, NULL},
        {"mount", "EPERM", 0, NULL},
        {"remount:/usr", "EPERM", 0, NULL},
        {"umount:/etc/hosts", "EPERM", 0, NULL},
        {"fsopen", "EPERM", 0, NULL},
        {"open-tree", "EPERM", 0, NULL},
        {"pivot-root", "EPERM", 0, NULL},
        {"chroot", "EPERM", 0, NULL},
        {"keyctl", "EPERM", BIT(LAYER_SECCOMP), "ok"},
        {"add-key", "EPERM", BIT(LAYER_SECCOMP), "ok"},
        {"bpf", "EPERM", 0, NULL},
        {"perf", "EPERM", 0, NULL},
        {"io-uring", "EPERM", 0, NULL},
        {"userfaultfd", "EPERM", 0, NULL},
        {"tiocsti", "EPERM", 0, NULL},
        {"tioclinux", "EPERM", 0, NULL},
        {"trace-child", "ok", 0, NULL},
        {"socket:1", "ok", 0, NULL},
        {"socket:2", "ok", 0, NULL},
        {"socket:10", "ok", 0, NULL},
        {"datagram:38", "EAFNOSUPPORT", 0, NULL}, /* AF_ALG */
        {"socket:40", "EAFNOSUPPORT", 0, NULL},   /* AF_VSOCK */
        {"socket:17", "EAFNOSUPPORT", 0, NULL},   /* AF_PACKET */
        {"netlink:0", "ok", 0, NULL},
        {"netlink:9", "EAFNOSUPPORT", BIT(LAYER_SECCOMP), "ok"},  /* audit */
        {"netlink:16", "EAFNOSUPPORT", BIT(LAYER_SECCOMP), "ok"}, /* generic */
        {"raw-socket", "EPERM", 0, NULL},
        {"personality", "EPERM", BIT(LAYER_SECCOMP), "ok"},
        {"handle", "EPERM", 0, NULL},
        {"kexec", "EPERM", 0, NULL},
        {"module", "EPERM", 0, NULL},
        {"unknown", "ENOSYS", 0, NULL},
#if defined(__x86_64__)
        {"x32", "ENOSYS", 0, NULL},
        {"i386", "SIGSYS", 0, NULL},
#endif
    };
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        spec.without = 0;
        boxtest_expect(&spec, cases[i].attempt, cases[i].expected);
        spec.without = cases[i].without;
        if (cases[i].control)
            boxtest_expect(&spec, cases[i].attempt, cases[i].control);
    }
}

/* A filter that knows nothing of a nested namespace is not the only wall. */
static void nested_namespaces_are_off_without_the_filter(void **state)
{
    (void)state;
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    spec.without = BIT(LAYER_SECCOMP);
    boxtest_expect(&spec, "unshare:10000000", "ENOSPC");
}

static const char *const status_fields =
    "CapInh CapPrm CapEff CapBnd CapAmb NoNewPrivs Seccomp Seccomp_filters";
#define NOTHING "0000000000000000"

static void nobody_in_a_box_is_less_confined(void **state)
{
    (void)state;
    static const char *const who[] = {"1", "self"};
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    for (size_t i = 0; i < ARRAY_LEN(who); i++) {
        AUTO_FREE char *attempt = xasprintf("status:%s %s", who[i], status_fields);
        spec.without = 0;
        boxtest_expect(&spec, attempt,
                       NOTHING " " NOTHING " " NOTHING " " NOTHING " " NOTHING " 1 2 1");
        spec.without = BIT(LAYER_SECCOMP) | BIT(LAYER_CAPS);
        AUTO_FREE char *control = boxtest_try(&spec, attempt);
        assert_null(strstr(control, NOTHING " " NOTHING " " NOTHING " " NOTHING));
        assert_non_null(strstr(control, " 0 0")); /* no filter of anybody else's either */
    }
}

/* A setuid program gains nothing, and its processes stay under the filter. */
static void setuid_programs_gain_nothing(void **state)
{
    (void)state;
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    int status;
    AUTO_FREE char *out =
        boxtest_sh(&status, &spec, "su -c id root </dev/null 2>&1; mount 2>&1 | wc -l >/dev/null");
    assert_null(strstr(out, "uid=0"));
}

static void pid_1_is_out_of_reach(void **state)
{
    (void)state;
    static const char *const attempts[] = {"write:/proc/1/mem",
                                           "read:/proc/1/mem",
                                           "read:/proc/1/environ",
                                           "read:/proc/1/maps",
                                           "attach:1",
                                           "seize:1",
                                           "vm-read:1",
                                           "read:/proc/1/cwd/etc/hosts",
                                           "setns:/proc/1/ns/net"};
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    for (size_t i = 0; i < ARRAY_LEN(attempts); i++) {
        AUTO_FREE char *got = boxtest_try(&spec, attempts[i]);
        if (strcmp(got, "EPERM") != 0 && strcmp(got, "EACCES") != 0)
            fail_msg("%s came out as %s", attempts[i], got);
    }
    AUTO_FREE char *fds =
        boxtest_sh(NULL, &spec, "ls /proc/1/fd 2>/dev/null; kill -9 1; echo alive");
    assert_string_equal(fds, "alive");
}

/* The kernel asks for the same uid only. With a limit on processor time, say, pid 1 would be
 * killed. */
static void limits_of_pid_1_are_its_own(void **state)
{
    (void)state;
    static const char script[] =
        "prlimit --pid 1 --cpu=1:1 2>/dev/null && echo set; "
        "prlimit --pid $$ --nofile=64:64 && ulimit -n && ulimit -n 32 && ulimit -n";
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    AUTO_FREE char *got = boxtest_sh(NULL, &spec, script);
    assert_string_equal(got, "64\n32");
    spec.without = BIT(LAYER_SECCOMP);
    AUTO_FREE char *control = boxtest_sh(NULL, &spec, script);
    assert_string_equal(control, "set\n64\n32");
}

static void ids_are_mapped_to_themselves(void **state)
{
    (void)state;
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    boxtest_expect(&spec, "uids", "1");
    AUTO_FREE char *expected =
        xasprintf("%u %u %u", boxtest()->uid, boxtest()->gid, boxtest()->gid);
    AUTO_FREE char *got = boxtest_sh(NULL, &spec, "echo $(id -u) $(id -g) $(id -G)");
    assert_string_equal(got, expected);
}

static void processes_of_the_host_are_unseen(void **state)
{
    (void)state;
    AUTO_BOX_SPEC struct box_spec spec;
    AUTO_FREE char *attempt = xasprintf("signal:%d", (int)getppid());
    boxtest_spec(&spec);
    boxtest_expect(&spec, "processes", "3"); /* pid 1, the probe, and the child that counts */
    AUTO_FREE char *got = boxtest_try(&spec, attempt);
    assert_string_equal(got, "ESRCH");
    spec.without = BIT(LAYER_PID) | BIT(LAYER_LANDLOCK);
    AUTO_FREE char *control = boxtest_try(&spec, attempt);
    assert_string_not_equal(control, "ESRCH");
    AUTO_FREE char *count = boxtest_try(&spec, "processes");
    assert_true(atoi(count) > 3);
}

static void ipc_of_the_host_is_unseen(void **state)
{
    (void)state;
    AUTO_BOX_SPEC struct box_spec spec;
    key_t key = (key_t)(0x48470000 + (getpid() & 0xffff));
    int id = shmget(key, 4096, IPC_CREAT | IPC_EXCL | 0666);
    assert_true(id >= 0);
    AUTO_FREE char *attempt = xasprintf("shm:%d", (int)key);
    boxtest_spec(&spec);
    AUTO_FREE char *got = boxtest_try(&spec, attempt);
    spec.without = BIT(LAYER_IPC);
    AUTO_FREE char *control = boxtest_try(&spec, attempt);
    assert_int_equal(shmctl(id, IPC_RMID, NULL), 0);
    assert_string_equal(got, "ENOENT");
    assert_string_equal(control, "ok");
}

static void the_host_name_is_the_boxes_own(void **state)
{
    (void)state;
    char host[256];
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    assert_int_equal(gethostname(host, sizeof(host)), 0);
    spec.hostname = xstrdup("attempt-3-2");
    boxtest_expect(&spec, "hostname", "attempt-3-2");
    spec.without = BIT(LAYER_UTS);
    boxtest_expect(&spec, "hostname", host);
}

static int listen_on_loopback(int *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(fd, 4), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

static void the_network_is_off(void **state)
{
    (void)state;
    int port;
    AUTO_BOX_SPEC struct box_spec spec;
    AUTO_FD int fd = listen_on_loopback(&port);
    AUTO_FREE char *attempt = xasprintf("connect:%d", port);
    boxtest_spec(&spec);
    boxtest_expect(&spec, attempt, "ECONNREFUSED");
    boxtest_expect(&spec, "connect-away:192.0.2.1", "ENETUNREACH");
    boxtest_expect(&spec, "connect-away:169.254.169.254", "ENETUNREACH");
    boxtest_expect(&spec, "interfaces", "lo");
    spec.without = BIT(LAYER_NET);
    boxtest_expect(&spec, attempt, "ok");
}

/* Of the network namespace and, as the second wall, of Landlock's scopes. */
static void abstract_sockets_of_the_host_are_out_of_reach(void **state)
{
    (void)state;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    AUTO_BOX_SPEC struct box_spec spec;
    AUTO_FREE char *name = xasprintf("headgate-boxtest-%d", (int)getpid());
    AUTO_FREE char *attempt = xasprintf("connect-abstract:%s", name);
    AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    memcpy(address.sun_path + 1, name, strlen(name));
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
    assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(fd, 4), 0);
    boxtest_spec(&spec);
    boxtest_expect(&spec, attempt, "ECONNREFUSED");
    spec.without = BIT(LAYER_NET);
    boxtest_expect(&spec, attempt, "EPERM");
    spec.without = BIT(LAYER_NET) | BIT(LAYER_LANDLOCK);
    boxtest_expect(&spec, attempt, "ok");
}

static void cgroups_show_no_path_of_the_host(void **state)
{
    (void)state;
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    boxtest_expect(&spec, "cgroup", "/");
    spec.limits.pids = 50;
    boxtest_expect(&spec, "cgroup", "/");
}

/* With the host's own files in sight, Landlock alone decides what may be written. */
static void landlock_is_a_wall_of_its_own(void **state)
{
    (void)state;
    AUTO_BOX_SPEC struct box_spec spec;
    AUTO_FREE char *outside = boxtest_folder(boxtest()->work, "outside");
    AUTO_FREE char *allowed = boxtest_folder(boxtest()->work, "allowed");
    AUTO_FREE char *there = boxtest_file(outside, "there", "x");
    static const char *const kinds[] = {"create", "write", "truncate", "remove"};
    boxtest_spec(&spec);
    box_spec_bind(&spec, allowed, allowed, BOX_BIND_WRITE);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        AUTO_FREE char *script =
            xasprintf("%s --probe %s:%s%s", boxtest()->launcher, kinds[i], outside,
                      strcmp(kinds[i], "create") == 0 ? "/new" : "/there");
        spec.without = BIT(LAYER_MOUNT);
        AUTO_FREE char *got = boxtest_sh(NULL, &spec, script);
        assert_string_equal(got, "EACCES");
        spec.without = BIT(LAYER_MOUNT) | BIT(LAYER_LANDLOCK);
        AUTO_FREE char *control = boxtest_sh(NULL, &spec, script);
        assert_string_equal(control, "ok");
    }
    spec.without = BIT(LAYER_MOUNT);
    AUTO_FREE char *script = xasprintf("%s --probe create:%s/new", boxtest()->launcher, allowed);
    AUTO_FREE char *got = boxtest_sh(NULL, &spec, script);
    assert_string_equal(got, "ok");
}

static void devices_cannot_be_made(void **state)
{
    (void)state;
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    boxtest_expect(&spec, "mknod:/tmp/null", "EACCES");
    spec.without = BIT(LAYER_LANDLOCK);
    boxtest_expect(&spec, "mknod:/tmp/null", "EPERM");
}

static void every_layer_is_active_here(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct layer_report report;
    AUTO_BOX_SPEC struct box_spec spec;
    AUTO_PROC_RESULT struct proc_result result = PROC_RESULT_INIT;
    const struct proc_cmd cmd = {.timeout_ms = BOXTEST_TIMEOUT_MS};
    boxtest_spec(&spec);
    strv_push(&spec.argv, "true");
    if (!box_run(&result, &report, boxtest()->launcher, &spec, &cmd, &err))
        fail_msg("%s", err.text);
    for (unsigned id = 0; id < LAYER_COUNT; id++) {
        assert_int_equal(report.layer[id].state, LAYER_ACTIVE);
        assert_string_equal(report.layer[id].reason, "");
        assert_true(report.layer[id].mechanism[0] != '\0');
    }
}

static void a_required_layer_that_is_missing_ends_the_start(void **state)
{
    (void)state;
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    for (unsigned id = LAYER_USER + 1; id < LAYER_COUNT; id++) {
        struct err err = ERR_INIT;
        spec.require = spec.without = 1U << id;
        boxtest_expect_failure(&err, &spec);
        assert_int_equal(err.code, ERR_LAYER);
        assert_non_null(strstr(err.text, layer_name(id)));
    }
    spec.without = 0;
    spec.require = (1U << LAYER_COUNT) - 1;
    boxtest_expect(&spec, "uids", "1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_refused),
        cmocka_unit_test(nested_namespaces_are_off_without_the_filter),
        cmocka_unit_test(nobody_in_a_box_is_less_confined),
        cmocka_unit_test(setuid_programs_gain_nothing),
        cmocka_unit_test(pid_1_is_out_of_reach),
        cmocka_unit_test(limits_of_pid_1_are_its_own),
        cmocka_unit_test(ids_are_mapped_to_themselves),
        cmocka_unit_test(processes_of_the_host_are_unseen),
        cmocka_unit_test(ipc_of_the_host_is_unseen),
        cmocka_unit_test(the_host_name_is_the_boxes_own),
        cmocka_unit_test(the_network_is_off),
        cmocka_unit_test(abstract_sockets_of_the_host_are_out_of_reach),
        cmocka_unit_test(cgroups_show_no_path_of_the_host),
        cmocka_unit_test(landlock_is_a_wall_of_its_own),
        cmocka_unit_test(devices_cannot_be_made),
        cmocka_unit_test(every_layer_is_active_here),
        cmocka_unit_test(a_required_layer_that_is_missing_ends_the_start)};
    return boxtest_main("confine", tests, ARRAY_LEN(tests));
}
