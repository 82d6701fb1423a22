#!/bin/sh
# See ../agents/faults.sh.
agent=claude title='Claude Code'
. "$(dirname "$0")/../agents/faults.sh"
faulty_hook
begin -- none exit-1 exit-77 crash twice event tool args
ends_well
all_denied 'hook error'
ran_alone
once_each
hurry /etc/claude-code/managed-settings.json
begin -- late none
ends_well
all_denied 'hook error'
ran_alone
change
for fault in silent garbage half loose; do
    begin -- none $fault
    ends
    ended_it 'a hook of claude .* without the gate'
done
no_own_connections
exit $FAILED
