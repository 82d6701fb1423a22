#!/bin/sh
# See ../agents/resume.sh.
agent=gemini
. "$(dirname "$0")/../agents/resume.sh"
