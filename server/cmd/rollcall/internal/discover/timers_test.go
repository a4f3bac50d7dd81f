package discover

import (
	"slices"
	"testing"
	"time"
)

func TestTimeSpan(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"40": 40 * time.Second, "5min": 5 * time.Minute, "1h 30min": 90 * time.Minute, "1h30m": 90 * time.Minute, "1.5h": 90 * time.Minute,
		"2 hours": 2 * time.Hour, "1d": day, "1w": 7 * day, "500ms": 500 * time.Millisecond, "0": 0,
	} {
		if got, ok := timeSpan(text); !ok || got != want {
			t.Errorf("%q: %v, %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "infinity", "5min # x", "h", "-5", "1 fortnight", "99999999999y"} {
		if got, ok := timeSpan(text); ok {
			t.Errorf("%q: %v, want an error", text, got)
		}
	}
}

// What systemd says counts more than files: when a timer elapses, and that one runs that nothing enables.
func TestShownTimers(t *testing.T) {
	m := Machine{Now: testNow, Host: "alder", FS: treeOf(
		"etc/systemd/system/a.timer: [Timer]\nOnCalendar=daily\n",
		"etc/systemd/system/a.service: [Service]\nExecStart=/opt/x/a\n",
		"run/systemd/transient/b.timer: [Timer]\n",
		"run/systemd/transient/b.service: [Service]\nExecStart=/opt/x/b\n",
		"etc/systemd/system/c.timer: [Timer]\nOnCalendar=daily\n",
	)}
	m.Timers = `AccuracyUSec=1min
RandomizedDelayUSec=12h
TimersCalendar={ OnCalendar=*-*-* 06,18:00:00 ; next_elapse=Mon 2026-11-30 06:00:00 EET }
Id=a.timer
ActiveState=active

AccuracyUSec=1min
TimersMonotonic={ OnUnitActiveUSec=15min ; next_elapse=1h 2min }
TimersMonotonic={ OnBootUSec=5min ; next_elapse=5min }
Id=b.timer
ActiveState=active

Id=c.timer
ActiveState=inactive
`
	found := m.Read()
	if len(found.Jobs) != 2 {
		t.Fatalf("%+v", found)
	}
	a, b := found.Jobs[0], found.Jobs[1]
	if a.Schedule != "*-*-* 06,18:00:00" || a.Grace != 13*3600 || b.Timeout != 900 || b.Schedule != "" || b.TZ != "" {
		t.Errorf("%+v\n%+v", a, b)
	}
	if !slices.Equal(found.LeftOut, []LeftOut{{"c.timer", "not-enabled", ""}}) {
		t.Errorf("left out: %+v", found.LeftOut)
	}
}

func TestTemplates(t *testing.T) {
	m := Machine{Now: testNow, FS: treeOf(
		"etc/passwd: root:x:0:0::/root:/bin/sh\nines:x:1000:100::/home/ines:/bin/sh\n",
		"etc/systemd/system/dump@.timer: [Timer]\nOnCalendar=daily\n",
		`etc/systemd/system/dump@.service: [Service]`+"\nUser=%i\nExecStart=/usr/local/bin/dump %i %I %n %p 100%%\n",
		"etc/systemd/system/dump@.timer.d/10.conf: [Timer]\nAccuracySec=2h\n",
		"etc/systemd/system/dump@db-1.timer.d/20.conf: [Timer]\nAccuracySec=1h\n",
		"etc/systemd/system/timers.target.wants/dump@db-1.timer -> ../dump@.timer",
	)}
	found := m.Read()
	if len(found.Jobs) != 1 || len(found.LeftOut) > 0 {
		t.Fatalf("%+v", found)
	}
	job := found.Jobs[0]
	if job.Source != "dump@db-1.timer" || job.Command != "/usr/local/bin/dump db-1 db/1 dump@db-1.service dump 100%" || job.User != "db-1" ||
		job.Slug != "dump-db-1" || job.Grace != 2*3600 {
		t.Errorf("%+v", job)
	}
}
