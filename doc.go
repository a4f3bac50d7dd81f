// Package rollcall leads to the packages of Rollcall, a dead man's switch for scheduled jobs: each job sends a ping when it has done its
// work, and if a ping is missing, Rollcall alerts. This package itself is empty.
//
//   - A program that monitors its own jobs, without a server, imports [github.com/rollcall-dev/rollcall/checks/monitor], and
//     [github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite] or [github.com/rollcall-dev/rollcall/checks/sqlstore/postgres] for its
//     database.
//   - A program that talks to a server, to ping it or to manage checks, imports [github.com/rollcall-dev/rollcall/client]. Its tests
//     import [github.com/rollcall-dev/rollcall/client/clienttest].
//   - A program that serves the API itself mounts the handler of [github.com/rollcall-dev/rollcall/server], and the pages of
//     [github.com/rollcall-dev/rollcall/server/dashboard].
//   - Code that works on both, embedded or through a server, is written for the interfaces of
//     [github.com/rollcall-dev/rollcall/checks]; [github.com/rollcall-dev/rollcall/checks/job] reports the runs of a job, and the packages
//     below it those of a scheduler.
//
// Receivers of alerts are in [github.com/rollcall-dev/rollcall/channels]. The server is one binary. In a clone:
//
//	go install ./server/cmd/rollcall
package rollcall
