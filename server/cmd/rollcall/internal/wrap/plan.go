package wrap

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Job is a job to wrap: a line of a crontab, or a service of systemd.
type Job struct {
	Source string // for people
	User   string // who runs it
	Slug   string

	File    string // of the crontab, or "" for a service
	Line    int    // from 1
	Command Command

	Service   string // such as backup.service, or "" for a line
	UserScope bool   // it is a service of the user's own systemd
}

// Machine is where jobs are wrapped.
type Machine struct {
	Root    string // the directory that stands for /, or "" for this machine
	UID     int    // who writes
	Binary  string // the path of rollcall
	BaseURL string // of the ping endpoints, for a file of settings that is missing
	Key     string // the ping key for it; without one, none is written
	Crontab string // the program that installs a user's crontab, or "" to write the file itself

	accounts accounts
	verdicts map[[2]string]error // of usable, by user and file
}

// Change is a text before and after. A nil Before creates a file, and a nil After deletes it.
type Change struct {
	Path          string
	Before, After []byte
	user          string   // whose crontab it is, or "" for other files
	unit          bool     // systemd must read it again
	lines         [][]byte // After while a plan is made
}

// Left is a job that stays as it is.
type Left struct {
	Source string `json:"source"`
	Reason string `json:"reason"`
	Detail string `json:"detail"`
}

// Plan has the changes of a machine.
type Plan struct {
	Changes  []Change
	Settings []*Settings
	Left     []Left
	machine  *Machine
}

// spools are the directories with the crontabs of users, named like them. Only the program crontab may write there.
var spools = []string{"/var/spool/cron/crontabs", "/var/spool/cron/tabs", "/var/spool/cron", "/etc/crontabs"}

// spoolUser returns whose crontab a file is, or "" for other files.
func spoolUser(path string) string {
	if slices.Contains(spools, filepath.Dir(path)) {
		return filepath.Base(path)
	}
	return ""
}

// Wrap plans to make jobs report. What is wrapped already does not change, and the plan says which jobs it leaves as they are.
func (m *Machine) Wrap(jobs []Job) Plan {
	m.accounts, m.verdicts = readAccounts(m.Root), make(map[[2]string]error)
	p := Plan{machine: m}
	files := p.settings(jobs)
	texts := make(map[string]*Change)
	for _, j := range jobs {
		err := p.wrap(j, files, texts)
		if refusal, ok := errors.AsType[*Refusal](err); ok {
			p.Left = append(p.Left, Left{j.Source, refusal.Reason, refusal.Detail})
		} else if err != nil {
			p.Left = append(p.Left, Left{j.Source, "unreadable", err.Error()})
		}
	}
	p.changed(texts)
	p.Settings = slices.DeleteFunc(p.Settings, func(s *Settings) bool { return !s.used })
	return p
}

