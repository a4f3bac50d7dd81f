package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// output writes what a run prints.
type output func(r *rand.Rand, at time.Time, ok bool) string

const (
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	red    = "\x1b[1;31m"
	dim    = "\x1b[2m"
	reset  = "\x1b[0m"
)

func plain(r *rand.Rand, at time.Time, ok bool) string {
	if !ok {
		return fmt.Sprintf("%s starting\n%s error: connection to 10.0.4.%d:5432 refused\n", at.Format(time.TimeOnly), at.Format(time.TimeOnly), 2+r.IntN(9))
	}
	return fmt.Sprintf("%s starting\n%s done: %d items, %d skipped\n", at.Format(time.TimeOnly), at.Format(time.TimeOnly), 40+r.IntN(900), r.IntN(4))
}

func backup(r *rand.Rand, at time.Time, ok bool) string {
	var b strings.Builder
	files := 1800 + r.IntN(400)
	fmt.Fprintf(&b, "%sopen repository%s\n%susing parent snapshot %08x%s\n\n", dim, reset, dim, r.Uint32(), reset)
	for _, volume := range []string{"/srv/pg", "/srv/media", "/etc"} {
		fmt.Fprintf(&b, "%-12s %s%6d new%s  %6d changed  %8.1f MiB\n", volume, green, r.IntN(300), reset, r.IntN(90), r.Float64()*900)
	}
	if !ok {
		fmt.Fprintf(&b, "\n%sFatal:%s unable to save snapshot: write /mnt/second/pack-%08x: no space left on device\n", red, reset, r.Uint32())
		return b.String()
	}
	fmt.Fprintf(&b, "\nprocessed %d files\n%ssnapshot %08x saved%s\n", files, green, r.Uint32(), reset)
	return b.String()
}

func export(r *rand.Rand, at time.Time, ok bool) string {
	var b strings.Builder
	for _, table := range []string{"orders", "order_lines", "customers", "refunds"} {
		fmt.Fprintf(&b, "%s INFO  %-12s %7d rows\n", at.Format(time.DateTime), table, 500+r.IntN(40_000))
	}
	if !ok {
		fmt.Fprintf(&b, "%s %sERROR%s shipments    deadlock detected, gave up after 3 attempts\n", at.Format(time.DateTime), red, reset)
	} else if r.IntN(5) == 0 {
		fmt.Fprintf(&b, "%s %sWARN%s  refunds      %d rows without a customer\n", at.Format(time.DateTime), yellow, reset, 1+r.IntN(7))
	}
	return b.String()
}

func build(r *rand.Rand, _ time.Time, ok bool) string {
	var b strings.Builder
	for i := range 12 + r.IntN(20) {
		fmt.Fprintf(&b, "%sPASS%s  shard %02d  %5.1fs\n", green, reset, i+1, 2+r.Float64()*60)
	}
	if !ok {
		fmt.Fprintf(&b, "%sFAIL%s  shard %02d  timed out after 120 s\n  expected %sindex v42%s\n  got      %sindex v41%s\n", red, reset, 33, green, reset, red, reset)
	}
	return b.String()
}
