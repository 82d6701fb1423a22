#!/bin/sh
# See ../agents/resume.sh.
agent=claude
. "$(dirname "$0")/../agents/resume.sh"
