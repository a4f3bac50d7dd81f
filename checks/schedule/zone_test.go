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
		"Europe/../UTC": "", "Europe/": "", "Europe//Riga": "", "/Europe/Riga": "", "Europe": "", "Nowhere": "",
		"zone.tab": "", "tzdata.zi": "", "leapseconds": "", "SystemV/EST5": "", "UTC+3": "", "+03:00": "", "UTC\x00": "",
		"EEST": "", "Europe/Riga ": "", `Europe\Riga`: "", "Europe/Rīga": "", "\xff": "",
		"europe/riga": "Europe/Riga", "EUROPE/RIGA": "Europe/Riga", "utc": "UTC", "Riga": "Europe/Riga",
		"America/new york": "America/New_York", strings.Repeat("A", 10000): "",
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