// changed adds the texts that differ, sorted by path.
func (p *Plan) changed(texts map[string]*Change) {
	for _, c := range texts {
		if c.lines != nil {
			c.After = bytes.Join(c.lines, nil)
		}
		if !bytes.Equal(c.Before, c.After) || (c.Before == nil) != (c.After == nil) {
			p.Changes = append(p.Changes, *c)
		}
	}
	slices.SortFunc(p.Changes, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
}

// wrap changes the text of one job.
func (p *Plan) wrap(j Job, files map[string]*Settings, texts map[string]*Change) error {
	m := p.machine
	user, ok := m.accounts.users[j.User]
	if !ok {
		return refuse("user", "the user %s is not in /etc/passwd", j.User)
	}
	form := Form{m.Binary, m.settingsPath(j), j.Slug}
	settings := files[form.Settings]
	err, known := m.verdicts[[2]string{j.User, form.Settings}]
	if !known {
		err = m.usable(user, form, settings)
		m.verdicts[[2]string{j.User, form.Settings}] = err
	}
	switch {
	case err != nil:
		return err
	case j.File == "":
		err = m.dropIn(j, form, texts)
	default:
		err = m.line(j, form, texts)
	}
	if err == nil && settings != nil {
		settings.used = true
	}
	return err
}

// usable returns an error if a user cannot use rollcall and the key, or if others could replace them.
func (m *Machine) usable(user account, form Form, settings *Settings) error {
	if err := m.accounts.trusted(m.Root, m.Binary, user.uid); err != nil {
		return refuse("binary", "%s would be run, but %v", m.Binary, err)
	}
	if err := m.accounts.permits(m.Root, m.Binary, user, 1); err != nil {
		return refuse("binary", "%v", err)
	}
	if err := m.readable(form.Settings, settings, user); err != nil {
		return refuse("key", "%v", err)
	}
	return nil
}

// line wraps a line in the text of its crontab.
func (m *Machine) line(j Job, form Form, texts map[string]*Change) error {
	c, err := m.text(j.File, texts)
	if err != nil {
		return err
	}
	if j.Line < 1 || j.Line > len(c.lines) {
		return refuse("changed", "the crontab has changed meanwhile")
	}
	line, ended := bytes.CutSuffix(c.lines[j.Line-1], []byte("\n"))
	wrapped, err := form.Wrap(line, j.Command)
	if err != nil {
		return err
	}
	if ended {
		wrapped = append(wrapped, '\n')
	}
	c.lines[j.Line-1] = wrapped
	return nil
}

// text returns the change of a crontab, which is none at first.
func (m *Machine) text(path string, texts map[string]*Change) (*Change, error) {
	if c, ok := texts[path]; ok {
		return c, nil
	}
	c := &Change{Path: path, user: spoolUser(path)}
	var err error
	if c.Before, err = m.read(c); err != nil {
		return nil, err
	}
	if err := m.writable(path, c.user); err != nil {
		return nil, err
	}
	c.After, c.lines = c.Before, splitLines(c.Before)
	texts[path] = c
	return c, nil
}

// writable returns an error if the file must not be written: others can write its directory, so they could put another in its place.
func (m *Machine) writable(path, user string) error {
	switch {
	case user != "" && m.Crontab != "":
		if u := m.accounts.users[user]; m.UID != 0 && u.uid != m.UID {
			return refuse("permission", "only root may change the crontab of %s", user)
		}
		return nil
	case m.UID != 0 && m.Root == "" && !strings.HasPrefix(path, m.ownHome()+"/"):
		return refuse("permission", "only root may write %s", path)
	}
	target, err := resolve(m.Root, path)
	if err != nil {
		return err
	}
	dir := filepath.Dir(strings.TrimPrefix(target, m.Root))
	if err := m.accounts.trusted(m.Root, dir, m.UID); err != nil && user == "" {
		return refuse("permission", "%s is not safe to write: %v", path, err)
	}
	return nil
}

// ownHome returns the home directory of who writes.
func (m *Machine) ownHome() string {
	for _, user := range m.accounts.users {
		if user.uid == m.UID {
			return user.home
		}
	}
	return ""
}

// dropIn adds the drop-in of a service.
func (m *Machine) dropIn(j Job, form Form, texts map[string]*Change) error {
	dir := "/etc/systemd/system"
	if j.UserScope {
		user := m.accounts.users[j.User]
		if user.uid != m.UID {
			return refuse("permission", "the service belongs to %s; run this as %[1]s", j.User)
		}
		dir = user.home + "/.config/systemd/user"
	}
	text, err := form.DropIn()
	if err != nil {
		return err
	}
	c := &Change{Path: filepath.Join(dir, j.Service+".d", DropInName), After: text, unit: true}
	if !serviceName.MatchString(j.Service) {
		return refuse("syntax", "%q is not the name of a service", j.Service)
	}
	before, err := m.read(c)
	if err == nil {
		return refuse("reports", "the service has a drop-in already")
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	c.Before = before
	texts[c.Path] = c
	return nil
}

// Unwrap plans to undo what Wrap did to crontabs and units, in all files that have it.
func (m *Machine) Unwrap() Plan {
	m.accounts = readAccounts(m.Root)
	p := Plan{machine: m}
	texts := make(map[string]*Change)
	for _, path := range m.files(append([]string{"/etc/crontab", "/etc/anacrontab", "/etc/cron.d/*"}, m.spoolFiles()...)...) {
		if err := m.unwrap(path, texts); err != nil {
			delete(texts, path)
			p.Left = append(p.Left, Left{path, "unreadable", err.Error()})
		}
	}
	for _, path := range m.files("/etc/systemd/system/*.service.d/"+DropInName, m.ownHome()+"/.config/systemd/user/*.service.d/"+DropInName) {
		c := &Change{Path: path, unit: true}
		var err error
		if c.Before, err = m.read(c); err != nil {
			p.Left = append(p.Left, Left{path, "unreadable", err.Error()})
			continue
		}
		texts[path] = c
	}
	p.changed(texts)
	return p
}

// unwrap restores the lines of a crontab, those in comments too.
func (m *Machine) unwrap(path string, texts map[string]*Change) error {
	c := &Change{Path: path, user: spoolUser(path)}
	if _, known := m.accounts.users[c.user]; c.user != "" && !known {
		return nil // no crontab of ours: a daemon keeps other files beside them, such as mails that quote a line
	}
	var err error
	if c.Before, err = m.read(c); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	found := false
	c.lines = splitLines(c.Before)
	for i, line := range c.lines {
		whole, ended := bytes.CutSuffix(line, []byte("\n"))
		restored, _, ok := Unwrap(whole)
		if !ok {
			continue
		}
		found = true
		if ended {
			restored = append(restored, '\n')
		}
		c.lines[i] = restored
	}
	if !found {
		return nil
	}
	if err := m.writable(path, c.user); err != nil {
		return err
	}
	texts[path] = c
	return nil
}

// spoolFiles returns patterns of the crontabs of users that Unwrap may change.
func (m *Machine) spoolFiles() (list []string) {
	if m.UID != 0 && m.Crontab != "" {
		for name, user := range m.accounts.users {
			if user.uid == m.UID {
				list = append(list, filepath.Join(spools[0], name))
			}
		}
		return list
	}
	for _, dir := range spools {
		list = append(list, dir+"/*")
	}
	return list
}

// files returns the paths, below the root, that match patterns, without temporary files of Rollcall.
func (m *Machine) files(patterns ...string) (list []string) {
	for _, pattern := range patterns {
		found, _ := filepath.Glob(filepath.Join(m.Root, pattern))
		if !strings.Contains(pattern, "*") {
			found = []string{filepath.Join(m.Root, pattern)}
		}
		for _, path := range found {
			info, err := os.Stat(path)
			path = strings.TrimPrefix(path, m.Root)
			own := spoolUser(path) != "" && m.UID != 0 && m.Crontab != "" // only the program may look at it
			if own || err == nil && info.Mode().IsRegular() && !strings.HasPrefix(filepath.Base(path), temporary) {
				list = append(list, path)
			}
		}
	}
	return list
}

// Diff writes the unified difference of all changes.
func (p Plan) Diff(w io.Writer) {
	for _, c := range p.Changes {
		diff(w, c.Path, c.Before, c.After)
	}
	for _, s := range p.Settings {
		fmt.Fprintf(w, "New file %s with ROLLCALL_PING_BASE_URL and ROLLCALL_PING_KEY, readable by %s.\n", s.Path, strings.Join(s.readers(), " and "))
	}
}
