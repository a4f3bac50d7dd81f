package discover

import "encoding/json"

// Found is what a machine runs by schedule.
type Found struct {
	Jobs    []Job     `json:"jobs"`
	LeftOut []LeftOut `json:"left_out"`
}

// Job is one job and the check that would watch it.
type Job struct {
	// Source is a line of a crontab ("/etc/crontab:17"), a script ("/etc/cron.daily/backup"), a timer
	// ("backup.timer"), or a CronJob ("NAMESPACE/NAME").
	Source string `json:"source"`
	// Also has further lines with the same command of the same user.
	Also []string `json:"also,omitempty"`
	// Service is the unit that a timer starts.
	Service string `json:"service,omitempty"`
	User    string `json:"user,omitempty"`
	// Command is what the shell gets, byte for byte: after cron has decoded its % and \, and without what
	// Rollcall put around it. It may not be UTF-8; MarshalJSON then writes it as command_base64.
	Command string `json:"-"`
	// Stdin is what cron writes to the standard input of the command: what follows the first %.
	Stdin string `json:"-"`
	// Schedule is in Rollcall's language, with single blanks: that of all lines. It is empty if Timeout is set.
	Schedule string `json:"schedule,omitempty"`
	// TZ is the zone of Schedule, a name of the IANA database.
	TZ string `json:"tz,omitempty"`
	// Timeout is the interval of a job without a calendar, in seconds.
	Timeout int64  `json:"timeout,omitempty"`
	Slug    string `json:"slug"`
	// SlugFrom says what Slug was derived from: "command", "service name", "file name", "job name", "wrapped line",
	// "annotation", "namespace and name"; with " + hash" if two jobs had one name.
	SlugFrom string `json:"slug_from"`
	// ShortestGap is the shortest time between two runs, in seconds.
	ShortestGap int64 `json:"shortest_gap"`
	// Grace is in seconds; GraceWhy has its parts.
	Grace    int64    `json:"grace"`
	GraceWhy []string `json:"grace_why"`
	// MaxRuntime is how long a run may take, in seconds; 0 if nothing limits it.
	MaxRuntime int64 `json:"max_runtime,omitempty"`
	// Reports names the service to which the job reports already, such as "rollcall" or "healthchecks".
	Reports  string   `json:"reports,omitempty"`
	Warnings []string `json:"warnings"`
	Wrap     Wrap     `json:"wrap"`
	// OfUser says that the service belongs to the user's own systemd.
	OfUser bool `json:"-"`
	// Places are the lines of Source and Also, and of exact copies, that run the job. It is empty for what is not in a crontab.
	Places []Place `json:"-"`
}

// Place is a line of a crontab that runs a job.
type Place struct {
	File string
	Line int // from 1
	// Wrap is that of the line: lines of one job can differ in their shell, and in what stands in front of the command.
	Wrap Wrap
	// Wrapped says that Rollcall has wrapped the line.
	Wrapped bool
}

// Wrap says how the job can be made to report.
type Wrap struct {
	Mode Mode `json:"mode"`
	// InsertAt is the byte of the line where the command begins: behind the fields, the user and options of cron.
	InsertAt int `json:"insert_at,omitempty"`
	// Shell is the absolute path of the crontab's shell in mode shell.
	Shell string `json:"shell,omitempty"`
	// Reason says why Mode is None: "background", "carriage-return", "continued", "shell", "too-long", "script", "reports",
	// "kubernetes", "service-type", "network", "sandbox".
	Reason string `json:"reason,omitempty"`
}

// Mode is a way to make a job report.
type Mode string

// The modes.
const (
	Plain  Mode = "plain"   // a prefix in front of the command
	Shell  Mode = "shell"   // a prefix, and the command quoted for the shell
	DropIn Mode = "drop-in" // a drop-in beside the unit
	None   Mode = "none"    // not by Rollcall
)

// LeftOut is something that looks like a job and gets no check.
type LeftOut struct {
	Source string `json:"source"`
	// Reason is a code, such as "disabled" or "file-ignored". Detail is for people.
	Reason string `json:"reason"`
	Detail string `json:"detail,omitempty"`
}

var _ json.Marshaler = Job{}
