/*
 * Two processes decide the same 10,000 calls at once on one file: each call is decided exactly
 * once, and each loser learns the winner. Both go through all calls, one from each end, so that
 * they meet.
 */
#include <setjmp.h>
#include <signal.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "runner/base/clock.h"
#include "runner/base/mem.h"
#include "tests/unit/gate/store.h"

enum { CALLS = 10000, DECIDERS = 2, CHUNK = 50 };

/* Shared by the processes. */
static struct arena {
    pthread_barrier_t barrier;
    unsigned char winners[DECIDERS][CALLS + 1]; /* whom each saw win each call: number + 1 */
} * arena;

static int decide(struct db *db, int me, const char *name, int64_t id)
{
    struct err err = ERR_INIT;
    AUTO_LEDGER_CALL struct ledger_call call = LEDGER_CALL_INIT;
    enum ledger_outcome outcome;
    if (!ledger_decide(&outcome, &call, db, id, NULL, me == 0, "", name, "person", false,
                       clock_unix_ms(), &err)) {
        fprintf(stderr, "%s: %s\n", name, err.text);
        return 1;
    }
    bool won = outcome == LEDGER_WON;
    if (won != (strcmp(call.decided_by, name) == 0) || call.decided_by[0] != 'd')
        return 2;
    arena->winners[me][id] = (unsigned char)(call.decided_by[1] - '0' + 1);
    return 0;
}

static int run_decider(const struct store *s, int me)
{
    AUTO_FREE char *name = xasprintf("d%d", me);
    struct db *db = store_connect(s);
    for (int64_t first = 1; first <= CALLS; first += CHUNK) {
        pthread_barrier_wait(&arena->barrier);
        for (int64_t i = 0; i < CHUNK; i++) {
            int fault = decide(db, me, name, me == 0 ? first + i : first + CHUNK - 1 - i);
            if (fault)
                return fault;
        }
    }
    db_close(db);
    return 0;
}

static void check(struct store *s)
{
    int64_t won[DECIDERS] = {0};
    struct err err = ERR_INIT;
    for (int64_t id = 1; id <= CALLS; id++) {
        AUTO_LEDGER_CALL struct ledger_call call = LEDGER_CALL_INIT;
        assert_true(ledger_get(&call, s->db, id, &err));
        int winner = call.decided_by[1] - '0';
        assert_int_equal(call.state, winner == 0 ? CALL_APPROVED : CALL_DENIED);
        for (int d = 0; d < DECIDERS; d++)
            assert_int_equal(arena->winners[d][id], winner + 1);
        won[winner]++;
    }
    print_message("won: %d and %d\n", (int)won[0], (int)won[1]);
    assert_true(won[0] > 0 && won[1] > 0);
    int64_t rows, bad;
    char tail[DIGEST_HEX_SIZE];
    AUTO_BUF struct buf why = BUF_INIT;
    assert_true(ledger_verify(&rows, &bad, &why, tail, s->db, &err));
    assert_int_equal(bad, 0);
    assert_int_equal(rows, 2 * CALLS); /* asked and decided, each once */
}

static void each_is_decided_once(void **state)
{
    struct store *s = *state;
    struct err err = ERR_INIT;
    arena = mmap(NULL, sizeof(*arena), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(arena != MAP_FAILED);
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    assert_int_equal(pthread_barrier_init(&arena->barrier, &attributes, DECIDERS), 0);
    assert_true(db_begin(s->db, &err));
    for (int i = 1; i <= CALLS; i++)
        store_ask(s->db, "3.1", i, "make");
    assert_true(db_commit(s->db, &err));
    db_close(s->db); /* SQLite's handles must not cross a fork */
    pid_t pids[DECIDERS];
    int64_t start_ms = clock_mono_ms();
    for (int d = 0; d < DECIDERS; d++) {
        pids[d] = fork();
        if (pids[d] == 0)
            _exit(run_decider(s, d));
    }
    bool failed = false;
    for (int d = 0; d < DECIDERS; d++) {
        int status;
        assert_true(waitpid(-1, &status, 0) > 0);
        for (int other = 0; status != 0 && !failed && other < DECIDERS; other++)
            kill(pids[other], SIGKILL); /* it would wait at the barrier for ever */
        failed = failed || status != 0;
    }
    assert_false(failed);
    int64_t took_ms = clock_mono_ms() - start_ms;
    print_message("%d durable decisions, 2 processes: %d ms\n", CALLS, (int)took_ms);
    s->db = store_connect(s);
    check(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_is_decided_once, store_set_up, store_tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
