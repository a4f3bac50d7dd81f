package discover

import (
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// runParts reads a line that runs the scripts of a directory, and reports whether it is one. Each script is a job.
func (t *table) runParts(command, source, user string, spec cronSpec) bool {
	if usesAnacron(command) && t.tree.exists(anacron) {
		if _, ok := scriptsOf(command); ok {
			t.leave(source, "run-parts-line", "anacron runs it")
		} else {
			t.leave(source, "anacron", "it gives way to anacron")
		}
		return true
	}
	if strings.Contains(command, runCrons) {
		t.leave(source, "run-parts-line", "")
		t.runCrons(user)
		return true
	}
	p, ok := scriptsOf(command)
	if !ok {
		return false
	}
	t.leave(source, "run-parts-line", "")
	if detail := spec.settle(); detail != "" {
		t.leave(source, "never", detail)
		return true
	}
	for _, file := range t.scriptFiles(p) {
		one := t.script(file, user)
		one.lines = []zoned{{spec, spec.String(), t.zone}}
		one.delays = t.spread(spec)
		if t.random > 0 {
			one.delays = append(one.delays, delay{t.random, "RANDOM_DELAY"})
		}
		t.add(one)
	}
	return true
}

// usesAnacron reports whether a line runs only where anacron is missing.
func usesAnacron(command string) bool {
	for _, c := range parseShell(command).commands {
		if a := c.args(); len(a) > 2 && (a[0] == "test" || a[0] == "[") && a[1] == "-x" && path.Base(a[2]) == "anacron" {
			return strings.Contains(command, "||")
		}
	}
	return false
}

const anacron = "/usr/sbin/anacron"

// parts is a call of run-parts.
type parts struct {
	dir   string
	names *regexp.Regexp
}

// scriptsOf returns the directory whose scripts a command runs.
func scriptsOf(command string) (p parts, ok bool) {
	for _, c := range parseShell(command).commands {
		a := c.args()
		for len(a) > 0 && path.Base(a[0]) != "run-parts" { // behind nice, ionice or env
			w, ok := wrappers[path.Base(a[0])]
			if !ok || w.script == path.Base(a[0]) {
				break
			}
			a = a[1:].skip(w.values).withoutAssignments()
			a = a[min(w.skip, len(a)):]
		}
		if len(a) == 0 || path.Base(a[0]) != "run-parts" {
			continue
		}
		p.names = classicName
		for _, word := range a[1:] {
			if form, ok := strings.CutPrefix(word, "--regex="); ok {
				if names, err := regexp.Compile(form); err == nil {
					p.names = names
				}
			}
		}
		if dir := a[1:].firstWord(set("-a -u --umask --arg")); path.IsAbs(dir) {
			p.dir = path.Clean(dir)
			return p, true
		}
	}
	return p, false
}

// shellRunParts is how the run-parts of Fedora and its relatives begins, which also runs scripts with a dot in their names.
const shellRunParts = "#!/bin/bash"

var dottedName = regexp.MustCompile(`^[^.#][^~,]*$`)

// scriptFiles returns the scripts in a directory that run-parts runs, and leaves out the others.
func (r *reader) scriptFiles(p parts) (files []string) {
	again := r.scripts[p.dir]
	r.scripts[p.dir] = true
	if p.names == classicName && strings.HasPrefix(r.tree.text("/usr/bin/run-parts"), shellRunParts) {
		p.names = dottedName
	}
	leave := func(file, code, detail string) {
		if !again {
			r.leave(file, code, detail)
		}
	}
	names, err := r.tree.names(p.dir)
	if err != nil {
		leave(p.dir, "unreadable", reason(err))
	}
	for _, name := range names {
		file := path.Join(p.dir, name)
		e, err := r.tree.find(file)
		switch {
		case ours(name) || name == "0anacron" || err == nil && e.info.IsDir():
		case !p.names.MatchString(name):
			leave(file, "file-name", "run-parts does not run files of this name")
		case err != nil:
			leave(file, "unreadable", reason(err))
		case !e.info.Mode().IsRegular():
			leave(file, "not-regular", "")
		case e.info.Mode().Perm()&0o111 == 0:
			leave(file, "not-executable", "")
		case !r.System && r.packaged(file):
			leave(file, "packaged", "")
		default:
			files = append(files, file)
		}
	}
	return files
}

// script is the job of a script.
func (r *reader) script(file, user string) run {
	one := run{
		Job:  Job{Source: file, User: user, Command: file, SlugFrom: "file name", Wrap: Wrap{Mode: None, Reason: "script"}},
		key:  user + "\x00" + file + "\x00",
		name: program(file),
	}
	return one
}

// leftScripts leaves out the scripts of directories that nothing runs.
func (r *reader) leftScripts() {
	for _, name := range []string{"hourly", "daily", "weekly", "monthly"} {
		dir := "/etc/cron." + name
		if r.scripts[dir] {
			continue
		}
		for _, file := range r.scriptFiles(parts{dir, classicName}) {
			r.leave(file, "no-schedule", "nothing runs this directory")
		}
	}
}

// interval adds the scripts of a directory that run once in a period.
func (r *reader) interval(p parts, user string, every time.Duration, delays ...delay) {
	for _, file := range r.scriptFiles(p) {
		one := r.script(file, user)
		one.Timeout, one.delays = int64(every/time.Second), delays
		r.add(one)
	}
}

const (
	day = 24 * time.Hour
	// longMonth and year are the longest periods of @monthly and @yearly, the latter as long as a check's may be.
	longMonth, year = 31 * day, 365 * day
	// runCrons is SUSE's program in place of run-parts: every 15 minutes it runs what is due.
	runCrons = "/usr/lib/cron/run-crons"
)

// runCrons adds the scripts that SUSE's run-crons runs.
func (r *reader) runCrons(user string) {
	for name, every := range map[string]time.Duration{"hourly": time.Hour, "daily": day, "weekly": 7 * day, "monthly": longMonth} {
		r.interval(parts{"/etc/cron." + name, classicName}, user, every, delay{15 * time.Minute, "until run-crons looks"})
	}
}

var (
	anacronSet    = regexp.MustCompile(`^[ \t]*([^ \t=]+)[ \t]*=(.*)$`)
	anacronLine   = regexp.MustCompile(`^[ \t]*(\d+|@\S+)[ \t]+(\d+)[ \t]+([^ \t/]+)[ \t]+`)
	anacronPeriod = map[string]time.Duration{"@daily": day, "@weekly": 7 * day, "@monthly": longMonth, "@yearly": year, "@annually": year}
)

// anacrontab reads the table of anacron, if that is installed.
func (r *reader) anacrontab() {
	const file = "/etc/anacrontab"
	if !r.tree.exists(anacron) || !r.tree.exists(file) {
		return
	}
	data, err := r.tree.read(file)
	if err != nil {
		r.leave(file, "unreadable", reason(err))
		return
	}
	t := &table{reader: r, file: file, zone: r.zone}
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		line = strings.TrimSuffix(line, "\n")
		if trimmed := strings.TrimLeft(line, " \t"); trimmed == "" || trimmed[0] == '#' {
			continue
		}
		if found := anacronSet.FindStringSubmatch(line); found != nil {
			if minutes, err := strconv.ParseUint(strings.TrimSpace(found[2]), 10, 16); err == nil && found[1] == "RANDOM_DELAY" {
				t.random = time.Duration(minutes) * time.Minute
			}
			continue
		}
		t.anacronJob(line, n)
	}
}

