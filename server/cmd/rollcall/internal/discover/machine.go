package discover

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/checks/schedule"
)

// Machine is a machine whose jobs are read.
type Machine struct {
	// FS is its file system from the root. It must have symbolic links (fs.ReadLinkFS). Opening a file must not wait.
	FS fs.FS
	// Owner returns the user ID of a file. Nil means that owners are unknown, and no rule about them applies.
	Owner func(fs.FileInfo) (uid int, ok bool)
	// Cron is the kind of its cron daemon. "" finds it out.
	Cron Cron
	// Host is its name, of which slugs have the part before the first dot, or none for "".
	Host string
	// System includes the jobs of packages of the distribution.
	System bool
	// Packaged reports which of some files belong to a package, beside what the databases of dpkg and apk say. It may be nil.
	Packaged func(paths []string) map[string]bool
	// Own is the crontab of the user who runs the program, for one who cannot read the spool.
	Own OwnCrontab
	// Timers is the output of "systemctl show" for timers, or "" if systemd does not run there.
	Timers string
	// Now is the current time.
	Now time.Time
}

// OwnCrontab is a crontab as "crontab -l" prints it, with its first lines. The zero value is none.
type OwnCrontab struct{ User, Text string }

// reader reads a machine.
type reader struct {
	Machine
	tree     tree
	zone     string
	users    users
	packages packages
	found    Found
	runs     []run
	// scripts are the directories that some line runs by run-parts.
	scripts map[string]bool
}

// run is one schedule of a job, before jobs with the same command become one.
type run struct {
	Job
	lines  []zoned // of crontabs
	key    string  // runs with the same key are one job
	name   string  // what the slug is made of
	delays []delay
}

// Read returns the jobs of a machine and what it leaves out. It changes nothing. What cannot be read is left out.
func (m Machine) Read() Found {
	r := &reader{Machine: m, tree: tree{m.FS}, scripts: make(map[string]bool)}
	if r.Cron == "" {
		r.Cron, _ = m.FindCron()
	}
	r.zone = m.Zone()
	r.users = r.readUsers()
	r.packages = r.readPackages()
	r.crontabs()
	r.anacrontab()
	r.leftScripts()
	r.timers()
	return r.finish()
}

// maxJobs bounds the jobs of a machine.
const maxJobs = 5_000

// add adds a run of a job, unless a hostile file has too many.
func (r *reader) add(one run) {
	if len(r.runs) == maxJobs {
		r.leave(one.Source, "too-many", "more than 5000 jobs")
	}
	if len(r.runs) <= maxJobs {
		r.runs = append(r.runs, one)
	}
}

// leave leaves something out.
func (r *reader) leave(source, reason, detail string) {
	r.found.LeftOut = append(r.found.LeftOut, LeftOut{source, reason, detail})
}

// finish turns the runs into jobs with their own slugs.
func (r *reader) finish() Found {
	var jobs []run
	byKey := make(map[string]int)
	for _, one := range r.runs[:min(len(r.runs), maxJobs)] {
		i, seen := byKey[one.key]
		if !seen || one.key == "" {
			byKey[one.key] = len(jobs)
			jobs = append(jobs, one)
			continue
		}
		r.join(&jobs[i], one)
	}
	named := make(map[string]int)
	for i := range jobs {
		if r.schedule(&jobs[i]) {
			setSlug(&jobs[i], r.Host)
			named[jobs[i].Slug]++
		}
	}
	for _, one := range jobs {
		if one.Slug == "" {
			continue // its schedule is left out
		}
		if named[one.Slug] > 1 && one.SlugFrom != wrappedLine && one.SlugFrom != annotation {
			addHash(&one.Job)
		}
		r.found.Jobs = append(r.found.Jobs, one.Job)
	}
	slices.SortStableFunc(r.found.Jobs, func(a, b Job) int { return bySource(a.Source, b.Source) })
	slices.SortStableFunc(r.found.LeftOut, func(a, b LeftOut) int { return bySource(a.Source, b.Source) })
	if r.found.Jobs == nil {
		r.found.Jobs = []Job{}
	}
	if r.found.LeftOut == nil {
		r.found.LeftOut = []LeftOut{}
	}
	return r.found
}

