/*
 * pulse: how an agent stands, by what it tells on its output: tokens and money used, failures of
 * its model's server and tries again, limits with the time until which, and whether it waits for a
 * person.
 *
 * A value; pure, but for the time that is passed in. Numbers are of this start alone, and only what
 * was told: an agent that tells no cost has none here, nothing is worked out from prices. The texts
 * come from an agent: bounded, not sanitised.
 */
#ifndef AGENTS_PULSE_H
#define AGENTS_PULSE_H

#include "runner/base/jx.h"

enum pulse_state {
    PULSE_WORKING,
    PULSE_RETRYING, /* its model's server failed; it tries again */
    PULSE_LIMITED,  /* that server takes no more for a while */
    PULSE_WAITING,  /* its turn is over: what a person says comes next */
};

struct pulse_use {
    int64_t in, cached, cache_written, out; /* tokens; in: without those of the cache */
    double cost_usd;
    bool has_cost;
};

#define PULSE_NUMBER_MAX INT64_C(1000000000000000)
#define PULSE_COST_MAX 1e9
enum { PULSE_TEXT_BYTES = 240, PULSE_NEWS_MAX = 32, PULSE_ID_BYTES = 80 };

struct pulse {
    struct pulse_use settled; /* told as a sum */
    struct pulse_use recent;  /* of messages that no sum was told of yet */
    struct pulse_use message; /* what of it is the last message's, which may be told again */
    char message_id[PULSE_ID_BYTES];
    enum pulse_state state;
    int64_t until_ms; /* of RETRYING and LIMITED; 0: not told */
    bool has_begun; /* what comes before it is of an earlier start; for agents that tell that again
                     */
    int64_t limit_ms; /* when a limit that is used up begins anew, as told before it was met; 0: not
                         told */
    int64_t retries, errors;
    char why[PULSE_TEXT_BYTES];   /* of the state */
    char error[PULSE_TEXT_BYTES]; /* the last one */
    int64_t heard;                /* the newest message of a person's that it took up */
    bool is_idle;                 /* its turn is over; of agents that go on when they hear more */
    bool tells_idle;
    json_t *news; /* not taken yet: [{kind, text, until_ms}], kind "retry", "limit", "error" or
                     "waiting" */
};

void pulse_init(struct pulse *p);
void pulse_release(struct pulse *p);
/* One line of output of a kind (agent.h). True: something changed. */
bool pulse_line(struct pulse *p, const char *output_kind, const char *line, size_t len,
                int64_t now_ms);
/* The same of a line of its standard error, for agents that tell some things only there. */
bool pulse_error_line(struct pulse *p, const char *output_kind, const char *line, size_t len,
                      int64_t now_ms);
/* Its own terminal moves, or has been still for a while: interfaces of agents draw something all
 * the time that they work. */
bool pulse_terminal(struct pulse *p, bool is_still);
/* It says that it waits for a person; why: its words, "": none. */
bool pulse_rests(struct pulse *p, const char *why);
/* The name by which an agent takes up a person's message, and its task; out has PULSE_ID_BYTES. */
void pulse_message_id(char *out, int64_t message);
void pulse_task_id(char *out, uint64_t number);
/* What is known, as an object for the store and for people; a new reference. */
json_t *pulse_json(const struct pulse *p);
/* What is new since it was last asked, NULL: nothing. The caller's. */
json_t *pulse_take_news(struct pulse *p);
/* sum of two such objects' numbers; all else is the later one's. earlier NULL: nothing. */
json_t *pulse_json_sum(const json_t *earlier, const json_t *later);

#endif
