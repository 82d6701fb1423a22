#!/bin/sh
# See ../agents/events.sh.
agent=opencode
. "$(dirname "$0")/../agents/events.sh"
