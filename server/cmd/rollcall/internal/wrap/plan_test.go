//go:build unix

package wrap

import (
	"bytes"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// now is the time of all tests.
var now = time.Date(2026, 12, 31, 12, 0, 0, 0, time.UTC)

// site is a machine below a directory. Its users are ines, who runs the test, and oskar.
type site struct {
	*Machine
	t *testing.T
}

func newSite(t *testing.T) site {
	t.Helper()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	s := site{&Machine{Root: t.TempDir(), UID: os.Getuid(), Binary: "/usr/bin/rollcall"}, t}
	s.write("/etc/passwd", fmt.Sprintf("ines:x:%s:%s::/home/ines:/bin/sh\noskar:x:4242:4242::/home/oskar:/bin/sh\n", me.Uid, me.Gid), 0o644)
	s.write("/etc/group", fmt.Sprintf("ines:x:%s:\nteam:x:4343:ines,oskar\n", me.Gid), 0o644)
	s.write("/usr/bin/rollcall", "", 0o755)
	s.write("/home/ines/.config/rollcall/ping.env", "ROLLCALL_PING_KEY=k\n", 0o600)
	s.write(systemSettings, "ROLLCALL_PING_KEY=k\n", 0o600)
	return s
}

func (s site) write(path, text string, mode os.FileMode) {
	s.t.Helper()
	full := filepath.Join(s.Root, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), mode); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Chmod(full, mode); err != nil {
		s.t.Fatal(err)
	}
}

func (s site) read(path string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.Root, path))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// names returns the names in a directory.
func (s site) names(path string) string {
	s.t.Helper()
	list, err := os.ReadDir(filepath.Join(s.Root, path))
	if err != nil {
		s.t.Fatal(err)
	}
	var names []string
	for _, entry := range list {
		names = append(names, entry.Name())
	}
	return strings.Join(names, " ")
}

func (s site) apply(p Plan) string {
	s.t.Helper()
	backups, err := p.Apply(now)
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimPrefix(backups, s.Root)
}

// job is a job of ines in a line of a file.
func job(file string, line, at int) Job {
	return Job{Source: fmt.Sprint(file, ":", line), User: "ines", Slug: "alder-x", File: file, Line: line, Command: Command{At: at, End: '%', Max: MaxDebian}}
}

func (s site) left(p Plan, want string) {
	s.t.Helper()
	var got []string
	for _, l := range p.Left {
		got = append(got, l.Source+" "+l.Reason)
	}
	if strings.Join(got, ", ") != want {
		s.t.Errorf("left as they are: %v, want %s\n%+v", got, want, p.Left)
	}
}

const (
	site1      = "/etc/cron.d/site"
	text1      = "# my jobs\nMAILTO=ines\n\n0 3 * * * ines /opt/x --all\n\xff 'odd \\% \"comment\"\n5 4 * * * ines /opt/y%in\n"
	wrapPrefix = `[ -x /usr/bin/rollcall ] && set -- /usr/bin/rollcall run --settings /etc/rollcall/ping.env --slug alder-x --; "$@" `
)

