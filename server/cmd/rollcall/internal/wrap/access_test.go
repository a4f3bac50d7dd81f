//go:build unix

package wrap

import (
	"os"
	"path/filepath"
	"testing"
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
