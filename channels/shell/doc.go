// Package shell delivers alerts by running a command: it is the
// [channels.Notifier] of the kind [Shell].
//
// Whoever can make a channel of this kind runs commands as the user that the
// program runs as. So it is not one of [channels.Kinds]: a program whose users
// are all trusted adds it.
//
//	mon, err := monitor.New(store, &monitor.Config{
//		Kinds:     append(channels.Kinds(), shell.Kind()),
//		Notifiers: map[channels.Kind]channels.Notifier{shell.Shell: shell.New(nil)},
//	})
//
// # The command
//
// The settings command_down and command_up are given to /bin/sh -c as they are:
// nothing is put into them, so the name of a check cannot become a command.
// The alert is in environment variables:
//
//	CHECK_NAME CHECK_SLUG CHECK_UUID CHECK_TAGS CHECK_DESC   of the check
//	CHECK_TIMING CHECK_URL                                   when pings are expected; its address in the API
//	PROJECT        name of the project
//	STATUS         up or down
//	REASON         why, in a few words
//	AT             when the status changed, such as 2026-01-02T03:04:05+00:00
//	DOWN_FOR       how many seconds the check was down; 0 in alerts that it is down
//	REMINDER       0, or which reminder that the check is still down this is
//	OVER           when the check came up, if that was before this alert that it is down
//	LAST_PING      when the last ping came; PING_KIND is its kind
//	EXIT_STATUS    of the last ping
//	ALERT_ID       the same when the command is run again for an alert
//	INCIDENT       the same for all alerts of one period of being down
//	TEST           1 if a user tries the channel, else 0
//
// What there is none of is set and empty. NUL characters are left out. PATH and
// HOME are those of the program, and no other variable of the program is passed
// on, so its secrets are not. In the command, put variables into double quotes:
// "$CHECK_NAME". The body of the last ping, at most 10,000 bytes, is the standard
// input; the working directory is the root of the file system.
//
// # The result
//
// Exit status 0 is a delivery. Any other is an error to try again with the last
// line of the output, as is a command that was killed. Standard output and error
// are read together, the first 64 kB; the rest is thrown away. After the time
// limit, or when the context ends, the whole process group is killed; what the
// command has left in the background when it ends is killed too. A user who
// wants something to outlive the command starts it in a session of its own, by
// setsid.
//
// The package works on Unix systems only.
package shell
