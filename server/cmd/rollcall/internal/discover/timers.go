package discover

import (
	"errors"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/checks/schedule"
)

// timers reads the timers of systemd: of the system, of all users, and of each user.
func (r *reader) timers() {
	system := &manager{reader: r, shown: parseShown(r.Timers), dirs: []string{"/etc/systemd/system", "/run/systemd/transient", "/run/systemd/system",
		"/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system", "/run/systemd/generator"}}
	system.readTimers(system.dirs, slices.Collect(maps.Keys(system.shown)))
	shared := []string{"/etc/systemd/user", "/run/systemd/user", "/usr/local/lib/systemd/user", "/usr/lib/systemd/user"}
	all := &manager{reader: r, global: true, dirs: shared}
	all.readTimers(shared, nil)
	for _, name := range slices.Sorted(maps.Keys(r.users.byName)) {
		home := r.users.byName[name].home
		if home == "" || home == "/" || home == "/nonexistent" {
			continue
		}
		own := []string{home + "/.config/systemd/user", home + "/.local/share/systemd/user"}
		m := &manager{reader: r, user: name, home: home, dirs: slices.Concat(own[:1], shared[:2], own[1:], shared[2:])}
		m.readTimers(own, nil)
	}
}

// readTimers reads the timers whose files, or links that enable them, are in some directories, and further ones.
func (m *manager) readTimers(dirs, more []string) {
	names := make(map[string]bool)
	m.enabled = make(map[string]bool)
	for _, name := range more {
		names[name] = true
	}
	for _, dir := range dirs {
		list, err := m.tree.names(dir)
		if err != nil && m.user == "" {
			m.leave(dir, "unreadable", reason(err))
		}
		for _, name := range list {
			if strings.HasSuffix(name, ".timer") {
				names[name] = true
			}
			if !strings.HasSuffix(name, ".wants") && !strings.HasSuffix(name, ".requires") {
				continue
			}
			wanted, _ := m.tree.names(path.Join(dir, name))
			for _, unit := range wanted {
				if strings.HasSuffix(unit, ".timer") {
					m.enabled[unit], names[unit] = true, true
				}
			}
		}
	}
	for name := range names {
		if of, instance, ok := template(name); ok && instance != "" {
			delete(names, of) // it has instances
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		m.timer(name)
	}
}

// timer reads one timer.
func (m *manager) timer(name string) {
	e, file, err := m.fragment(name)
	switch {
	case errors.Is(err, errMasked):
		m.leave(name, "masked", "")
		return
	case err == nil && e.link != nil && m.alias(name, path.Base(e.path)):
		return // another name of a timer that is read
	case strings.Contains(name, "@.timer") && vendor(file) && !m.System:
		m.leave(name, "packaged", "")
		return
	case strings.Contains(name, "@.timer"):
		m.leave(name, "template", "it has no instances")
		return
	}
	u, err := m.load(name)
	if err != nil {
		if !errors.Is(err, errNoUnit) {
			m.leave(name, "unreadable", reason(err))
		}
		return
	}
	service, serviceErr := m.load(m.starts(u))
	switch {
	case vendor(file) && !u.changed && !service.changed && !m.System:
		m.leave(name, "packaged", "")
		return
	case m.global:
		m.leave(name, "user-unit", "it runs once for every user who is logged in")
		return
	case !m.enabled[name] && !m.shown[name].active:
		m.leave(name, "not-enabled", "")
		return
	case !strings.HasSuffix(service.name, ".service"):
		m.leave(name, "not-a-service", "it starts "+service.name)
		return
	case serviceErr != nil:
		m.leave(name, "no-service", service.name+": "+reason(serviceErr))
		return
	}
	m.timerJob(u, service)
}

// alias reports whether a timer's file is a link to that of another one.
func (m *manager) alias(name, target string) bool {
	of, instance, ok := template(name)
	return strings.HasSuffix(target, ".timer") && target != name && !(ok && instance != "" && target == of)
}

// starts returns the unit that a timer starts.
func (m *manager) starts(u unit) string {
	if unit := m.expand(u.last("Timer", "Unit"), u.name); unit != "" {
		return unit
	}
	return strings.TrimSuffix(u.name, ".timer") + ".service"
}

// timerJob adds the job of a timer.
func (m *manager) timerJob(u, service unit) {
	when := m.triggers(u)
	one := run{Job: Job{Source: u.name, Service: service.name, SlugFrom: "service name", TZ: m.zone}}
	switch {
	case len(when.calendar) > 0:
		one.Schedule = strings.Join(when.calendar, "\n")
		if when.interval > 0 {
			one.warn("also-interval")
		}
	case when.interval > 0:
		one.TZ, one.Timeout = "", int64(max(when.interval, time.Second)/time.Second)
		if when.fromEnd {
			one.warn("from-end-of-run")
		}
	case when.boot:
		m.leave(u.name, "boot-only", "")
		return
	default:
		m.leave(u.name, "bad-schedule", when.fault)
		return
	}
	execs := service.execs("ExecStart")
	for i, command := range execs {
		execs[i] = m.expand(command, service.name)
	}
	one.Command = strings.Join(execs, "; ")
	one.User, one.OfUser = m.runsAs(service), m.user != ""
	one.delays = append(when.delays, sleeps(one.Command)...)
	one.MaxRuntime = int64(service.limit(limit(one.Command)) / time.Second)
	one.name = strings.TrimSuffix(service.name, ".service")
	m.unitWrap(&one, service)
	if m.user != "" && !m.tree.exists("/var/lib/systemd/linger/"+m.user) {
		one.warn("no-linger")
	}
	one.key = strings.Join([]string{"unit", m.user, u.name}, "\x00")
	m.add(one)
}

// runsAs returns the user of a service.
func (m *manager) runsAs(service unit) string {
	if m.user != "" {
		return m.user
	}
	if user := m.expand(service.last("Service", "User"), service.name); user != "" {
		return user
	}
	return "root"
}

// unitWrap decides how a service can report, and whether it does already.
func (m *manager) unitWrap(one *run, service unit) {
	var lines []string
	for _, key := range []string{"ExecStart", "ExecStartPre", "ExecStartPost", "ExecStop", "ExecStopPost"} {
		lines = append(lines, service.execs(key)...)
	}
	for _, line := range lines {
		if name := serviceOf(line); name != "" && one.Reports == "" {
			one.Reports = name
		}
		if slug := slugOf(m.expand(line, service.name)); slug != "" && one.Slug == "" {
			one.Slug, one.SlugFrom = slug, wrappedLine
		}
	}
	one.Wrap = Wrap{Mode: DropIn}
	switch {
	case one.Reports != "":
		one.Wrap = Wrap{Mode: None, Reason: "reports"}
	case set("notify notify-reload forking dbus")[service.last("Service", "Type")]:
		one.Wrap = Wrap{Mode: None, Reason: "service-type"}
	case yes(service.last("Service", "PrivateNetwork")) || len(service.all("Service", "IPAddressDeny")) > 0:
		one.Wrap = Wrap{Mode: None, Reason: "network"}
	case yes(service.last("Service", "DynamicUser")) || service.last("Service", "RootDirectory") != "" || service.last("Service", "RootImage") != "":
		one.Wrap = Wrap{Mode: None, Reason: "sandbox"} // it sees neither rollcall nor the key
	}
}

// limit returns how long a run of a service may take, or 0. Within is the limit of its command.
func (u unit) limit(within time.Duration) time.Duration {
	keys := []string{"RuntimeMaxSec"}
	if u.last("Service", "Type") == "oneshot" {
		keys = []string{"TimeoutSec", "TimeoutStartSec"}
	}
	most := time.Duration(0)
	for _, s := range u.settings {
		if s.section == "Service" && slices.Contains(keys, s.key) {
			most, _ = timeSpan(s.value) // infinity is none
		}
	}
	if most == 0 || within > 0 && within < most {
		return within
	}
	return most
}

// triggers are when a timer elapses.
type triggers struct {
	calendar []string
	interval time.Duration // the shortest of those that repeat
	fromEnd  bool          // it counts from the end of a run
	boot     bool          // it elapses once, after boot or activation
	delays   []delay
	fault    string
}

// triggers reads the settings of a timer. An empty one of On… resets all of them.
func (m *manager) triggers(u unit) triggers {
	settings := u.settings
	if shown, ok := m.shown[u.name]; ok && len(shown.settings) > 0 {
		settings = shown.settings
	}
	t := triggers{fault: "it has no trigger"}
	delays := make(map[string]time.Duration)
	for _, s := range settings {
		if s.section != "Timer" {
			continue
		}
		switch s.key {
		case "OnCalendar", "OnActiveSec", "OnBootSec", "OnStartupSec", "OnUnitActiveSec", "OnUnitInactiveSec":
			if s.value == "" {
				t = triggers{fault: t.fault}
				continue
			}
			t.add(s.key, s.value)
		case "RandomizedDelaySec", "AccuracySec", "RandomizedOffsetSec":
			if d, ok := timeSpan(s.value); ok || s.value == "" {
				delays[s.key] = d
			}
		}
	}
	for _, key := range []string{"RandomizedDelaySec", "RandomizedOffsetSec", "AccuracySec"} {
		if delays[key] > 0 {
			t.delays = append(t.delays, delay{delays[key], key})
		}
	}
	return t
}

// add adds a trigger. systemd ignores one that it cannot read.
func (t *triggers) add(key, value string) {
	if key == "OnCalendar" {
		expr := strings.Join(strings.Fields(value), " ")
		if schedule.Detect(expr) != schedule.KindOnCalendar {
			t.fault = "systemd does not read expressions of cron"
		} else if _, err := schedule.Parse(expr); err != nil {
			t.fault = err.Error()
		} else if !slices.Contains(t.calendar, expr) {
			t.calendar = append(t.calendar, expr)
		}
		return
	}
	d, ok := timeSpan(value)
	switch {
	case !ok:
		t.fault = "it is no time span: " + value
	case !strings.HasPrefix(key, "OnUnit"):
		t.boot = true
	case t.interval == 0 || d < t.interval:
		t.interval, t.fromEnd = d, key == "OnUnitInactiveSec"
	}
}

// shownTimer is what systemd says about a timer.
type shownTimer struct {
	active   bool
	settings []setting
}

// parseShown reads the output of "systemctl show" for timers: blocks of properties, with a blank line between.
func parseShown(text string) map[string]shownTimer {
	list := make(map[string]shownTimer)
	for block := range strings.SplitSeq(strings.ReplaceAll(text, "\r", ""), "\n\n") {
		var t shownTimer
		name := ""
		for line := range strings.Lines(block) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			switch key {
			case "Id":
				name = value
			case "ActiveState":
				t.active = value == "active"
			case "TimersCalendar", "TimersMonotonic":
				value, _, _ = strings.Cut(strings.Trim(value, "{ }"), " ;")
				trigger, when, _ := strings.Cut(value, "=")
				t.settings = append(t.settings, setting{"Timer", strings.Replace(trigger, "USec", "Sec", 1), strings.TrimSpace(when)})
			case "RandomizedDelayUSec", "AccuracyUSec", "RandomizedOffsetUSec":
				t.settings = append(t.settings, setting{"Timer", strings.Replace(key, "USec", "Sec", 1), value})
			}
		}
		if strings.HasSuffix(name, ".timer") {
			list[name] = t
		}
	}
	return list
}
