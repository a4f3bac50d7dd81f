package monitor_test

import (
	"bytes"
	"encoding/binary"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// zoneFile is the compiled form (RFC 9636) of a zone without changes, by its POSIX rule.
func zoneFile(rule string) string {
	var b bytes.Buffer
	for range 2 { // the second block has times of 64 bits
		b.WriteString("TZif2" + strings.Repeat("\x00", 15))
		for _, count := range []uint32{0, 0, 0, 0, 1, 4} {
			b.Write(binary.BigEndian.AppendUint32(nil, count))
		}
		b.WriteString("\x00\x00\x00\x00\x00\x00UTC\x00")
	}
	b.WriteString("\n" + rule + "\n")
	return b.String()
}

// useZones makes Europe/Riga follow a rule in a release of the time zone data.
func useZones(t *testing.T, version, rule string) {
	t.Helper()
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "Europe"), 0o777))
	must(t, os.WriteFile(filepath.Join(dir, "Europe", "Riga"), []byte(zoneFile(rule)), 0o666))
	must(t, os.WriteFile(filepath.Join(dir, "tzdata.zi"), []byte("# version "+version+"\n"), 0o666))
	must(t, schedule.UseZoneinfo(dir))
	t.Cleanup(func() { must(t, schedule.UseZoneinfo("")) })
}

// TestZoneDataChange: new time zone data move the next times and the deadlines of checks, whether a running monitor finds them or
// the next one has them from its start, and the log says which.
func TestZoneDataChange(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() database) {
		useZones(t, "2026f", "<+02>-2")
		db := open()
		s := configured(t, db, checks.ProjectSpec{Name: "p"}, monitor.Config{})
		var log bytes.Buffer
		s.Monitor = logged(t, s, db, &log)
		moves := s.create(t, checks.Spec{Name: new("moves"), Schedule: new("0 18 * * *"), TZ: new("Europe/Riga"), Grace: new(time.Minute)})
		stays := s.create(t, checks.Spec{Name: new("stays"), Schedule: new("0 18 * * *"), TZ: new("Europe/Berlin"), Grace: new(time.Minute)})
		s.create(t, checks.Spec{Schedule: new("0 18 * * *"), TZ: new("Europe/Riga")}) // new: it has no next time
		s.ping(t, moves.ID, pings.Success)
		s.ping(t, stays.ID, pings.Success)
		tick := func(m *monitor.Monitor) {
			t.Helper()
			must(t, m.Tick(t.Context()))
		}
		nextIs := func(hour int) {
			t.Helper()
			c, err := s.Check(t.Context(), moves.ID)
			must(t, err)
			if got := c.NextPing(s.clock.Now()); got.Hour() != hour {
				t.Errorf("the next time is %v, want %d:00 UTC", got, hour)
			}
		}
		tick(s.Monitor)
		if log.Len() > 0 {
			t.Errorf("the same data are logged: %s", &log)
		}
		nextIs(16)

		// The running monitor finds new data.
		useZones(t, "2026g", "<+03>-3")
		tick(s.Monitor)
		nextIs(15)
		if text := log.String(); strings.Count(text, "name=moves") != 1 || strings.Contains(text, "name=stays") || !strings.Contains(text, "2026g") {
			t.Errorf("the log says %s", text)
		}
		s.clock.Set(time.Date(2026, 3, 1, 15, 0, 59, 0, time.UTC))
		s.sweep(t, 0)
		s.clock.Advance(time.Second)
		s.sweep(t, 1)

		// The next one has other data from its start.
		s.ping(t, moves.ID, pings.Success)
		useZones(t, "2026h", "<+05>-5")
		log.Reset()
		s.Monitor = logged(t, s, open(), &log)
		tick(s.Monitor)
		nextIs(13)
		if text := log.String(); strings.Count(text, "name=moves") != 1 {
			t.Errorf("the log says %s", text)
		}
		s.clock.Set(time.Date(2026, 3, 1, 17, 0, 0, 0, time.UTC))
		s.ping(t, stays.ID, pings.Success)
		s.clock.Set(time.Date(2026, 3, 2, 13, 1, 0, 0, time.UTC))
		s.sweep(t, 1)
	})
}

// logged returns another monitor with the clock of a setup, which logs what it says about zones.
func logged(t *testing.T, s setup, db database, log *bytes.Buffer) *monitor.Monitor {
	t.Helper()
	m, err := monitor.New(db, &monitor.Config{Now: s.clock.Now, Logger: slog.New(slog.NewTextHandler(aboutZones{log}, nil))})
	must(t, err)
	return m
}

// aboutZones writes the lines of a log that are about zones.
type aboutZones struct{ log *bytes.Buffer }

func (a aboutZones) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("component=zones")) {
		a.log.Write(line)
	}
	return len(line), nil
}

// TestOldZoneData: data older than a year are a warning of Health.
func TestOldZoneData(t *testing.T) {
	s := newSetup(t, database{dbtest.SQLite(t).Open(t).Contract().(store.Store)}, checks.ProjectSpec{Name: "p"})
	old := func() (found bool) {
		for _, c := range s.Health(t.Context()) {
			found = found || c.Part == "zoneinfo" && c.Warning && strings.Contains(c.Problem, "2024a")
		}
		return found
	}
	useZones(t, "2026a", "<+02>-2")
	if old() {
		t.Error("new data are called old")
	}
	useZones(t, "2024a", "<+02>-2")
	if !old() {
		t.Errorf("old data are not named: %v", s.Health(t.Context()))
	}
}
