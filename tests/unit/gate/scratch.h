/* A private folder for one test program, below $TMPDIR. */
#ifndef TESTS_GATE_SCRATCH_H
#define TESTS_GATE_SCRATCH_H

/* Make it; allocated absolute path. Fails the test on error. */
char *scratch_make(void);
/* Remove it with all in it, and free the path. */
void scratch_remove(char *path);

#endif
