package discover

import (
	"crypto/md5"
	"encoding/hex"
	"path"
	"strconv"
	"strings"
)

// Zone returns the time zone of the machine. One without settings is in UTC, as systemd takes it.
func (m Machine) Zone() string {
	t := tree{m.FS}
	if e, _ := t.find("/etc/localtime"); e.link != nil {
		if _, zone, ok := strings.Cut(e.target, "zoneinfo/"); ok {
			zone = strings.TrimPrefix(strings.TrimPrefix(zone, "posix/"), "right/")
			if knownZone(zone) {
				return zone
			}
		}
	}
	if zone := strings.TrimSpace(t.text("/etc/timezone")); knownZone(zone) {
		return zone
	}
	if zone := t.copiedZone(); zone != "" {
		return zone
	}
	return "UTC"
}

const zoneFiles = "/usr/share/zoneinfo"

// copiedZone returns the zone of which /etc/localtime is a copy, or "".
func (t tree) copiedZone() string {
	data, err := t.read("/etc/localtime")
	if err != nil {
		return ""
	}
	areas, _ := t.names(zoneFiles)
	for _, area := range areas {
		if area == "posix" || area == "right" {
			continue
		}
		cities, _ := t.names(zoneFiles + "/" + area)
		for _, city := range cities {
			if t.text(zoneFiles+"/"+area+"/"+city) == string(data) && knownZone(area+"/"+city) {
				return area + "/" + city
			}
		}
	}
	return ""
}

// Hostname returns the name of the machine in its files, or "".
func (m Machine) Hostname() string {
	for line := range strings.Lines(tree{m.FS}.text("/etc/hostname")) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return line
		}
	}
	return ""
}

// FindCron finds the kind of the daemon by the installed package, else by its program. If there is none, found is false and the rules
// are Debian's.
func (m Machine) FindCron() (kind Cron, found bool) {
	t := tree{m.FS}
	switch {
	case t.exists("/var/lib/dpkg/info/cron.list"):
		return Debian, true
	case t.exists("/var/lib/dpkg/info/cronie.list"):
		return Cronie, true
	}
	system := t.text("/etc/os-release")
	if system == "" {
		system = t.text("/usr/lib/os-release")
	}
	if strings.Contains(system, "suse") && (t.exists("/usr/sbin/cron") || t.exists("/usr/sbin/crond")) {
		return SUSE, true
	}
	if strings.Contains(t.text("/lib/apk/db/installed"), "\nP:cronie\n") {
		return Cronie, true
	}
	for _, dir := range []string{"/usr/sbin", "/usr/bin", "/sbin"} {
		if t.exists(dir + "/cron") {
			return Debian, true
		}
		if e, err := t.find(dir + "/crond"); err == nil {
			if path.Base(e.path) == "busybox" || path.Base(e.path) == "bbsuid" {
				return Busybox, true
			}
			return Cronie, true
		}
	}
	return Debian, false
}

// user is an entry of /etc/passwd.
type user struct {
	uid         int
	home, shell string
}

// users are the users of a machine.
type users struct {
	byName map[string]user
	// open says that others may exist: in a directory such as LDAP, or because the list cannot be read.
	open bool
}

func (r *reader) readUsers() users {
	list := users{byName: make(map[string]user)}
	text := r.tree.text("/etc/passwd")
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		if len(fields) < 6 {
			continue
		}
		if uid, err := strconv.Atoi(fields[2]); err == nil {
			list.byName[fields[0]] = user{uid, fields[5], strings.Join(fields[6:], ":")}
		}
	}
	list.open = len(list.byName) == 0
	for line := range strings.Lines(r.tree.text("/etc/nsswitch.conf")) {
		if sources, ok := strings.CutPrefix(strings.TrimSpace(line), "passwd:"); ok {
			for source := range strings.FieldsSeq(sources) {
				list.open = list.open || !set("files compat systemd db")[source] && source[0] != '['
			}
		}
	}
	return list
}

// known reports whether a user exists, as far as can be told.
func (u users) known(name string) bool { return u.open || u.listed(name) }

func (u users) listed(name string) bool {
	_, ok := u.byName[name]
	return ok
}

// id returns the ID of a user, if it is known.
func (u users) id(name string) (uid int, ok bool) {
	entry, ok := u.byName[name]
	return entry.uid, ok
}

// packages are the files that packages own. The value is the checksum that a configuration file had, or "".
type packages struct{ files map[string]string }

// readPackages reads what dpkg and apk say about the directories that matter.
func (r *reader) readPackages() packages {
	p := packages{make(map[string]string)}
	names, _ := r.tree.names("/var/lib/dpkg/info")
	for _, name := range names {
		if !strings.HasSuffix(name, ".list") {
			continue
		}
		for line := range strings.Lines(r.tree.text("/var/lib/dpkg/info/" + name)) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "/etc/cron.") || strings.HasPrefix(line, "/etc/periodic/") {
				p.files[line] = ""
			}
		}
	}
	if len(p.files) > 0 { // the status has the checksums
		if data, err := r.tree.readUpTo("/var/lib/dpkg/status", maxDatabase); err == nil {
			for line := range strings.Lines(string(data)) {
				words := strings.Fields(line)
				if len(words) < 2 || line[0] != ' ' {
					continue
				}
				if _, ok := p.files[words[0]]; ok {
					p.files[words[0]] = words[1]
				}
			}
		}
	}
	p.apk(r.tree)
	return p
}

// maxDatabase bounds the database of a package manager, in bytes.
const maxDatabase = 64 << 20

// apk adds what apk says.
func (p packages) apk(t tree) {
	data, _ := t.readUpTo("/lib/apk/db/installed", maxDatabase)
	dir := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "F:"); ok {
			dir = rest
		} else if name, ok := strings.CutPrefix(line, "R:"); ok && (strings.HasPrefix(dir, "etc/cron") || strings.HasPrefix(dir, "etc/periodic")) {
			p.files["/"+dir+"/"+name] = ""
		}
	}
}

// packaged reports whether a file is as its package delivered it. One that the administrator has changed is not.
func (r *reader) packaged(file string) bool {
	sum, ok := r.packages.files[file]
	if !ok {
		return r.Packaged != nil && r.Packaged([]string{file})[file]
	}
	data, err := r.tree.read(file)
	if sum == "" || err != nil {
		return true
	}
	now := md5.Sum(data)
	return hex.EncodeToString(now[:]) == sum
}
