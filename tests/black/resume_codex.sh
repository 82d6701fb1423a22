#!/bin/sh
# See ../agents/resume.sh.
agent=codex
. "$(dirname "$0")/../agents/resume.sh"
