/* What the attackers start: the allowed program and, built with TARGET_STATUS=66, the other. With a
 * word it prints its arguments as hexadecimal. */
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "print") == 0) {
        for (int i = 0; i < argc; i++) {
            printf("arg");
            for (const char *c = argv[i]; *c; c++)
                printf(" %02x", (unsigned)(unsigned char)*c);
            printf("\n");
        }
    }
    return TARGET_STATUS;
}
