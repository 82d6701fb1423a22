#!/bin/sh
# See ../agents/rest.sh.
agent=gemini
. "$(dirname "$0")/../agents/rest.sh"
