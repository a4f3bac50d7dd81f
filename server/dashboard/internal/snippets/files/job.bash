#!/bin/bash
url=https://rollcall.example.org/ping/UUID
report() { [ "$(curl -fsSL --post301 --post302 --post303 -m 5 --retry 2 --retry-connrefused "$@")" = OK ] || echo "ping failed" >&2; }

report "$url/start"
out=$(mktemp) || out=/dev/null
/usr/local/bin/job 2>&1 | tee "$out"
status=${PIPESTATUS[0]}
tail -c 100000 "$out" | report --data-binary @- "$url/$status"
[[ $out == /dev/null ]] || rm "$out"
exit "$status"
