/*
 * Runs a libFuzzer entry point over every file of a corpus folder, so that the ordinary test run
 * replays what the fuzzers found. Fails when the folder is missing or empty.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(int dirfd, const char *name)
{
    int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0)
        return -1;
    uint8_t *data = malloc((size_t)st.st_size + 1);
    ssize_t got = data ? read(fd, data, (size_t)st.st_size) : -1;
    close(fd);
    if (got != st.st_size) {
        free(data);
        return -1;
    }
    LLVMFuzzerTestOneInput(data, (size_t)got);
    free(data);
    return 0;
}

int main(int argc, char **argv)
{
    DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;
    if (!dir) {
        fprintf(stderr, "usage: %s CORPUS_FOLDER\n", argv[0]);
        return 2;
    }
    int files = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.')
            continue;
        if (replay_file(dirfd(dir), entry->d_name) != 0) {
            fprintf(stderr, "cannot read %s/%s\n", argv[1], entry->d_name);
            return 1;
        }
        files++;
    }
    closedir(dir);
    printf("replayed %d files\n", files);
    return files ? 0 : 1;
}
