#!/bin/sh
# See ../agents/say.sh.
agent=gemini
. "$(dirname "$0")/../agents/say.sh"