// bySource orders lines of a file by their numbers.
func bySource(a, b string) int {
	fileA, lineA, _ := strings.Cut(a, ":")
	fileB, lineB, _ := strings.Cut(b, ":")
	return cmp.Or(cmp.Compare(fileA, fileB), cmp.Compare(len(lineA), len(lineB)), cmp.Compare(lineA, lineB))
}

// What a slug is made of.
const (
	wrappedLine = "wrapped line"
	annotation  = "annotation"
)

// join adds a further line to the job with the same command.
func (r *reader) join(job *run, line run) {
	job.Places = append(job.Places, line.Places...)
	if line.SlugFrom == wrappedLine && job.SlugFrom != wrappedLine {
		job.SlugFrom, job.name, job.Slug = line.SlugFrom, line.name, line.Slug
	}
	for _, warning := range line.Warnings {
		job.warn(warning)
	}
	if len(line.lines) == 0 {
		return // another interval of the same
	}
	more := line.lines[0]
	for _, other := range job.lines {
		if other.zone == more.zone && other.expr == more.expr {
			if line.Source != job.Source {
				r.leave(line.Source, "duplicate", job.Source)
			}
			return
		}
	}
	if len(job.lines) > maxUnion {
		return
	}
	job.lines = append(job.lines, more)
	job.delays = append(job.delays, line.delays...)
	if line.Source != job.Source {
		job.Also = append(job.Also, line.Source)
	}
}

// warn adds a warning once.
func (j *Job) warn(code string) {
	if !slices.Contains(j.Warnings, code) {
		j.Warnings = append(j.Warnings, code)
	}
}

// schedule sets the schedule and the grace time. It leaves out a job that no check can watch.
func (r *reader) schedule(job *run) bool {
	tooMany := len(job.lines) > maxUnion
	if len(job.lines) > 0 && !tooMany {
		job.Schedule, job.TZ = union(job.lines)
	}
	gap := time.Duration(job.Timeout) * time.Second
	if job.Timeout == 0 {
		if tooMany || len(job.Schedule) > maxSchedule {
			r.leave(job.Source, "schedule-too-long", "its schedule needs more than 100 characters")
			return false
		}
		var err error
		if gap, err = shortestGap(job.Schedule, r.Now); err != nil {
			r.leave(job.Source, "bad-schedule", err.Error())
			return false
		}
		if ok, err := fires(job.Schedule, job.TZ, r.Now); err != nil || !ok {
			r.leave(job.Source, "never", "no run is to come")
			return false
		}
	}
	longest := make(map[string]delay)
	var delays []delay
	for _, d := range job.delays {
		if d.by > longest[d.why].by {
			longest[d.why] = d
		}
	}
	for _, d := range job.delays {
		if longest[d.why] == d && !slices.Contains(delays, d) {
			delays = append(delays, d)
		}
	}
	job.setGrace(gap, delays)
	if job.Warnings == nil {
		job.Warnings = []string{}
	}
	return true
}

// setSlug makes the slug of a name, unless the job has one already.
func setSlug(job *run, host string) {
	if job.Slug != "" {
		return
	}
	name := slugify(job.name)
	if name == "" {
		name = "job"
	}
	if host = HostSlug(host); host != "" {
		name = host + "-" + name
	}
	job.Slug = cut(name, maxName)
}

// HostSlug returns the host in slugs: the name up to the first dot.
func HostSlug(host string) string {
	host, _, _ = strings.Cut(host, ".")
	return slugify(host)
}

// addHash makes a slug that several jobs have their own.
func addHash(job *Job) {
	sum := sha256.Sum256([]byte(job.User + "\x00" + job.Command))
	hash := "-" + hex.EncodeToString(sum[:2])
	job.Slug = cut(job.Slug, maxName-len(hash)) + hash
	job.SlugFrom += " + hash"
}

// known reports whether a zone exists.
func knownZone(zone string) bool {
	_, err := schedule.LoadLocation(zone)
	return zone != "" && err == nil
}
