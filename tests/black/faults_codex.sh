#!/bin/sh
# See ../agents/faults.sh. Headless its client asks what a late hook did not; in its own terminal the keeper ends the attempt.
agent=codex title='Codex headless'
. "$(dirname "$0")/../agents/faults.sh"
faulty_hook
begin -- none exit-1 exit-77 crash twice event tool args
ends_well
all_denied 'hook|rejected'
ran_alone
once_each
hurry /etc/codex/requirements.toml
begin -- late none
ends_well
all_denied 'hook|rejected'
ran_alone
change
for fault in silent garbage half; do
    begin -- none $fault
    ends
    ended_it 'a hook of codex .* without the gate'
done
change /etc/codex/requirements.toml '$s/^command = .*/command = "sleep 1000"/'
git config --file "$settings" gate.helloDeadline 500
begin -- none
ends
ended_it 'did not shake hands with the gate within 5 s of its start'
git config --file "$settings" gate.helloDeadline 20000

title='Codex -i'
hurry /etc/codex/requirements.toml
begin -i -- late none
ends
ended_it 'a hook of codex .* without the gate'
change
for fault in silent garbage loose exit-1 crash; do
    begin -i -- none $fault
    ends
    ended_it 'a hook of codex .* without the gate'
done
begin -i -- none twice event tool args
tells_all
all_denied 'hook'
headgate stop "$run.1" >/dev/null
ran_alone
once_each
no_own_connections
exit $FAILED
