#!/bin/sh
# See ../agents/rest.sh.
agent=claude
. "$(dirname "$0")/../agents/rest.sh"
