/* Append the arguments to the file $ARGV_OUT, one command a line: each byte of a word in
 * hexadecimal, words separated by spaces, an empty word as "-". */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char line[65536];
    size_t len = 0;
    for (int i = 0; i < argc; i++) {
        const char *name = i == 0 && strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[i];
        for (const char *p = name; *p && len < sizeof(line) - 8; p++)
            len += (size_t)snprintf(line + len, 3, "%02x", (unsigned)(unsigned char)*p);
        if (!*name)
            line[len++] = '-';
        line[len++] = i + 1 < argc ? ' ' : '\n';
    }
    int fd = open(getenv("ARGV_OUT"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    return fd >= 0 && write(fd, line, len) == (ssize_t)len ? 0 : 1;
}
