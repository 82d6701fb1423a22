/*
 * child: a process that is the server, for tests. `child` starts one in the background, `child
 * foreground` is one. CHILD_FILE_BYTES bounds the size of what it writes, which is how a full disk
 * looks to SQLite.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "runner/server/server.h"

int main(int argc, char **argv)
{
    const char *bytes = getenv("CHILD_FILE_BYTES");
    if (bytes) {
        const struct rlimit limit = {strtoull(bytes, NULL, 10), RLIM_INFINITY};
        signal(SIGXFSZ, SIG_IGN);
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
            return 1;
    }
    const struct server_options options = {.foreground =
                                               argc > 1 && strcmp(argv[1], "foreground") == 0};
    return server_main(&options);
}
