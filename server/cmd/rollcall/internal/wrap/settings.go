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
	userSettings   = ".config/rollcall/ping.env" // in the home directory
)

// serviceName matches the name of a service.
var serviceName = regexp.MustCompile(`^[A-Za-z0-9:_.\\@-]+\.service$`)

// Settings is a file with a ping key to write, for jobs that read it.
type Settings struct {
	Path  string
	owner account  // whose home it is in, or root
	group *account // who else reads it
	used  bool
}

// readers returns the names of those who can read the file.
func (s Settings) readers() []string {
	if s.group == nil {
		return []string{s.owner.name}
	}
	return []string{s.owner.name, "the group of " + s.group.name}
}

// settingsPath returns the file with the key for a job.
func (m *Machine) settingsPath(j Job) string {
	if j.File != "" && spoolUser(j.File) == "" || j.File == "" && !j.UserScope {
		return systemSettings
	}
	return filepath.Join(m.accounts.users[j.User].home, userSettings)
}

// settings returns the files of settings to write: those that are missing, if there is a key. One user beside root reads that of
// the system through its group.
func (p *Plan) settings(jobs []Job) map[string]*Settings {
	m := p.machine
	files := make(map[string]*Settings)
	if m.Key == "" {
		return files
	}
	several := make(map[string]bool)
	for _, j := range jobs {
		user, ok := m.accounts.users[j.User]
		path := m.settingsPath(j)
		if _, err := os.Lstat(filepath.Join(m.Root, path)); !ok || !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		s := files[path]
		if s == nil {
			s = &Settings{Path: path, owner: user}
			if path == systemSettings {
				s.owner = account{name: "root", groups: []int{0}}
			}
			files[path] = s
		}
		switch {
		case user.uid == s.owner.uid || several[path]:
		case s.group == nil:
			s.group = &user
		case s.group.uid != user.uid:
			s.group, several[path] = nil, true
		}
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
	if planned.owner.uid != user.uid && (planned.group == nil || planned.group.uid != user.uid) {
		return fmt.Errorf("several users would share %s: create it with a group that has them all", path)
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
	base := "/"
	if s.Path != systemSettings {
		base = s.owner.home
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
	dirMode := fs.FileMode(0o755)
	if s.Path != systemSettings {
		dirMode = 0o700
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
