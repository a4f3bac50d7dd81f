// Package shell delivers alerts by running a command. It is the kind "shell".
//
// Anyone who can create a channel of this kind can run commands as the user of the program. A program that trusts all its
// users adds it:
//
//	mon, err := monitor.New(store, &monitor.Config{Channels: []channels.Type{shell.New(nil)}})
//
// # The command
//
// The settings command_down and command_up go to /bin/sh -c unchanged. The alert is in environment variables, so the
// name of a check cannot become a command:
//
//	CHECK_NAME CHECK_SLUG CHECK_UUID CHECK_TAGS CHECK_DESC   of the check
//	CHECK_TIMING CHECK_URL                                   when pings are expected; the address of its page
//	PROJECT        name of the project
//	STATUS         up or down
//	REASON         why, in a few words
//	CAUSE          the line of the job's output that says why it failed
//	AT             when the status changed, such as 2026-01-02T03:04:05+00:00
//	DOWN_FOR       how many seconds the check was down; 0 if it is down
//	REMINDER       0, or the number of the reminder that the check is still down
//	OVER           when the check came up, if before this alert was sent
//	LAST_PING      when the last ping came; PING_KIND is its kind
//	EXIT_STATUS    of the last ping
//	DURATION       how many seconds the run took that the last ping ended, such as 41.02
//	BODY_END       the end of the body of the last ping, at most 4,000 bytes
//	ALERT_ID       the same when the command runs again for an alert
//	INCIDENT       the same for all alerts about one outage
//	TEST           1 if a user tries the integration, else 0
//
// A variable without a value is set and empty. NUL characters are dropped. The command gets PATH and HOME of the program
// but no other variable, so that it does not see the program's secrets. Put variables into double quotes:
// "$CHECK_NAME". The standard input is the body of the last ping, at most 10,000 bytes. The working directory is the
// root of the file system.
//
// # The result
//
// Exit status 0 is a delivery. Any other, or death by a signal, is an error with the last line of the output, and is
// retried. Only the first 64 kB of standard output and error are read.
//
// After the time limit, or when the context ends, Notify kills the whole process group. When the command ends, Notify
// kills its background processes too. To let one outlive the command, start it in its own session with setsid.
//
// The package works on Unix systems only.
package shell
