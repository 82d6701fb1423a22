#!/bin/sh
# See ../agents/say.sh.
agent=opencode
. "$(dirname "$0")/../agents/say.sh"
