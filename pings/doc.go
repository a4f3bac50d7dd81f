// Package pings defines the signals that jobs send and the pings that Rollcall logs.
//
// A job sends a [Signal]: "I started", "I succeeded", "I failed" or "note this". Rollcall logs a [Ping], an entry of
// the check's ping log (server/API.md section 2.2). The rules of the check, in package checks, decide the [Kind] of the
// entry.
//
// The package is pure: it does no input or output and reads no clock.
package pings
