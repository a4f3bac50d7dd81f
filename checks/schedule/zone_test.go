package schedule_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks/schedule"
)

func TestLoadLocation(t *testing.T) {
	for name, want := range map[string]string{
		"UTC":                            "UTC",
		"GMT":                            "GMT",
		"Etc/UTC":                        "Etc/UTC",
		"Etc/GMT+5":                      "Etc/GMT+5",
		"EST5EDT":                        "EST5EDT",
		"CET":                            "CET",
		"Europe/Riga":                    "Europe/Riga",
		"Europe/Bratislava":              "Europe/Bratislava",
		"America/Port-au-Prince":         "America/Port-au-Prince",
		"America/North_Dakota/New_Salem": "America/North_Dakota/New_Salem",
		"Europe/Kiev":                    "Europe/Kyiv",
		"Asia/Calcutta":                  "Asia/Kolkata",
		"US/Eastern":                     "America/New_York",
		"America/Buenos_Aires":           "America/Argentina/Buenos_Aires",
		"Iceland":                        "Atlantic/Reykjavik",
		"Zulu":                           "Etc/UTC",
		"Japan":                          "Asia/Tokyo",
	} {
		loc, err := schedule.LoadLocation(name)
		if err != nil {
			t.Error(err)
		} else if loc.String() != want {
			t.Errorf("LoadLocation(%q) is %q, want %q", name, loc, want)
		}
	}
}

func TestLoadLocationRefuses(t *testing.T) {
	for name, suggestion := range map[string]string{
		"": "", "Local": "", "local": "", "localtime": "", "posixrules": "", "Factory": "", "posix/Europe/Riga": "",
		"right/Europe/Riga": "", "/etc/localtime": "", "/usr/share/zoneinfo/UTC": "", "..": "", "../UTC": "",
		"Europe/../UTC": "", "Europe/": "", "Europe//Riga": "Europe/Riga", "/Europe/Riga": "Europe/Riga", "Europe": "", "Nowhere": "",
		"zone.tab": "", "tzdata.zi": "", "leapseconds": "", "SystemV/EST5": "", "UTC+3": "", "+03:00": "", "UTC\x00": "UTC", "Rgia": "Europe/Riga", "Europe/Berln": "Europe/Berlin",
		"EEST": "", "Europe/Riga ": "Europe/Riga", `Europe\Riga`: "Europe/Riga", "Europe/Rīga": "Europe/Riga", "\xff": "",
		"europe/riga": "Europe/Riga", "EUROPE/RIGA": "Europe/Riga", "utc": "UTC", "Riga": "Europe/Riga",
		"Europe/Rigga": "Europe/Riga", "Europe/Rigo": "Europe/Riga", "America/New_Yrk": "America/New_York", "Europe/Vilagosz": "", "America/new york": "America/New_York", strings.Repeat("A", 10000): "",
	} {
		loc, err := schedule.LoadLocation(name)
		var e *schedule.Error
		if !errors.As(err, &e) {
			t.Errorf("LoadLocation(%q) = %v, %v", name, loc, err)
			continue
		}
		if e.Field != "tz" || e.Offset != -1 || loc != nil {
			t.Errorf("LoadLocation(%q) = %v, %#v", name, loc, e)
		}
		if _, meant, _ := strings.Cut(e.Reason, "did you mean "); meant != "" && meant != suggestion+"?" || meant == "" && suggestion != "" {
			t.Errorf("LoadLocation(%q): %v, want %q suggested", name, e, suggestion)
		}
	}
}

// TestZoneAdvice: what people write instead of the name of a zone. Etc/GMT-2 is two hours ahead of UTC.
func TestZoneAdvice(t *testing.T) {
	for name, want := range map[string]string{
		"GMT+2":                   "write a place with that time, such as Europe/Athens, or Etc/GMT-2 for a fixed offset",
		"gmt+2 ":                  "Etc/GMT-2 ",
		"UTC+2":                   "Etc/GMT-2 ",
		"UTC +02":                 "Etc/GMT-2 ",
		"+02:00":                  "Etc/GMT-2 ",
		"GMT-5":                   "such as America/New_York, or Etc/GMT+5 ",
		"UTC-05:00":               "such as America/New_York, or Etc/GMT+5 ",
		"UTC−5":                   "Etc/GMT+5 ",
		"GMT-12":                  "write Etc/GMT+12",
		"+0530":                   "such as Asia/Kolkata",
		"UTC+5:45":                "such as Asia/Kathmandu",
		"UTC+00:00":               "Europe/London, or UTC for",
		"GMT-13":                  "database",
		"UTC+15":                  "database",
		"GMT+02:17":               "database",
		"CEST":                    "such as Europe/Berlin",
		"pst":                     "such as America/Los_Angeles",
		"W. Europe Standard Time": "a name of Windows",
		"est5edt":                 "did you mean EST5EDT?",
		"berlin":                  "did you mean Europe/Berlin?",
	} {
		_, err := schedule.LoadLocation(name)
		if err == nil || !strings.Contains(err.Error()+" ", want) || want == "database" && !strings.HasSuffix(err.Error(), want) {
			t.Errorf("LoadLocation(%q): %v, want %q", name, err, want)
		}
		_, err = schedule.Parse("12:00 " + name)
		if want == "Etc/GMT-2 " && !strings.Contains(name, " ") && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("in an expression: %v", err)
		}
	}
	for _, name := range schedule.AdvisedZones() {
		if loc, err := schedule.LoadLocation(name); err != nil || loc.String() != name {
			t.Errorf("the advice %q is %v, %v", name, loc, err)
		}
	}
}

// TestConcurrentNext shares schedules between goroutines, for the race detector.
func TestConcurrentNext(t *testing.T) {
	riga := mustZone(t, "Europe/Riga")
	for _, expr := range []string{"*/5 * * * 1-5", "0 3 L * *", "0 0 */2 * MON", "Mon 09:00\n12:00 Asia/Tokyo"} {
		s, err := schedule.Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		from := time.Date(2026, 3, 28, 0, 0, 0, 0, riga)
		want := s.Next(from)
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				for range 100 {
					if got := s.Next(from); !got.Equal(want) {
						t.Errorf("%q: %v and %v", expr, got, want)
					}
					schedule.Explain(s, riga)
				}
			})
		}
		group.Wait()
	}
}
