package discover

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rollcall-dev/rollcall/checks/schedule"
)

// seeds adds the texts of the corpus whose paths match.
func seeds(f *testing.F, corpus, path string, add func(text string)) {
	t := &testing.T{}
	form := regexp.MustCompile(path)
	for _, c := range readCorpus(t, corpus) {
		for _, file := range c.Files {
			if form.MatchString(file.Path) {
				add(file.Text)
			}
		}
	}
}

var slugForm = regexp.MustCompile(`^[a-z0-9_-]{1,100}$`)

// sound checks what holds for everything that is found.
func sound(t *testing.T, found Found) {
	t.Helper()
	if _, err := json.Marshal(found); err != nil {
		t.Error(err)
	}
	for _, job := range found.Jobs {
		if !slugForm.MatchString(job.Slug) || job.Grace < 300 || job.Grace%60 != 0 || job.MaxRuntime < 0 {
			t.Errorf("%s: slug %q, grace %d, limit %d", job.Source, job.Slug, job.Grace, job.MaxRuntime)
		}
		if (job.Timeout > 0) == (job.Schedule != "") {
			t.Errorf("%s: timeout %d and schedule %q", job.Source, job.Timeout, job.Schedule)
		}
		if job.Schedule != "" {
			if _, err := schedule.Parse(job.Schedule); err != nil || len(job.Schedule) > maxSchedule || !knownZone(job.TZ) {
				t.Errorf("%s: %q in %q: %v", job.Source, job.Schedule, job.TZ, err)
			}
		}
	}
}

// oneFile is a machine with a single file beside its users.
func oneFile(name, text string) Machine {
	return Machine{Host: "alder", Now: testNow, FS: fstest.MapFS{
		"etc/passwd":    {Data: []byte("root:x:0:0::/root:/bin/sh\nines:x:1000:100::/home/ines:/bin/sh\n"), Mode: 0o644},
		"etc/timezone":  {Data: []byte("Europe/Riga\n"), Mode: 0o644},
		name:            {Data: []byte(text), Mode: 0o600},
		anacron[1:]:     {Mode: 0o755},
		"etc/x/nightly": {Mode: 0o755},
	}}
}

func FuzzCrontab(f *testing.F) {
	seeds(f, "crontab.jsonl", "cron", func(text string) { f.Add(text, true); f.Add(text, false) })
	f.Fuzz(func(t *testing.T, text string, system bool) {
		for _, cron := range Crons {
			name := "var/spool/cron/crontabs/ines"
			switch {
			case system:
				name = "etc/crontab"
			case cron == SUSE:
				name = "var/spool/cron/tabs/ines"
			}
			m := oneFile(name, text)
			m.Cron = cron
			found := m.Read()
			sound(t, found)
			lines := strings.Split(text, "\n")
			for _, job := range found.Jobs {
				for _, place := range job.Places {
					at, line := place.Wrap.InsertAt, lines[place.Line-1]
					if place.Wrap.Mode == None || cron == Busybox { // which joins lines
						continue
					}
					raw, _, _ := unwrap(line[at:])
					if command, _, _ := cron.decode(raw); command != job.Command || at == 0 || line[at-1] != ' ' && line[at-1] != '\t' {
						t.Errorf("%s: the command %q is not at %d of %q", cron, job.Command, at, line)
					}
				}
			}
		}
	})
}

func FuzzAnacrontab(f *testing.F) {
	seeds(f, "crontab.jsonl", "anacrontab", func(text string) { f.Add(text) })
	f.Add("RANDOM_DELAY=45\n1 5 nightly /opt/x/a\n@monthly 15 m run-parts /etc/x\n")
	f.Fuzz(func(t *testing.T, text string) { sound(t, oneFile("etc/anacrontab", text).Read()) })
}

func FuzzTimer(f *testing.F) {
	seeds(f, "systemd.jsonl", `\.(timer|conf)$`, func(text string) { f.Add(text, "[Service]\nExecStart=/opt/x/a") })
	seeds(f, "systemd.jsonl", `\.service$`, func(text string) { f.Add("[Timer]\nOnCalendar=daily", text) })
	f.Fuzz(func(t *testing.T, timer, service string) {
		m := oneFile("etc/systemd/system/x.timer", timer)
		files := m.FS.(fstest.MapFS)
		files["etc/systemd/system/x.service"] = &fstest.MapFile{Data: []byte(service), Mode: 0o644}
		files["etc/systemd/system/timers.target.wants/x.timer"] = &fstest.MapFile{Data: []byte("../x.timer"), Mode: 0o777}
		sound(t, m.Read())
	})
}

func FuzzShownTimers(f *testing.F) {
	f.Add("Id=x.timer\nActiveState=active\nTimersCalendar={ OnCalendar=*-*-* 03:00:00 ; next_elapse=n/a }\n")
	f.Fuzz(func(t *testing.T, text string) {
		m := oneFile("etc/systemd/system/x.timer", "[Timer]\nOnCalendar=daily")
		m.FS.(fstest.MapFS)["etc/systemd/system/x.service"] = &fstest.MapFile{Data: []byte("[Service]\nExecStart=/x"), Mode: 0o644}
		m.Timers = text
		sound(t, m.Read())
	})
}

func FuzzKubernetes(f *testing.F) {
	seeds(f, "kubernetes.jsonl", ".", func(text string) { f.Add(text) })
	f.Fuzz(func(t *testing.T, text string) {
		sound(t, Kubernetes(testNow, Manifest{Name: "manifest.yaml", Data: []byte(text)}))
	})
}
