package check

import (
	"cmp"
	"strings"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
)

// way is a way to report the runs of a job, with lines to copy.
type way struct {
	Name string
	Hint string
	Code string
}

// ways are the ways to ping the check of the page, with its address filled in.
func ways(q *ui.Request) []way {
	c := q.Check
	url := q.Config.PingBaseURL + "/" + c.ID.String()
	fill := strings.NewReplacer("URL", url, "CRON", cmp.Or(cronOf(c.Settings), "0 3 * * *"), "ZONE", c.TZ)
	list := []way{
		{"crontab", "With the rollcall command, which reports the start, the exit status and the output.",
			"CRON  rollcall run --ping-url URL -- /usr/local/bin/job"},
		{"curl", "After the job has succeeded; or with its exit status, whatever that is.",
			"job && curl -fsS -m 10 --retry 5 -o /dev/null URL\njob; curl -fsS -m 10 --retry 5 -o /dev/null URL/$?"},
		{"sh", "With a start, which measures how long the job takes, and its output.",
			"curl -fsS -m 10 --retry 5 -o /dev/null URL/start\nout=$(job 2>&1); status=$?\ncurl -fsS -m 10 --retry 5 -o /dev/null --data-raw \"$out\" URL/$status"},
		{"systemd", "In the service that the timer starts.",
			"[Service]\nType=oneshot\nExecStart=/usr/local/bin/rollcall run --ping-url URL -- /usr/local/bin/job"},
		{"Go", "With package client of this module.",
			"pinger, err := client.NewPinger(\"URL\", nil)\nif err != nil {\n\treturn err\n}\njobErr, pingErr := pinger.Run(ctx, job) // start, then success or failure"},
		{"Python", "",
			"import urllib.request\n\nurllib.request.urlopen(\"URL/start\", timeout=10)\njob()\nurllib.request.urlopen(\"URL\", timeout=10)"},
		{"PowerShell", "",
			"Invoke-RestMethod -Uri URL/start -TimeoutSec 10\n& .\\job.ps1\nInvoke-RestMethod -Uri URL/$LASTEXITCODE -TimeoutSec 10"},
		{"Kubernetes", "In the container of a CronJob, whose image has curl.",
			"schedule: \"CRON\"\ntimeZone: ZONE\n# and in the container:\ncommand: [/bin/sh, -c]\nargs:\n  - |\n    curl -fsS -m 10 --retry 5 -o /dev/null URL/start\n    job; status=$?\n    curl -fsS -m 10 --retry 5 -o /dev/null URL/$status\n    exit $status"},
	}
	if domain := q.Config.PingEmailDomain; domain != "" {
		list = append(list, way{"e-mail", "Any mail to this address is a ping. The keywords of the check decide what it means.", c.ID.String() + "@" + domain})
	}
	for i := range list {
		list[i].Code = fill.Replace(list[i].Code)
	}
	return list
}

// cronOf returns the schedule of a check if crontabs and Kubernetes can read it.
func cronOf(s checks.Settings) string {
	if s.IsCron() && len(strings.Fields(s.Schedule)) == 5 && !strings.Contains(s.Schedule, "\n") && !strings.ContainsAny(s.Schedule, ":~") {
		return s.Schedule
	}
	return ""
}