// TestWrapsAndUnwraps changes a line of a file and a service, keeps their modes and all other bytes, and restores them.
func TestWrapsAndUnwraps(t *testing.T) {
	s := newSite(t)
	s.write(site1, text1, 0o640)
	spool := "/var/spool/cron/crontabs/ines"
	s.write(spool, "@daily /opt/z", 0o600)
	jobs := []Job{job(site1, 4, 15), job(site1, 6, 15), job(spool, 1, 7), {Source: "b.timer", User: "ines", Slug: "alder-b", Service: "b.service"}}
	p := s.Wrap(jobs)
	s.left(p, "")
	want := strings.NewReplacer("/opt/x", wrapPrefix+"/opt/x", "/opt/y", wrapPrefix+"/opt/y").Replace(text1)
	backups := s.apply(p)
	if got := s.read(site1); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := s.read(spool); !strings.HasSuffix(got, `--settings /home/ines/.config/rollcall/ping.env --slug alder-x --; "$@" /opt/z`) {
		t.Error(got)
	}
	dropIn := "/etc/systemd/system/b.service.d/50-rollcall.conf"
	if got := s.read(dropIn); !strings.Contains(got, "\nExecStopPost=-/usr/bin/rollcall ping --from-systemd --settings /etc/rollcall/ping.env --slug alder-b\n") {
		t.Error(got)
	}
	if info, _ := os.Stat(filepath.Join(s.Root, site1)); info.Mode().Perm() != 0o640 {
		t.Error(info.Mode())
	}
	if got := s.read(backups + site1); got != text1 {
		t.Errorf("backup: %q", got)
	}
	if got := s.names("/etc/cron.d"); got != "site" {
		t.Error(got)
	}
	if again := s.Wrap(jobs); len(again.Changes) != 0 || len(again.Left) != 4 {
		t.Errorf("again: %+v", again)
	}
	s.write(site1, strings.Replace(s.read(site1), "--all", "--some", 1)+"# a new line\n", 0o640)
	const mail = "/var/spool/cron/cron.ines.4711" // of BusyBox's crond, about the run of a line
	s.write(mail, "Subject: cron: "+wrapPrefix+"/opt/z\n", 0o600)
	p = s.Unwrap()
	s.left(p, "")
	p.machine.mustApply(t, p, now.Add(time.Second))
	if got, want := s.read(site1), strings.Replace(text1, "--all", "--some", 1)+"# a new line\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := s.read(spool); got != "@daily /opt/z" {
		t.Error(got)
	}
	if got := s.read(mail); !strings.Contains(got, wrapPrefix) {
		t.Error(got)
	}
	if got := s.names("/etc/systemd/system"); got != "" {
		t.Error(got)
	}
	if p := s.Unwrap(); len(p.Changes) != 0 {
		t.Errorf("unwrapped twice: %+v", p)
	}
}

func (m *Machine) mustApply(t *testing.T, p Plan, at time.Time) {
	t.Helper()
	if _, err := p.Apply(at); err != nil {
		t.Fatal(err)
	}
}

// TestLeavesAlone names the reason for each job that stays as it is.
func TestLeavesAlone(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(s site)
		change  func(j *Job)
		reason  string
	}{
		"rollcall that everybody can write":    {prepare: func(s site) { s.write("/usr/bin/rollcall", "", 0o777) }, reason: "binary"},
		"a directory that everybody can write": {prepare: func(s site) { os.Chmod(filepath.Join(s.Root, "/usr/bin"), 0o777) }, reason: "binary"},
		"rollcall in a directory of others": {prepare: func(s site) {
			s.write("/opt/others/rollcall", "", 0o755)
			os.Chmod(filepath.Join(s.Root, "/opt/others"), 0o777)
			s.Binary = "/usr/local/bin/rollcall"
			os.MkdirAll(filepath.Join(s.Root, "/usr/local/bin"), 0o755)
			os.Symlink("../../../opt/others/rollcall", filepath.Join(s.Root, s.Binary))
		}, reason: "binary"},
		"no rollcall":                {prepare: func(s site) { os.Remove(filepath.Join(s.Root, "/usr/bin/rollcall")) }, reason: "binary"},
		"a path with a blank":        {prepare: func(s site) { s.Binary = "/opt/my programs/rollcall"; s.write(s.Binary, "", 0o755) }, reason: "binary"},
		"no key":                     {prepare: func(s site) { os.Remove(filepath.Join(s.Root, systemSettings)) }, reason: "key"},
		"a key that others write":    {prepare: func(s site) { s.write(systemSettings, "", 0o666) }, reason: "key"},
		"a file that others replace": {prepare: func(s site) { os.Chmod(filepath.Join(s.Root, "/etc/cron.d"), 0o777) }, reason: "permission"},
		"a link out of the root": {prepare: func(s site) {
			os.Remove(filepath.Join(s.Root, site1))
			os.Symlink("/etc/passwd", filepath.Join(s.Root, site1))
		}, reason: "unreadable"},
		"a device": {prepare: func(s site) {
			os.Remove(filepath.Join(s.Root, site1))
			syscall.Mkfifo(filepath.Join(s.Root, site1), 0o600)
		}, reason: "unreadable"},
		"a stranger":             {change: func(j *Job) { j.User = "nobody" }, reason: "user"},
		"a line that is gone":    {change: func(j *Job) { j.Line = 7 }, reason: "changed"},
		"a command that is gone": {change: func(j *Job) { j.Command.At = 1000 }, reason: "syntax"},
		"too long":               {change: func(j *Job) { j.Command.Max = 100 }, reason: "too-long"},
		"a name that is none":    {change: func(j *Job) { j.File, j.Service = "", "../../x.service" }, reason: "syntax"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.write(site1, text1, 0o644)
			j := job(site1, 4, 15)
			if c.prepare != nil {
				c.prepare(s)
			}
			if c.change != nil {
				c.change(&j)
			}
			p := s.Wrap([]Job{j})
			s.left(p, j.Source+" "+c.reason)
			if len(p.Changes) != 0 {
				t.Errorf("%+v", p.Changes)
			}
		})
	}
}

