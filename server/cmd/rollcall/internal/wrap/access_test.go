//go:build unix

package wrap

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestAccess decides who can write and read by owners, modes and groups.
func TestAccess(t *testing.T) {
	s := newSite(t)
	a := readAccounts(s.Root)
	ines, oskar := a.users["ines"], a.users["oskar"]
	s.write("/srv/file", "", 0o664)
	if os.Getuid() != 0 {
		if err := a.trusted(s.Root, "/srv/file", ines.uid); err != nil {
			t.Errorf("a group without others: %v", err)
		}
		if err := a.trusted(s.Root, "/srv/file", oskar.uid); err == nil {
			t.Error("the file of ines is trusted for oskar")
		}
	}
	if err := a.permits(s.Root, "/srv/file", oskar, 4); err != nil {
		t.Error(err)
	}
	s.write("/srv/file", "", 0o660)
	if err := a.permits(s.Root, "/srv/file", oskar, 4); err == nil {
		t.Error("oskar can read it")
	}
	if err := a.permits(s.Root, "/srv/file", ines, 4); err != nil {
		t.Error(err)
	}
	os.Chmod(filepath.Join(s.Root, "/srv"), 0o700)
	s.write("/srv/file", "", 0o644)
	if err := a.permits(s.Root, "/srv/file", oskar, 4); err == nil {
		t.Error("oskar can enter the directory")
	}
	if !a.others(4343, oskar.uid) && os.Getuid() != 0 || a.others(4242, oskar.uid) || a.others(0, 1) {
		t.Error("members of groups")
	}
}

// TestSettingsStayInHome does not follow a link that leads out of the user's home.
func TestSettingsStayInHome(t *testing.T) {
	s := newSite(t)
	os.RemoveAll(filepath.Join(s.Root, "/home/ines/.config"))
	s.write("/home/ines/x", "", 0o600)
	if err := os.Symlink("../../etc", filepath.Join(s.Root, "/home/ines/.config")); err != nil {
		t.Fatal(err)
	}
	os.RemoveAll(filepath.Join(s.Root, "/etc/rollcall"))
	s.Key = "s3cret"
	spool := "/var/spool/cron/crontabs/ines"
	s.write(spool, "@daily /opt/z\n", 0o600)
	if _, err := s.Wrap([]Job{job(spool, 1, 7)}).Apply(now); err == nil {
		t.Error("written")
	}
	if _, err := os.Stat(filepath.Join(s.Root, "/etc/rollcall")); err == nil {
		t.Error("a directory outside of the home")
	}
	if s.read(spool) != "@daily /opt/z\n" {
		t.Error("wrapped without a key")
	}
}

// TestStaysInRoot writes nothing outside of the root, wherever its links and its users' homes lead.
func TestStaysInRoot(t *testing.T) {
	for _, path := range []string{"/var/backups", "/etc/systemd/system", "/home"} {
		s := newSite(t)
		outside := t.TempDir()
		s.write(site1, text1, 0o644)
		os.RemoveAll(filepath.Join(s.Root, path))
		os.MkdirAll(filepath.Dir(filepath.Join(s.Root, path)), 0o755)
		if err := os.Symlink(outside, filepath.Join(s.Root, path)); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(outside, "ines"), 0o755); err != nil {
			t.Fatal(err)
		}
		j := Job{Source: "b.timer", User: "ines", Slug: "b", Service: "b.service"}
		if path == "/home" {
			s.Key = "s3cret"
			j = job("/var/spool/cron/crontabs/ines", 1, 7)
			s.write(j.File, "@daily /opt/z\n", 0o600)
		}
		if path == "/var/backups" {
			j = job(site1, 4, 15)
		}
		if p := s.Wrap([]Job{j}); len(p.Left) == 0 {
			if _, err := p.Apply(now); err == nil {
				t.Errorf("%s: written", path)
			}
		}
		filepath.WalkDir(outside, func(found string, entry os.DirEntry, err error) error {
			if found != outside && entry.Name() != "ines" {
				t.Errorf("%s: %s", path, found)
			}
			return err
		})
	}
	s := newSite(t)
	s.write("/etc/passwd", "ines:x:1:1::/../../../etc:/bin/sh\n", 0o644)
	if got := readAccounts(s.Root).users["ines"].home; got != "/etc" {
		t.Error(got)
	}
}

// TestJobSettings gives each user who cannot read the key of the system's jobs a file that nobody else can read, and leaves the directory
// of the server's secrets closed.
func TestJobSettings(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root has system jobs of other users")
	}
	s := newSite(t)
	s.write("/etc/passwd", "root:x:0:0::/root:/bin/sh\noskar:x:4242:4242::/home/oskar:/bin/sh\nmila:x:4244:4244::/:/bin/sh\n", 0o644)
	os.Chmod(s.Root, 0o755) // as /, which everybody enters
	os.Chmod(filepath.Join(s.Root, "/etc/rollcall"), 0o750)
	s.write(site1, "@daily root /opt/r\n@daily oskar /opt/o\n@daily mila /opt/m\n", 0o644)
	var jobs []Job
	for i, name := range []string{"root", "oskar", "mila"} {
		j := job(site1, i+1, len("@daily "+name+" "))
		j.User = name
		jobs = append(jobs, j)
	}
	p := s.Wrap(jobs)
	if len(p.Left) != 2 || !strings.Contains(p.Left[0].Detail, "/etc/rollcall-jobs/oskar.env is missing") {
		t.Errorf("without a key: %+v", p.Left)
	}
	s.Key = "s3cret"
	p = s.Wrap(jobs)
	s.left(p, "")
	s.apply(p)
	for i, want := range []string{systemSettings, jobSettings + "/oskar.env", jobSettings + "/mila.env"} {
		if line := strings.Split(s.read(site1), "\n")[i]; !strings.Contains(line, "--settings "+want+" ") {
			t.Error(line)
		}
	}
	for path, readers := range map[string]string{systemSettings: "", jobSettings + "/oskar.env": "oskar", jobSettings + "/mila.env": "mila"} {
		for _, name := range []string{"oskar", "mila"} {
			if err := s.accounts.permits(s.Root, path, s.accounts.users[name], 4); (err == nil) != (name == readers) {
				t.Errorf("%s and %s: %v", name, path, err)
			}
		}
	}
	os.Chmod(filepath.Join(s.Root, "/etc/rollcall"), 0o755)
	s.write(systemSettings, "ROLLCALL_PING_KEY=k\n", 0o644)
	os.RemoveAll(filepath.Join(s.Root, jobSettings))
	s.mustApply(t, s.Unwrap(), now.Add(time.Second))
	if p = s.Wrap(jobs); len(p.Settings) != 0 || len(p.Left) != 0 {
		t.Errorf("all can read one file: %+v %+v", p.Settings, p.Left)
	}
}
