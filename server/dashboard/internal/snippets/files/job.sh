#!/bin/sh
url=https://rollcall.example.org/ping/UUID
report() { [ "$(curl -fsSL --post301 --post302 --post303 -m 5 --retry 2 --retry-connrefused "$@")" = OK ] || echo "ping failed" >&2; }

report "$url/start"
out=$(mktemp) || out=/dev/null
exec 4>&1 # the job's output goes here, and its exit status into $status
status=$({ { /usr/local/bin/job 2>&1 3>&- 4>&-; echo $? >&3; } | tee "$out" >&4; } 3>&1)
tail -c 100000 "$out" | report --data-binary @- "$url/$status"
[ "$out" = /dev/null ] || rm "$out"
exit "$status"
