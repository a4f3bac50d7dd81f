package discover

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// setting is an assignment in a unit file.
type setting struct{ section, key, value string }

// parseUnit reads a unit file. A line that ends in a backslash continues on the next; comments between the two are skipped.
func parseUnit(text string) (list []setting) {
	section, begun := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && (line[0] == '#' || line[0] == ';') {
			continue
		}
		if begun != "" {
			line = strings.TrimSpace(begun + " " + line)
		}
		if rest, more := strings.CutSuffix(line, `\`); more {
			begun = strings.TrimSpace(rest)
			continue
		}
		begun = ""
		if strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") {
			section = line[1 : len(line)-1]
			continue
		}
		if key, value, ok := strings.Cut(line, "="); ok {
			list = append(list, setting{section, strings.TrimSpace(key), strings.TrimSpace(value)})
		}
	}
	return list
}

// manager is an instance of systemd: of the system, or of a user.
type manager struct {
	*reader
	user, home string // of a user's instance, else ""
	global     bool   // units of all users' instances
	// dirs are where units are, the first that has one counts. Those in the first own of them belong to the administrator or user.
	dirs []string
	// enabled are the units that a .wants or .requires directory names.
	enabled map[string]bool
	shown   map[string]shownTimer
}

// unit is a unit with its drop-ins.
type unit struct {
	name     string
	path     string
	settings []setting
	// changed says that the administrator has drop-ins for it.
	changed bool
}

var (
	errMasked = errors.New("masked")
	errNoUnit = errors.New("no such unit")
)

// template returns the name of the template of an instance, and the instance.
func template(name string) (of, instance string, ok bool) {
	stem, suffix := name[:len(name)-len(path.Ext(name))], path.Ext(name)
	prefix, instance, ok := strings.Cut(stem, "@")
	return prefix + "@" + suffix, instance, ok
}

// fragment finds the file of a unit.
func (m *manager) fragment(name string) (entry, string, error) {
	candidates := []string{name}
	if of, instance, ok := template(name); ok && instance != "" {
		candidates = append(candidates, of)
	}
	for _, candidate := range candidates {
		for _, dir := range m.dirs {
			file := path.Join(dir, candidate)
			e, err := m.tree.find(file)
			switch {
			case err == nil && (e.path == "/dev/null" || e.info.Mode().IsRegular() && e.info.Size() == 0), e.target == "/dev/null":
				return e, file, errMasked
			case err == nil || !errors.Is(err, fs.ErrNotExist):
				return e, file, err
			}
		}
	}
	return entry{}, "", errNoUnit
}

// load reads a unit with its drop-ins.
func (m *manager) load(name string) (unit, error) {
	u := unit{name: name}
	e, file, err := m.fragment(name)
	if err != nil {
		return u, err
	}
	data, err := m.tree.open(e)
	if err != nil {
		return u, err
	}
	u.path, u.settings = file, parseUnit(string(data))
	for _, file := range m.dropIns(name) {
		data, err := m.tree.read(file)
		if err != nil {
			m.leave(file, "unreadable", reason(err))
			continue
		}
		u.settings = append(u.settings, parseUnit(string(data))...)
		u.changed = u.changed || !vendor(file)
	}
	return u, nil
}

// vendor reports whether a file of a unit is one of a package.
func vendor(file string) bool {
	return strings.HasPrefix(file, "/usr/lib/") || strings.HasPrefix(file, "/lib/") || strings.HasPrefix(file, "/usr/share/")
}

// dropIns returns the drop-ins of a unit in the order of their names. Of files with one name, that in the first directory counts.
func (m *manager) dropIns(name string) []string {
	stem, suffix := name[:len(name)-len(path.Ext(name))], path.Ext(name)
	owners := []string{name}
	if of, instance, ok := template(name); ok && instance != "" {
		owners = append(owners, of)
	}
	for i := len(stem) - 1; i > 0; i-- {
		if stem[i] == '-' {
			owners = append(owners, stem[:i+1]+suffix)
		}
	}
	owners = append(owners, suffix[1:])
	files := make(map[string]string)
	for _, owner := range owners {
		for _, dir := range m.dirs {
			names, _ := m.tree.names(path.Join(dir, owner+".d"))
			for _, file := range names {
				if _, taken := files[file]; !taken && strings.HasSuffix(file, ".conf") {
					files[file] = path.Join(dir, owner+".d", file)
				}
			}
		}
	}
	var list []string
	for _, file := range files {
		if e, err := m.tree.find(file); err == nil && e.path != "/dev/null" {
			list = append(list, file)
		}
	}
	slices.SortFunc(list, func(a, b string) int { return strings.Compare(path.Base(a), path.Base(b)) })
	return list
}

// last returns the last value of a setting.
func (u unit) last(section, key string) (value string) {
	for _, s := range u.settings {
		if s.section == section && s.key == key {
			value = s.value
		}
	}
	return value
}

// all returns the values of a list; an empty one begins it again.
func (u unit) all(section, key string) (values []string) {
	for _, s := range u.settings {
		switch {
		case s.section != section || s.key != key:
		case s.value == "":
			values = nil
		default:
			values = append(values, s.value)
		}
	}
	return values
}

// execs returns the command lines of a setting, without the characters in front that change how systemd runs them.
func (u unit) execs(key string) (list []string) {
	for _, value := range u.all("Service", key) {
		rest := strings.TrimLeft(value, "-@:+!|")
		if prefix := value[:len(value)-len(rest)]; strings.Contains(prefix, "@") { // the second word is argv[0]
			if program, words, ok := strings.Cut(rest, " "); ok {
				_, words, _ = strings.Cut(strings.TrimLeft(words, " "), " ")
				rest = strings.TrimSpace(program + " " + words)
			}
		}
		if rest = strings.TrimSpace(rest); rest != "" {
			list = append(list, rest)
		}
	}
	return list
}

func yes(value string) bool { return set("1 yes y true t on")[strings.ToLower(value)] }

// expand replaces specifiers such as %i. One that it does not know stays.
func (m *manager) expand(text, unit string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	stem := unit[:len(unit)-len(path.Ext(unit))]
	prefix, instance, _ := strings.Cut(stem, "@")
	home, owner, uid := m.home, m.user, "0"
	if owner == "" {
		home, owner = "/root", "root"
	} else if id, ok := m.users.id(owner); ok {
		uid = strconv.Itoa(id)
	}
	short, _, _ := strings.Cut(m.Host, ".")
	values := map[byte]string{
		'%': "%", 'i': instance, 'I': unescapeUnit(instance), 'n': unit, 'N': stem, 'p': prefix, 'P': unescapeUnit(prefix),
		'j': prefix[strings.LastIndexByte(prefix, '-')+1:], 'h': home, 'u': owner, 'U': uid, 'H': m.Host, 'l': short,
		't': "/run", 'S': "/var/lib", 'C': "/var/cache", 'L': "/var/log", 'E': "/etc", 'T': "/tmp", 'V': "/var/tmp",
	}
	if m.user != "" {
		values['t'], values['S'], values['C'], values['E'] = "/run/user/"+uid, home+"/.local/state", home+"/.cache", home+"/.config"
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+1 < len(text) {
			if value, ok := values[text[i+1]]; ok {
				b.WriteString(value)
				i++
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// unescapeUnit undoes systemd-escape.
func unescapeUnit(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '-':
			b.WriteByte('/')
		case strings.HasPrefix(text[i:], `\x`) && i+4 <= len(text):
			if n, err := strconv.ParseUint(text[i+2:i+4], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
			fallthrough
		default:
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

// spanUnits are the units of systemd's time spans.
var spanUnits = map[string]time.Duration{
	"": time.Second, "us": time.Microsecond, "usec": time.Microsecond, "µs": time.Microsecond, "μs": time.Microsecond,
	"ms": time.Millisecond, "msec": time.Millisecond, "s": time.Second, "sec": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hour": time.Hour, "hours": time.Hour, "d": day, "day": day, "days": day,
	"w": 7 * day, "week": 7 * day, "weeks": 7 * day, "M": 2629800 * time.Second, "month": 2629800 * time.Second, "months": 2629800 * time.Second,
	"y": 31557600 * time.Second, "year": 31557600 * time.Second, "years": 31557600 * time.Second,
}

// timeSpan reads a time span such as 1h 30min, or a number of seconds.
func timeSpan(text string) (total time.Duration, ok bool) {
	rest := strings.TrimSpace(text)
	if rest == "" {
		return 0, false
	}
	for rest != "" {
		n := len(rest) - len(strings.TrimLeft(rest, "0123456789."))
		value, err := strconv.ParseFloat(rest[:n], 64)
		if err != nil {
			return 0, false
		}
		rest = strings.TrimLeft(rest[n:], " \t")
		end := strings.IndexAny(rest, "0123456789. \t")
		if end < 0 {
			end = len(rest)
		}
		of, ok := spanUnits[rest[:end]]
		if !ok || value*float64(of)+float64(total) > float64(maxTime) {
			return 0, false
		}
		total += time.Duration(value * float64(of))
		rest = strings.TrimLeft(rest[end:], " \t")
	}
	return total, true
}
