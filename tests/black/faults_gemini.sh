#!/bin/sh
# See ../agents/faults.sh. Its hook is code in its own process, so the gate that this asks has the faults.
agent=gemini title='Gemini CLI'
. "$(dirname "$0")/../agents/faults.sh"
faulty_gate node
at_once=yes
# What it tells that code is changed on the way.
change /etc/gemini-cli/headgate.cjs 's/JSON.parse(text)$/JSON.parse(text.replace(\/"tool_input"(?=.*fault-args)\/, "\\"toolInput\\"").replace(\/"tool_name"(?=.*fault-name)\/, "\\"toolName\\"").replace(\/"BeforeTool"(?=.*fault-event)\/, "\\"BeforeTool2\\""))/'
begin -- none silent garbage half loose version word list null twice event name args
ends_well
all_denied 'blocked'
ran_alone
once_each
hurry "$HOME/.gemini/settings.json"
begin -- late none
ends
ended_it 'gave its hook up'
no_own_connections
exit $FAILED
