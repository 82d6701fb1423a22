/*
 * trace: what an attempt did as one tree in time: its calls, programs, connections and ref updates,
 * each below whoever asked for it. Pure.
 *
 * NODE: {kind, at_ms, children:[NODE], ...} with, by kind,
 *   attempt   attempt (as attempt.show has it, short)
 *   subagent  subagent {id, type, depth}
 *   call      call (CALL)
 *   program   path, n (how often it was started in the attempt; absent: not counted)
 *   net       host, port, via, connections, up, down, denied, refused, refused_why, call (that was
 *             decided for it; absent: none; further ones stand below)
 *   refs      ref, to; from, commits, files of the attempt's own; by of a person's merge
 *
 * Below the attempt stand its subagents and what it asked for itself. A program stands below the
 * one that started it, an exec that carries out a call below that call, a connection below the
 * program that made it, where the keeper saw which. What no parent is known of stands below the
 * attempt.
 */
#ifndef SERVER_TRACE_H
#define SERVER_TRACE_H

#include "runner/base/jx.h"

/* attempt, calls (CALL, oldest first) and rows (of ledger_log_told) are borrowed. New reference. */
json_t *trace_tree(const json_t *attempt, const json_t *calls, const json_t *rows);
/* What went to each host and port, in all: [{host, port, via, connections, up, down, denied,
 * refused, refused_why}], the most bytes first. New reference. */
json_t *trace_hosts(const json_t *rows);

#endif
