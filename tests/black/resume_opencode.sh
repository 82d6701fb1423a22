#!/bin/sh
# See ../agents/resume.sh.
agent=opencode
. "$(dirname "$0")/../agents/resume.sh"
