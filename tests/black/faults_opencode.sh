#!/bin/sh
# See ../agents/faults.sh. Its hook is code in its own process, so the gate that this asks has the faults. It gives that code all time.
agent=opencode title=OpenCode
. "$(dirname "$0")/../agents/faults.sh"
faulty_gate opencode
at_once=yes
# What it tells that code is changed on the way.
change /etc/opencode/headgate.js 's/async (call, output) => {$/&\n      if (output.args.command.endsWith("fault-args")) output = { input: output.args }\n      else if (output.args.command.endsWith("fault-name")) call = { ...call, tool: undefined, name: call.tool }/'
begin -- none silent garbage half loose version word list null twice name args
ends_well
all_denied 'denied|SECOND'
ran_alone
once_each
no_own_connections
exit $FAILED
