#include "sandbox/launch/launch.h"

int probe_main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return 2;
}
