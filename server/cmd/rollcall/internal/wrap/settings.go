package wrap

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	systemSettings = "/etc/rollcall/ping.env"
	jobSettings    = "/etc/rollcall-jobs"        // USER.env in it
	userSettings   = ".config/rollcall/ping.env" // in the home directory
)

// serviceName matches the name of a service.
var serviceName = regexp.MustCompile(`^[A-Za-z0-9:_.\\@-]+\.service$`)

// Settings is a file with a ping key to write, for jobs that read it.
type Settings struct {
	Path  string
	owner account  // whose home it is in, or root
	group *account // the user who reads what root owns, unless it is root
	home  bool
	used  bool
}

// readers returns the names of those who can read the file.
func (s Settings) readers() []string {
	if s.group == nil {
		return []string{s.owner.name}
	}
	return []string{s.owner.name, "the group of " + s.group.name}
}

// inHome reports whether the key for a job stands in the home of its user: they have written the crontab or the service.
func (j Job) inHome() bool {
	return j.File != "" && spoolUser(j.File) != "" || j.File == "" && j.UserScope
}

// settingsPath returns the file with the key for a job. Jobs of the system have one file, as far as their users can read it. The
// directory of that file may have secrets of a server and be closed to them, so others have files elsewhere.
func (m *Machine) settingsPath(j Job) string {
	switch user := m.accounts.users[j.User]; {
	case j.inHome():
		return filepath.Join(user.home, userSettings)
	case user.uid == 0 || m.accounts.permits(m.Root, systemSettings, user, 4) == nil:
		return systemSettings
	}
	return filepath.Join(jobSettings, j.User+".env")
}

// settings returns the files of settings to write: those that are missing, if there is a key.
func (p *Plan) settings(jobs []Job) map[string]*Settings {
	m := p.machine
	files := make(map[string]*Settings)
	if m.Key == "" {
		return files
	}
	for _, j := range jobs {
		user, ok := m.accounts.users[j.User]
		path := m.settingsPath(j)
		if _, err := os.Lstat(filepath.Join(m.Root, path)); !ok || files[path] != nil || !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		s := &Settings{Path: path, owner: user, home: j.inHome()}
		if !s.home {
			s.owner = account{name: "root", groups: []int{0}}
		}
		if user.uid != s.owner.uid {
			s.group = &user
		}
		files[path] = s
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		p.Settings = append(p.Settings, files[path])
	}
	return files
}

// readable returns an error if a user cannot read a file of settings, or somebody else can write it.
func (m *Machine) readable(path string, planned *Settings, user account) error {
	if planned == nil {
		_, err := os.Lstat(filepath.Join(m.Root, path))
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is missing: give --ping-base-url and --ping-key, or write both into it as ROLLCALL_PING_BASE_URL=URL and ROLLCALL_PING_KEY=KEY", path)
		} else if err != nil {
			return err
		}
		if err := m.accounts.trusted(m.Root, path, user.uid); err != nil {
			return err
		}
		return m.accounts.permits(m.Root, path, user, 4)
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		_, err := os.Stat(filepath.Join(m.Root, dir))
		if errors.Is(err, fs.ErrNotExist) && dir != "/" {
			continue
		} else if err != nil {
			return err
		}
		if err := m.accounts.trusted(m.Root, dir, planned.owner.uid); err != nil {
			return err
		}
		return m.accounts.permits(m.Root, dir, user, 1)
	}
}

// content returns the text of the file.
func (m *Machine) content() []byte {
	quote := func(value string) string { return strings.NewReplacer("\n", "", "\r", "").Replace(value) }
	return fmt.Appendf(nil, "# Settings of wrapped jobs: rollcall run --settings. The key lets jobs report, and nothing else.\nROLLCALL_PING_BASE_URL=%s\nROLLCALL_PING_KEY=%s\n", quote(m.BaseURL), quote(m.Key))
}

// write writes the file, which must not exist, and the directories that lead to it.
func (s Settings) write(m *Machine) error {
	base, dirMode := "/", fs.FileMode(0o755)
	if s.home {
		base, dirMode = s.owner.home, 0o700
	}
	dir, err := resolve(m.Root, base)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir) // no link of the user leads out of their home
	if err != nil {
		return err
	}
	defer root.Close()
	name, err := filepath.Rel(base, s.Path)
	if err != nil {
		return err
	}
	for i, b := range name {
		if b != '/' {
			continue
		}
		if err := s.makeDir(root, name[:i], dirMode); err != nil {
			return err
		}
	}
	mode, gid := fs.FileMode(0o600), s.owner.groups[0]
	if s.group != nil {
		mode, gid = 0o640, s.group.groups[0]
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(m.content())
	err = errors.Join(err, give(file, s.owner.uid, gid), file.Chmod(mode), file.Sync(), file.Close())
	if err != nil {
		_ = root.Remove(name)
	}
	return err
}

// makeDir creates a directory for the owner unless it exists.
func (s Settings) makeDir(root *os.Root, name string, mode fs.FileMode) error {
	err := root.Mkdir(name, mode)
	if errors.Is(err, fs.ErrExist) {
		return nil
	} else if err != nil {
		return err
	}
	dir, err := root.Open(name) // a directory cannot be a second link to a file of somebody else
	if err != nil {
		return err
	}
	defer dir.Close()
	if info, err := dir.Stat(); err != nil || !info.IsDir() {
		return fmt.Errorf("%s is not a directory any more", name)
	}
	return give(dir, s.owner.uid, s.owner.groups[0])
}

// give changes the owner of a file that belongs to somebody else.
func give(file *os.File, uid, gid int) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if u, g := owner(info); u == uid && g == gid {
		return nil
	}
	return file.Chown(uid, gid)
}
