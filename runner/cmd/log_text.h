/*
 * log_text: an attempt's output, as it grows, as lines for a person. Pure.
 *
 * A program that redraws its line with carriage returns shows what it drew last. Colour and cursor
 * sequences are left out; what else is no plain text is shown escaped.
 */
#ifndef CMD_LOG_TEXT_H
#define CMD_LOG_TEXT_H

#include "runner/agents/agent.h"
#include "runner/base/buf.h"

struct log_text {
    struct buf partial; /* bytes behind the last newline */
    struct agent_output output;
};
#define AUTO_LOG_TEXT __attribute__((cleanup(log_text_release)))
/* output_kind as struct agent's output; borrowed. */
void log_text_init(struct log_text *t, const char *output_kind);
void log_text_release(struct log_text *t);
/* Append the lines that are whole now. A line longer than a mebibyte is shown in parts. */
void log_text_feed(struct buf *out, struct log_text *t, const char *data, size_t len);
/* Append the rest. */
void log_text_end(struct buf *out, struct log_text *t);

#endif
