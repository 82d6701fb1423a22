#!/bin/sh
# See ../agents/events.sh.
agent=claude
. "$(dirname "$0")/../agents/events.sh"
