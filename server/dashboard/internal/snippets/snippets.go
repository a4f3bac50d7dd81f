// Package snippets has lines to copy that run a job and report it to a check.
//
// Each runs the job exactly once, whatever happens to the pings, and passes on its output and its exit status. A test runs
// them with a server, without one, with one that redirects, with a long output, and with a job that fails. The files are
// complete: the example values in them are replaced by those of the check.
package snippets

import (
	"cmp"
	"embed"
	"strconv"
	"strings"

	"github.com/rollcall-dev/rollcall/checks"
)

//go:embed files
var files embed.FS

// Params are what the lines are made for.
type Params struct {
	PingURL string
	// Settings are those of the check.
	Settings checks.Settings
	// BodyLimit is how many bytes of a body the server keeps.
	BodyLimit int64
	// Email is the address that takes pings, or "".
	Email string
}

// Way is a way to run a job, in one language or by one program.
type Way struct {
	Name string
	// Snippets are alternatives. One is enough.
	Snippets []Snippet
}

// Snippet is text to copy, and what to know about it.
type Snippet struct {
	Note, Code string
}

// ways lists the files, the shortest of each way at its beginning.
var ways = []struct {
	name  string
	files []struct{ file, note string }
}{
	{"crontab", []struct{ file, note string }{
		{"curl-success.crontab", "With curl: reports each success."},
		{"curl-status.crontab", "With curl: reports the exit status."},
		{"rollcall.crontab", "With the rollcall command: reports the start, the exit status and the output."},
	}},
	{"systemd", []struct{ file, note string }{
		{"job.service", "In the service: reports the start, the exit status and the output."},
		{timerFile, "The timer of the service, in the time zone of the check."},
	}},
	{"Kubernetes", []struct{ file, note string }{{"cronjob.yaml", "The specification of a CronJob. Reports the start and the exit status."}}},
	{"sh", []struct{ file, note string }{{"job.sh", "Reports the start, the exit status and the end of the output, which also goes where it went before."}}},
	{"bash", []struct{ file, note string }{{"job.bash", "Reports the start, the exit status and the end of the output, which also goes where it went before."}}},
	{"PowerShell", []struct{ file, note string }{{"job.ps1", "Reports the start, then the exit status and the end of the output."}}},
	{"Python", []struct{ file, note string }{{"job.py", "Reports the start, then the exit status with what Python printed and the traceback."}}},
	{"Go", []struct{ file, note string }{{"main.go.txt", "With package client of this module."}}},
	{"Node.js", []struct{ file, note string }{{"job.js", "From version 18. Reports the start, then the exit status with what the script printed."}}},
	{"PHP", []struct{ file, note string }{{"job.php", "For php-cli. Reports the start, then success or failure with what the script printed."}}},
	{"Ruby", []struct{ file, note string }{{"job.rb", "Before a script: reports the start, then the exit status with what the script printed."}}},
	{"Perl", []struct{ file, note string }{{"job.pl", "Before a script: reports the start, then the exit status with what the script printed."}}},
}

const timerFile = "job.timer"

// For returns the ways to ping a check.
func For(p Params) []Way {
	timer, skips := onCalendar(p.Settings)
	fill := p.replacer(timer)
	var list []Way
	for _, w := range ways {
		way := Way{Name: w.name}
		for _, s := range w.files {
			content, err := files.ReadFile("files/" + s.file)
			if err != nil {
				panic(err) // they are a part of the program
			}
			code := strings.TrimSuffix(string(content), "\n")
			note := s.note
			switch {
			case s.file == timerFile && timer == "":
				continue
			case s.file == timerFile && skips:
				note += " Where the clock is set forward over a run, systemd skips that run: to expect the same, give the check the schedule of the timer."
			case strings.HasSuffix(s.file, ".crontab") && zoneMatters(p.Settings):
				code = cronZone + code
			}
			way.Snippets = append(way.Snippets, Snippet{note, fill.Replace(code)})
		}
		list = append(list, way)
	}
	if p.Email != "" {
		list = append(list, Way{"e-mail", []Snippet{{"Any mail to this address is a ping. The keywords of the check decide what it means.", p.Email}}})
	}
	return list
}

// The example values in the files.
const (
	exampleURL   = "https://rollcall.example.org/ping/UUID"
	exampleZone  = "Europe/Riga"
	exampleCron  = "0 3 * * *"
	exampleTimer = "*-*-* 03:00:00 " + exampleZone
	exampleLimit = "100000"
)

// cronZone sets the time zone of a crontab.
const cronZone = `# Works with cronie (Fedora, RHEL, Arch, SUSE). The cron of Debian and Ubuntu ignores CRON_TZ and uses the host's zone:
# there, use a systemd timer, or give the check the host's zone.
CRON_TZ=` + exampleZone + "\n"

// replacer replaces the example values by those of the check.
func (p Params) replacer(timer string) *strings.Replacer {
	zone := "Etc/UTC"
	if p.Settings.IsCron() {
		zone = cmp.Or(p.Settings.TZ, zone)
	}
	limit := exampleLimit
	if p.BodyLimit > 0 {
		limit = strconv.FormatInt(p.BodyLimit, 10)
	}
	return strings.NewReplacer(exampleURL, p.PingURL, exampleTimer, timer, exampleCron, cmp.Or(cron(p.Settings), exampleCron),
		exampleZone, zone, exampleLimit, limit)
}
