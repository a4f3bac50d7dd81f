#!/bin/sh
# Runs backup, and reports its start, its output and its exit status to the check with the ping URL $PING_URL.
ping() { curl -fsS -m 10 --retry 5 -o /dev/null "$@" || true; } # a failed ping must not stop the job

out=$(mktemp) || exit
trap 'rm -f "$out"' EXIT
ping "$PING_URL/start"
backup >"$out" 2>&1
status=$?
ping --data-binary @"$out" "$PING_URL/$status"
exit $status
