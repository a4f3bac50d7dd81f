package discover

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// crontabs reads all crontabs of the daemon.
func (r *reader) crontabs() {
	if r.Cron != Busybox {
		if e, err := r.tree.find("/etc/crontab"); e.link != nil || !errors.Is(err, fs.ErrNotExist) {
			r.crontab("/etc/crontab", "")
		}
		r.each("/etc/cron.d", func(name string) { r.cronD("/etc/cron.d/"+name, name) })
	}
	seen := make(map[string]bool)
	for _, dir := range r.spools() {
		e, err := r.tree.find(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.leave(dir, "unreadable", reason(err))
		}
		if err != nil || seen[e.path] {
			continue
		}
		seen[e.path] = true
		r.each(dir, func(name string) { r.spoolFile(path.Join(dir, name), name) })
	}
	if r.Own.User != "" {
		file := path.Join(r.spools()[0], r.Own.User)
		if _, err := r.tree.read(file); err != nil {
			t := &table{reader: r, file: file, user: r.Own.User, zone: r.zone}
			t.read(r.Own.Text)
		}
	}
}

// spools are the directories in which users' crontabs may be.
func (r *reader) spools() []string {
	switch r.Cron {
	case Cronie:
		if r.tree.exists("/var/lib/dpkg/info/cronie.list") {
			return []string{"/var/spool/cron/crontabs"}
		}
		return []string{"/var/spool/cron"}
	case SUSE:
		return []string{"/var/spool/cron/tabs"}
	case Busybox:
		return []string{"/var/spool/cron/crontabs", "/etc/crontabs"}
	}
	return []string{"/var/spool/cron/crontabs"}
}

// each calls fn for the names in a directory.
func (r *reader) each(dir string, fn func(name string)) {
	names, err := r.tree.names(dir)
	if err != nil {
		r.leave(dir, "unreadable", reason(err))
	}
	for _, name := range names {
		fn(name)
	}
}

var classicName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// validName reports whether the daemon reads a file of this name in /etc/cron.d.
func (c Cron) validName(name string) bool {
	if c == Debian || c == Busybox {
		return classicName.MatchString(name)
	}
	for _, suffix := range []string{"~", ".rpmsave", ".rpmorig", ".rpmnew"} {
		if strings.HasSuffix(name, suffix) {
			return false
		}
	}
	return name[0] != '.' && name[0] != '#' && name != ".cron.hostname"
}

// ours reports whether a name is one that nobody takes for a job: the placeholder of packages, or a temporary file of Rollcall.
func ours(name string) bool { return name == ".placeholder" || strings.HasPrefix(name, ".rollcall-") }

func (r *reader) cronD(file, name string) {
	switch e, err := r.tree.find(file); {
	case ours(name) || err == nil && e.info.IsDir():
	case !r.Cron.validName(name):
		r.leave(file, "file-name", "cron does not read files of this name")
	case !r.System && r.packaged(file):
		r.leave(file, "packaged", "")
	default:
		r.crontab(file, "")
	}
}

func (r *reader) spoolFile(file, name string) {
	e, err := r.tree.find(file)
	switch {
	case err == nil && e.info.IsDir() || strings.HasPrefix(name, ".") || r.Cron == Debian && strings.HasPrefix(name, "tmp."):
		return
	case r.Cron == Busybox && (strings.Contains(name, ".") || name == "cron.update"), r.Cron != Debian && !r.Cron.validName(name) && r.Cron != Busybox:
		r.leave(file, "file-name", "cron does not read files of this name")
		return
	case !r.users.known(name):
		r.leave(file, "unknown-user", name)
		return
	}
	r.crontab(file, name)
}

// crontab reads a crontab. User is "" for a system crontab.
func (r *reader) crontab(file, user string) {
	e, err := r.tree.find(file)
	if err == nil {
		if code, detail := r.refused(e, user); code != "" {
			r.leave(file, code, detail)
			return
		}
	}
	var data []byte
	if err == nil {
		data, err = r.tree.open(e)
	}
	switch {
	case err == nil && bytes.IndexByte(data, 0) >= 0:
		r.leave(file, "binary", "it has bytes that no crontab has")
	case errors.Is(err, errTooLarge):
		r.leave(file, "too-large", reason(err))
	case errors.Is(err, errNotRegular):
		r.leave(file, "not-regular", "cron reads regular files only")
	case err != nil:
		r.leave(file, "unreadable", reason(err))
	default:
		t := &table{reader: r, file: file, user: user, zone: r.zone}
		if r.Cron == Busybox {
			t.shell = r.users.byName["root"].shell // that of the daemon's user, unless its environment has another
		}
		t.read(string(data))
	}
}

