#!/bin/sh
# Stands in for Claude Code whose model takes no more: says so again and again, works when $FLAGS/works is there, and then says it
# once more.
[ "${1:-}" != --version ] || { echo '2.1.332 (Claude Code)'; exit; }
limited='{"type":"system","subtype":"api_retry","error":"rate_limit","error_status":429,"retry_delay_ms":600000,"attempt":1,"max_retries":9}'
printf '%s\n' "$limited" "$limited" "$limited"
while [ ! -e "$FLAGS/works" ]; do sleep 0.2; done
printf '%s\n' '{"type":"assistant","message":{"id":"m1","usage":{"input_tokens":1,"output_tokens":1}}}'
while [ ! -e "$FLAGS/again" ]; do sleep 0.2; done
printf '%s\n' "$limited"
exec sleep 600
