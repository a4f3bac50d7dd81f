package verdict_test

import (
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks/verdict"
)

func TestTwelveHours(t *testing.T) {
	riga, err := time.LoadLocation("Europe/Riga")
	if err != nil {
		t.Fatal(err)
	}
	for _, zone := range []*time.Location{riga, time.UTC} {
		twelve := verdict.TwelveHours(zone)
		if twelve.String() != zone.String() || twelve != verdict.TwelveHours(twelve) || verdict.HasTwelveHours(zone) || !verdict.HasTwelveHours(twelve) {
			t.Errorf("%s: twin %s", zone, twelve)
		}
		for hour := range 48 {
			at := time.Date(2026, 10, 24, hour, 4, 5, 0, time.UTC)
			if got, want := verdict.Format(at.In(twelve), "2 Jan 15:04:05 MST"), at.In(zone).Format("2 Jan 3:04:05 pm MST"); got != want {
				t.Errorf("%v: %s, want %s", at, got, want)
			}
			if got, want := verdict.Format(at.In(zone), "15:04"), at.In(zone).Format("15:04"); got != want {
				t.Errorf("%v: %s, want %s", at, got, want)
			}
		}
	}
	now := time.Date(2026, 11, 24, 20, 0, 0, 0, riga)
	if got := verdict.Time(now.Add(-17*time.Hour), now, verdict.TwelveHours(riga)); got != "3:00 am" {
		t.Errorf("time %q", got)
	}
	if got := verdict.Time(now.Add(-24*time.Hour), now, verdict.TwelveHours(riga)); got != "yesterday 8:00 pm" {
		t.Errorf("time %q", got)
	}
}