// refused says why the daemon does not trust a file, or "".
func (r *reader) refused(e entry, user string) (code, detail string) {
	mode := e.info.Mode()
	if e.link != nil && user != "" && r.Cron == Debian {
		return "link", "cron does not follow links here"
	}
	if owner := r.wrongOwner(e.info, user); owner {
		return "owner", "the file does not belong to the right user"
	}
	if e.link != nil && r.Cron == Debian && r.wrongOwner(e.link, "") {
		return "owner", "the link does not belong to root"
	}
	switch {
	case !mode.IsRegular() || r.Cron == Busybox:
	case r.Cron == Debian && user != "":
		if mode.Perm() != 0o600 || mode&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0 {
			return "mode", "it must be 0600"
		}
	case mode.Perm()&0o022 != 0:
		return "mode", "writable by group or others"
	case r.Cron != Debian && (mode.Perm()&0o533 != 0o400 || mode&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0):
		return "mode", "executable, or not readable by its owner"
	}
	return "", ""
}

// wrongOwner reports whether a file belongs neither to root nor to the user whose crontab it is.
func (r *reader) wrongOwner(info fs.FileInfo, user string) bool {
	if r.Owner == nil {
		return false
	}
	uid, ok := r.Owner(info)
	if !ok || uid == 0 {
		return false
	}
	id, known := r.users.id(user)
	return r.Cron == Busybox || user == "" || known && uid != id
}

// table reads the lines of one crontab.
type table struct {
	*reader
	file, user  string // user is "" for a system crontab
	zone, shell string
	random      time.Duration // RANDOM_DELAY
	zoneIgnored bool
	continued   bool // the line that is read has several lines of the file
	cut         bool // it ends at a # that is no comment for a shell
}

func (t *table) source(n int) string { return t.file + ":" + strconv.Itoa(n) }

// maxLines is how many lines Debian's cron reads, with those that it writes into a spool file itself.
const maxLines = 10_004

