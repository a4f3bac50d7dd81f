package main

// The texts of the man pages that are not in the help of a command.

const overviewText = `The command serve runs the service with its database, its API and its pages. The commands run and ping report from jobs.
The other commands administer a service, by its database or by its API.

On the machine of the server, the administration commands need the database of the service. If the service was installed
from a package, they find it, as root and as its user:

    sudo -u rollcall rollcall project list`

const environmentText = `Each flag can also be set by a variable: ROLLCALL_ and the name of the flag in upper case, with _ for -. The variable of
--base-url is ROLLCALL_BASE_URL. A flag on the command line wins over its variable, and an empty variable counts as unset.

A flag that holds a secret has a second variable, with _FILE at its end. It names a file with the value; a line break at
the end of the file is not part of the value.`

const overviewExamples = `Start a service, which prints its keys on an empty database:

    rollcall serve --base-url https://rollcall.example.org

Report each run of a job in a crontab, and run it without rollcall, too:

    ROLLCALL_PING_URL=https://rollcall.example.org/ping/5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f
    0 3 * * *  r=$(PATH=$PATH:/usr/local/bin:$HOME/go/bin; command -v rollcall) || echo "rollcall is missing, nothing is reported" >&2; ${r:+"$r" run -q --} /usr/local/bin/backup

Show when a schedule runs next:

    rollcall schedule '0 3 * * 1-5' --tz Europe/Riga`

// exitStatuses are those of all commands but run.
var exitStatuses = [][2]string{
	{"0", "The command succeeded."},
	{"1", "The command failed."},
	{"2", "The command line is wrong."},
}

var runStatuses = [][2]string{
	{"2", "The command line is wrong, and the command was not run."},
	{"126", "The command could not be run."},
	{"127", "The command was not found."},
	{"128 + N", "Signal N killed the command."},
	{"N", "Any other status is that of the command."},
}

// packagedFiles are the files of an installed package, with what they hold.
var packagedFiles = [][2]string{
	{"/etc/rollcall/rollcall.env", "Settings of the service, as environment variables. Restart the service after a change: systemctl restart rollcall."},
	{"/var/lib/rollcall/rollcall.db", "The SQLite database of the service, unless ROLLCALL_DATABASE is set."},
	{"/usr/lib/systemd/system/rollcall.service", "The systemd unit."},
}
