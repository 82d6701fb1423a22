#!/bin/sh
# See ../agents/rest.sh.
agent=opencode
. "$(dirname "$0")/../agents/rest.sh"
