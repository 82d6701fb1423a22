#!/bin/sh
# See ../agents/say.sh.
agent=claude
. "$(dirname "$0")/../agents/say.sh"
