/*
 * own_address: whether an address is one of this machine's. Such a one is no way out: what listens
 * on every address of the host is reached by it, past any firewall, so it is treated as the
 * loopback is.
 */
#ifndef KEEP_OWN_ADDRESS_H
#define KEEP_OWN_ADDRESS_H

#include "gate/host.h"

/* Asks the kernel; where it cannot tell, true. No packet is sent. */
bool own_address_is(const struct host_address *address);
/* "a loopback", "a private", ..., and "this machine's own" of a public address that is own. Static.
 */
const char *own_address_class(const struct host_address *address);

#endif