// anacronJob reads a line of anacrontab: period, delay, name and command.
func (t *table) anacronJob(line string, n int) {
	source := t.source(n)
	found := anacronLine.FindStringSubmatch(line)
	if found == nil || len(found[0]) == len(line) {
		t.leave(source, "bad-line", "")
		return
	}
	every, ok := anacronPeriod[found[1]]
	if days, err := strconv.ParseUint(found[1], 10, 16); err == nil {
		every, ok = min(time.Duration(max(days, 1))*day, year), true
	}
	minutes, err := strconv.ParseUint(found[2], 10, 16)
	if !ok || err != nil {
		t.leave(source, "bad-line", "unknown period or delay")
		return
	}
	delays := []delay{{time.Duration(minutes) * time.Minute, "delay of anacron"}, {t.random, "RANDOM_DELAY"}}
	command := line[len(found[0]):]
	if p, ok := scriptsOf(command); ok {
		t.leave(source, "run-parts-line", "")
		t.interval(p, "root", every, delays...)
		return
	}
	raw, slug, wrapped := unwrap(command)
	one := run{
		Job: Job{Source: source, User: "root", Command: raw, Timeout: int64(every / time.Second), SlugFrom: "job name",
			Reports: serviceOf(raw), MaxRuntime: int64(limit(raw) / time.Second)},
		key: "root\x00" + raw + "\x00", name: found[3], delays: append(delays, sleeps(raw)...),
	}
	if wrapped {
		one.Reports, one.Slug, one.SlugFrom = "rollcall", slug, wrappedLine
	}
	l := cronCommand{command: raw, raw: command, daemon: Cronie, reports: one.Reports != "", slug: t.Host + "-" + slugify(one.name)}
	one.Wrap = l.wrapFor(len(found[0]))
	one.Places = []Place{{File: t.file, Line: n, Wrap: one.Wrap, Wrapped: wrapped}}
	t.add(one)
}
