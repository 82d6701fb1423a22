#!/bin/sh
# See ../agents/events.sh.
agent=gemini
. "$(dirname "$0")/../agents/events.sh"