// read reads the text of a crontab. Debian's cron ignores a file with a fault.
func (t *table) read(text string) {
	runs, left := len(t.runs), len(t.found.LeftOut)
	n, code, detail := 0, "", ""
	for rest := text; rest != "" && code == ""; {
		var line string
		var ended bool
		number := n + 1
		line, rest, ended = strings.Cut(rest, "\n")
		t.continued = false
		for n++; t.Cron == Busybox && strings.HasSuffix(line, `\`) && rest != ""; n++ {
			var more string
			more, rest, _ = strings.Cut(rest, "\n")
			line, t.continued = line[:len(line)-1]+more, true
		}
		code, detail = t.line(line, number, ended)
	}
	if n >= maxLines && t.Cron == Debian && code == "" {
		code, detail = "file-ignored", "more than 10000 lines"
	}
	if code != "" {
		t.runs, t.found.LeftOut = t.runs[:runs], t.found.LeftOut[:left]
		t.leave(t.file, code, detail)
	}
}

// line reads a line. It returns why the daemon ignores the whole file, or "".
func (t *table) line(line string, n int, ended bool) (code, detail string) {
	trimmed := strings.TrimLeft(line, " \t")
	switch {
	case trimmed == "":
		return "", ""
	case trimmed[0] == '#':
		t.comment(trimmed, n)
		return "", ""
	case !ended && t.Cron == Debian:
		return "no-final-newline", "cron ignores the whole file"
	case !ended && t.Cron != Busybox:
		t.leave(t.source(n), "no-final-newline", "cron ignores the last line")
		return "", ""
	}
	if t.Cron == Busybox {
		line, t.cut = uncommented(line)
		trimmed = strings.TrimLeft(line, " \t")
	}
	if name, value, ok := t.Cron.assign(trimmed); ok {
		t.set(name, value)
	} else if err := t.job(line, n); err != nil && t.Cron == Debian {
		return "file-ignored", fmt.Sprintf("line %d: %v", n, err)
	} else if err != nil {
		t.leave(t.source(n), "bad-line", err.Error())
	}
	return "", ""
}

// uncommented returns what BusyBox's crond reads of a line: what stands before the first #. It reports whether a shell would have read
// on, because that is within a word or quotes.
func uncommented(line string) (before string, within bool) {
	before, _, found := strings.Cut(line, "#")
	return before, found && (trimBlanks(before) == before || strings.Count(before, "'")%2 > 0 || strings.Count(before, `"`)%2 > 0)
}

// set notes a variable that changes how jobs run.
func (t *table) set(name, value string) {
	cronie := t.Cron == Cronie || t.Cron == SUSE
	switch {
	case name == "SHELL":
		t.shell = value
	case name == "CRON_TZ" && cronie:
		t.zone, t.zoneIgnored = value, false
		if !knownZone(value) {
			t.zone = "UTC" // what the C library takes an unknown zone for
		}
	case name == "CRON_TZ" || name == "TZ":
		t.zoneIgnored = true
	case name == "RANDOM_DELAY" && cronie:
		if n, err := strconv.ParseUint(value, 10, 16); err == nil && n <= 24*60 {
			t.random = time.Duration(n) * time.Minute
		}
	}
}

// debianExample is in the crontab that Debian gives every user to edit.
const debianExample = "0 5 * * 1 tar -zcf /var/backups/home.tgz /home/"

// comment lists a comment that would be a job without its #.
func (t *table) comment(text string, n int) {
	text = strings.TrimLeft(text, "# \t")
	if text == "" || strings.TrimSpace(text) == debianExample {
		return
	}
	if _, _, ok := t.Cron.assign(text); ok {
		return
	}
	e, err := t.Cron.parse(text, t.user == "", t.user == "root", t.users.known)
	if err == nil && !strings.HasPrefix(e.command, "#") {
		t.leave(t.source(n), "disabled", "")
	}
}

// job reads a line that is a job. The error is that of the daemon.
func (t *table) job(text string, n int) error {
	e, err := t.Cron.parse(text, t.user == "", t.user == "root", t.users.known)
	source := t.source(n)
	switch {
	case errors.Is(err, errNothing):
		t.leave(source, "no-command", "")
		return nil
	case err != nil:
		return err
	case strings.HasPrefix(e.command, "#"):
		t.leave(source, "no-command", "the command is a comment")
		return nil
	case e.reboot:
		t.leave(source, "reboot", "it has no schedule")
		return nil
	}
	e.user = cmp.Or(t.user, e.user)
	raw, slug, wrapped := unwrap(e.command)
	command, stdin, piped := t.Cron.decode(raw)
	if t.Cron == Busybox {
		command = trimBlanks(command) // between it and #, quoted when it was wrapped
	}
	if t.runParts(command, source, e.user, e.spec) {
		return nil
	}
	if detail := e.spec.settle(); detail != "" {
		t.leave(source, "never", detail)
		return nil
	}
	one := t.entry(e, command, stdin)
	one.Source = source
	if wrapped {
		one.Reports, one.Slug, one.SlugFrom = "rollcall", slug, wrappedLine
	}
	l := cronCommand{command: command, raw: e.command, stdin: piped, shell: t.shell, daemon: t.Cron, reports: one.Reports != "", slug: t.Host + "-" + slugify(one.name)}
	if one.Wrap = l.wrapFor(e.at); t.continued && one.Wrap.Mode != None {
		one.Wrap = Wrap{Mode: None, Reason: "continued"}
	}
	one.Places = []Place{{File: t.file, Line: n, Wrap: one.Wrap, Wrapped: wrapped}}
	t.warnings(&one.Job, e, piped)
	t.add(one)
	return nil
}

// entry is the job of a line.
func (t *table) entry(e entryLine, command, stdin string) run {
	one := run{
		Job: Job{User: e.user, Command: command, Stdin: stdin, SlugFrom: "command", Reports: serviceOf(command),
			MaxRuntime: int64(limit(command) / time.Second)},
		lines:  []zoned{{e.spec, e.spec.String(), t.zone}},
		key:    e.user + "\x00" + command + "\x00" + stdin,
		name:   commandName(command),
		delays: append(t.spread(e.spec), sleeps(command)...),
	}
	if slug := slugOf(command); one.Reports == "rollcall" && slug != "" {
		one.Slug, one.SlugFrom = slug, wrappedLine
	}
	if t.random > 0 {
		one.delays = append(one.delays, delay{t.random, "RANDOM_DELAY"})
	}
	return one
}

// spread returns the delays of random starts.
func (t *table) spread(spec cronSpec) []delay {
	unit := [5]time.Duration{time.Minute, time.Hour, 24 * time.Hour, 31 * 24 * time.Hour, 24 * time.Hour}
	var by time.Duration
	for i, f := range spec.fields {
		by += time.Duration(f.spread) * unit[i]
	}
	if by == 0 {
		return nil
	}
	return []delay{{by, "random start (~)"}}
}

var fieldLike = regexp.MustCompile(`^(?i:(\*|\?|\d+|sun|mon|tue|wed|thu|fri|sat)([-,/#](\*|\d+|sun|mon|tue|wed|thu|fri|sat))*|\d*LW?)$`)

// namedLikeUsers are programs whose names some systems have as users, too.
var namedLikeUsers = set("mail man sync news git")

// warnings adds what is worth a look.
func (t *table) warnings(job *Job, e entryLine, stdin bool) {
	words := strings.Fields(e.command)
	if strings.Contains(e.command, "\r") {
		job.warn("carriage-return")
	}
	if stdin {
		job.warn("stdin")
	}
	if parseShell(job.Command).background {
		job.warn("background")
	}
	if t.user != "" && len(words) > 1 {
		switch first := words[0]; {
		case fieldLike.MatchString(first):
			job.warn("six-fields")
		case t.users.listed(first) && !namedLikeUsers[first] && words[1][0] != '-':
			job.warn("user-in-user-crontab")
		}
	}
	if t.cut {
		job.warn("hash")
	}
	if t.zoneIgnored {
		job.warn("zone-ignored")
	}
	if slices.ContainsFunc(e.spec.fields[:], func(f cronField) bool { return f.junk }) {
		job.warn("junk-in-field")
	}
	if len(t.spread(e.spec)) > 0 {
		job.warn("random-start")
	}
}
