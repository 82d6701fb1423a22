#!/bin/sh
# See ../agents/say.sh.
agent=codex
. "$(dirname "$0")/../agents/say.sh"
