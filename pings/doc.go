// Package pings defines the signals that jobs send and the pings that Rollcall logs.
//
// A job sends a [Signal]: "I started", "I succeeded", "I failed" or "note this". Rollcall logs a [Ping], an entry of the
// check's ping log (section 2.2 of the [API]). The rules of the check, in package checks, decide the [Kind] of the
// entry.
//
// The package is pure: it does no input or output and reads no clock.
//
// [API]: https://github.com/rollcall-dev/rollcall/blob/main/server/API.md
package pings