// TestChangedMeanwhile leaves a file that somebody else has written since, and one whose command holds the lock.
func TestChangedMeanwhile(t *testing.T) {
	s := newSite(t)
	s.write(site1, text1, 0o644)
	first, second := s.Wrap([]Job{job(site1, 4, 15)}), s.Wrap([]Job{job(site1, 4, 15)})
	unlock, _, err := s.lock()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Apply(now); err == nil || !strings.Contains(err.Error(), "another") {
		t.Error(err)
	}
	unlock()
	s.apply(first)
	wrapped := s.read(site1)
	if _, err := second.Apply(now.Add(time.Second)); err == nil || !strings.Contains(err.Error(), "changed meanwhile") || !strings.Contains(err.Error(), "nothing was changed") {
		t.Error(err)
	}
	if s.read(site1) != wrapped {
		t.Error("it was written")
	}
}

// TestAfterKill goes on although a command was killed before its rename.
func TestAfterKill(t *testing.T) {
	s := newSite(t)
	s.write(site1, text1, 0o644)
	s.write("/etc/cron.d/.rollcall-site", "half", 0o600)
	s.apply(s.Wrap([]Job{job(site1, 4, 15)}))
	if got := s.names("/etc/cron.d"); got != "site" || !strings.Contains(s.read(site1), wrapPrefix) {
		t.Error(got)
	}
}

// TestThroughLink writes the file that a link leads to.
func TestThroughLink(t *testing.T) {
	s := newSite(t)
	s.write("/srv/conf/jobs", text1, 0o600)
	os.MkdirAll(filepath.Join(s.Root, "/etc/cron.d"), 0o755)
	if err := os.Symlink("../../srv/conf/jobs", filepath.Join(s.Root, site1)); err != nil {
		t.Fatal(err)
	}
	s.apply(s.Wrap([]Job{job(site1, 4, 15)}))
	if info, _ := os.Lstat(filepath.Join(s.Root, site1)); info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
	if !strings.Contains(s.read("/srv/conf/jobs"), wrapPrefix) {
		t.Error(s.read("/srv/conf/jobs"))
	}
}

// TestWritesSettings writes the file with the key once, for who needs it, and never the key elsewhere.
func TestWritesSettings(t *testing.T) {
	s := newSite(t)
	os.RemoveAll(filepath.Join(s.Root, "/home/ines/.config"))
	s.write("/home/ines/x", "", 0o600)
	s.Key, s.BaseURL = "s3cret", "https://rollcall.example.org/ping"
	spool := "/var/spool/cron/crontabs/ines"
	s.write(spool, "@daily /opt/z\n", 0o600)
	p := s.Wrap([]Job{job(spool, 1, 7)})
	s.left(p, "")
	var shown bytes.Buffer
	p.Diff(&shown)
	if strings.Contains(shown.String(), "s3cret") || !strings.Contains(shown.String(), "New file /home/ines/.config/rollcall/ping.env") {
		t.Error(shown.String())
	}
	s.apply(p)
	const file = "/home/ines/.config/rollcall/ping.env"
	if got := s.read(file); !strings.Contains(got, "\nROLLCALL_PING_BASE_URL=https://rollcall.example.org/ping\nROLLCALL_PING_KEY=s3cret\n") {
		t.Error(got)
	}
	for path, mode := range map[string]os.FileMode{file: 0o600, "/home/ines/.config/rollcall": 0o700} {
		if info, err := os.Stat(filepath.Join(s.Root, path)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
	if strings.Contains(s.read(spool), "s3cret") {
		t.Error("the key is in the crontab")
	}
}

// TestManyLines wraps each line of a long crontab.
func TestManyLines(t *testing.T) {
	s := newSite(t)
	const n = 100_000
	s.write(site1, strings.Repeat("0 3 * * * ines /opt/x\n", n), 0o644)
	jobs := make([]Job, n)
	for i := range jobs {
		jobs[i] = job(site1, i+1, 15)
	}
	p := s.Wrap(jobs)
	s.left(p, "")
	if got := bytes.Count(p.Changes[0].After, []byte("--slug")); got != n {
		t.Error(got)
	}
}
