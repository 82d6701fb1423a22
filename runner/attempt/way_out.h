/*
 * way_out: the network of an attempt: which hosts are listed for it, the port of its proxy inside
 * the box, and the variables by which programs find it. Values only; the proxy itself is the
 * keeper's.
 */
#ifndef ATTEMPT_WAY_OUT_H
#define ATTEMPT_WAY_OUT_H

#include "runner/agents/agent.h"
#include "runner/attempt/attempt.h"

/* Hosts (patterns of gate/host.h) that are listed: those asked for, `box.net`, and `agent.NAME.net`
 * or, where that is not set and the agent's credentials are passed, the hosts it cannot work
 * without. ERR_USAGE names one that is wrong: a list that cannot be read starts nothing. */
bool way_out_hosts(struct strv *ret, const struct strv *asked, const struct config *config,
                   const struct agent *agent, const struct strv *env, struct err *err) WARN_UNUSED;
/* A port that none of the mapped services has. */
uint16_t way_out_port(const struct strv *services);
/* Where Headgate's own programs are in a box; ssh reaches the proxy by headgate-hook. */
#define WAY_OUT_BIN "/run/headgate/bin"
#define WAY_OUT_HOOK WAY_OUT_BIN "/headgate-hook"
/* Let the box listen there, and tell its programs: by variables, and ssh by its configuration.
 * WAY_OUT_HOOK is the caller's to show. */
void way_out_show(struct box_spec *spec, const struct strv *services);
/* "asks for every host", "listed a, b; asks for others", with the services. */
char *way_out_text(const struct strv *hosts, const struct strv *services);

#endif
