// Package pings holds what a monitored job says and what is kept of it.
//
// A job sends a [Signal]: "I succeeded", "I started", "I failed" or "here is a line for the log". What Rollcall
// keeps is a [Ping], one entry of a check's ping log (API-V3.md section 2.2). Which kind the entry has is decided
// by the check's rules (package checks); this package knows the kinds, the limits and how the start of a run is
// paired with its end:
//
//	var open pings.Runs
//	open = open.Start(run, noon)
//	open, took, ok := open.End(run, noon.Add(90*time.Second))
//	// took == 90*time.Second, ok == true, open is empty again
//
// The package is pure: it does no input or output and reads no clock.
package pings
