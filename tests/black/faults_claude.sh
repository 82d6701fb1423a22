#!/bin/sh
# See ../agents/faults.sh.
agent=claude title='Claude Code'
. "$(dirname "$0")/../agents/faults.sh"
faulty_hook
begin -- none silent garbage half loose exit-1 exit-77 crash twice event tool args
ends_well
all_denied 'hook error|needs approval'
ran_alone
once_each
hurry /etc/claude-code/managed-settings.json
begin -- late none
ends_well
all_denied 'hook error'
ran_alone
no_own_connections
exit $FAILED
