/*
 * message: one JSON-RPC message of a client of the Model Context Protocol, and our answers.
 *
 * Two eras speak to us: up to 2025-11-25 a client says `initialize` first; from 2026-07-28 on each
 * request carries its version in `params._meta`, `server/discover` takes the place of the
 * handshake, and every result says `resultType`. Nothing is kept between messages. Pure.
 */
#ifndef MCP_MESSAGE_H
#define MCP_MESSAGE_H

#include "runner/base/jx.h"

enum message_kind {
    MESSAGE_ANSWER,  /* answer is what to send */
    MESSAGE_CALL,    /* a tool is called: tool, args, id */
    MESSAGE_CANCEL,  /* the call with this id is not wanted any more */
    MESSAGE_NOTHING, /* a notification, or an answer to nothing we asked */
};

struct message {
    enum message_kind kind;
    bool is_new;    /* of the era without a handshake */
    json_t *answer; /* owned */
    json_t *id;     /* owned: string or number */
    char *tool;     /* owned */
    json_t *args;   /* owned object */
};
#define MESSAGE_INIT            \
    {                           \
        .kind = MESSAGE_NOTHING \
    }
#define AUTO_MESSAGE __attribute__((cleanup(message_release)))
void message_release(struct message *m);
/* Read one line; whatever it is, there is something to do (an error is an answer too). tools: the
 * list for `tools/list` (borrowed); a call of a tool that is not in it gets an error. */
void message_read(struct message *ret, const char *line, size_t len, json_t *tools);
/* The answer to a call: text of the tool; an error is for the model to read. New reference. */
json_t *message_result(const json_t *id, bool is_new, const char *text, size_t len, bool is_error);
/* A protocol error. New reference. */
json_t *message_error(const json_t *id, int code, const char *text);

#endif
