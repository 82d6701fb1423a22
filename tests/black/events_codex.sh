#!/bin/sh
# See ../agents/events.sh.
agent=codex
. "$(dirname "$0")/../agents/events.sh"
