package monitor_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// nightly is maintenance that recurs at two o'clock.
func nightly() gate.Window {
	return gate.Window{Kind: gate.Maintenance, Schedule: "0 2 * * *", Duration: time.Hour, TZ: "Europe/Riga", Tags: []string{"db"}}
}

func hour(kind gate.WindowKind) gate.Window { return gate.Window{Kind: kind, Duration: time.Hour} }

func TestWindows(t *testing.T) {
	eachConfig(t, monitor.Config{AuditRetention: time.Hour}, func(t *testing.T, s setup) {
		ctx := audit.WithActor(t.Context(), audit.Actor{Kind: audit.Person, Name: "ann@example.org"})
		p := s.Monitor.Project(s.project.ID)
		c := s.create(t, checks.Spec{})
		added := func(w gate.Window) gate.Window {
			t.Helper()
			w, err := p.AddWindow(ctx, w)
			must(t, err)
			if w.ID == uuid.Nil || w.By != "ann@example.org" || !w.CreatedAt.Equal(s.clock.Now()) {
				t.Errorf("added %+v", w)
			}
			if got, err := p.Window(ctx, w.ID); err != nil || !got.Equal(w) {
				t.Errorf("read %+v, error %v, want %+v", got, err, w)
			}
			return w
		}
		list := func(q checks.WindowQuery, want ...gate.Window) {
			t.Helper()
			got, err := p.Windows(ctx, q)
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
				t.Errorf("windows of %+v: error %v (-want +got):\n%s", q, err, diff)
			}
		}
		list(checks.WindowQuery{})
		recurs := added(nightly())
		s.clock.Advance(time.Minute)
		once := hour(gate.Maintenance)
		once.Checks, once.Note = []uuid.UUID{c.ID}, "disks"
		once = added(once)
		s.clock.Advance(time.Minute)
		snooze := added(hour(gate.Snooze))
		list(checks.WindowQuery{}, recurs, once, snooze)
		list(checks.WindowQuery{Kind: gate.Snooze}, snooze)
		ended, err := p.EndWindow(ctx, once.ID)
		once.End = s.clock.Now()
		if err != nil || !ended.Equal(once) {
			t.Errorf("ended %+v, error %v, want %+v", ended, err, once)
		}
		if again, err := p.EndWindow(ctx, once.ID); err != nil || !again.Equal(once) {
			t.Errorf("ended again: %+v, error %v", again, err)
		}
		list(checks.WindowQuery{}, recurs, snooze)
		list(checks.WindowQuery{EndsAfter: noon}, recurs, once, snooze)
		s.clock.Advance(2 * time.Hour)
		list(checks.WindowQuery{}, recurs)
		const who, maintenance = "person ann@example.org : ", `checks ""→"CHECK" start ""→"2026-03-01T12:01:00Z" end ""→"2026-03-01T13:01:00Z" note ""→"disks"`
		want := []string{
			who + `maintenance.create "maintenance" tags ""→"db" start ""→"2026-03-01T12:00:00Z" schedule ""→"0 2 * * *" duration ""→"1h" tz ""→"Europe/Riga"`,
			who + `maintenance.create "disks" ` + strings.ReplaceAll(maintenance, "CHECK", c.ID.String()),
			who + `snooze.create "snooze" start ""→"2026-03-01T12:02:00Z" end ""→"2026-03-01T13:02:00Z"`,
			who + `maintenance.end "disks" end "2026-03-01T13:01:00Z"→"2026-03-01T12:02:00Z"`,
		}
		log := entries(t, s.Monitor, s.project.ID, audit.Query{})
		if diff := cmp.Diff(want, log[len(log)-len(want):]); diff != "" {
			t.Errorf("audit log (-want +got):\n%s", diff)
		}
	})
}

// TestEndWindow ends a recurring window before its first occurrence, which leaves nothing, and one within its third.
func TestEndWindow(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		p := s.Monitor.Project(s.project.ID)
		early, err := p.AddWindow(t.Context(), nightly())
		must(t, err)
		late, err := p.AddWindow(t.Context(), nightly())
		must(t, err)
		ahead := hour(gate.Maintenance)
		ahead.Start = noon.Add(24 * time.Hour)
		ahead, err = p.AddWindow(t.Context(), ahead)
		must(t, err)
		for _, id := range []uuid.UUID{early.ID, ahead.ID} {
			w, err := p.EndWindow(t.Context(), id)
			if _, _, begins := w.Next(noon); begins || err != nil {
				t.Errorf("after its end there is %+v, error %v", w, err)
			}
			if _, err := p.Window(t.Context(), id); !errors.Is(err, checks.ErrNotFound) {
				t.Errorf("a window that never occurred is still there: error %v", err)
			}
		}
		s.clock.Set(time.Date(2026, 3, 4, 0, 30, 0, 0, time.UTC)) // half past two in Riga
		late, err = p.EndWindow(t.Context(), late.ID)
		must(t, err)
		if spans := late.Spans(noon, noon.AddDate(1, 0, 0)); len(spans) != 3 || spans[2].End != s.clock.Now() {
			t.Errorf("the occurrences are %v", spans)
		}
		kept, err := p.Windows(t.Context(), checks.WindowQuery{EndsAfter: noon})
		if err != nil || len(kept) != 1 || !kept[0].Equal(late) {
			t.Errorf("kept %+v, error %v", kept, err)
		}
	})
}

// TestWindowErrors adds windows that are refused, and sees that nothing has changed.
func TestWindowErrors(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		p := s.Monitor.Project(s.project.ID)
		other, err := s.Monitor.OpenProject(t.Context(), "other")
		must(t, err)
		foreign, err := other.Create(t.Context(), checks.Spec{})
		must(t, err)
		for want, w := range map[string]gate.Window{
			"end":    {Kind: gate.Maintenance},
			"checks": {Kind: gate.Snooze, Duration: time.Hour, Checks: []uuid.UUID{s.create(t, checks.Spec{}).ID, foreign.ID}},
		} {
			_, err := p.AddWindow(t.Context(), w)
			if e, ok := errors.AsType[*checks.FieldError](err); !ok || e.Field != want || !errors.As(err, new(*monitor.Error)) {
				t.Errorf("error %v, want one about the %s", err, want)
			}
		}
		w, err := other.AddWindow(t.Context(), hour(gate.Snooze))
		must(t, err)
		if _, err := p.EndWindow(t.Context(), w.ID); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("the end of another project's window: %v", err)
		}
		if list, err := p.Windows(t.Context(), checks.WindowQuery{}); err != nil || len(list) > 0 {
			t.Errorf("the project has %+v, error %v", list, err)
		}
		must(t, s.Projects().Delete(t.Context(), other.ID()))
		if _, err := other.Windows(t.Context(), checks.WindowQuery{}); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("windows of a deleted project: %v", err)
		}
	})
}

// TestWindowLimit fills a project with windows, at once. Those that have ended do not count.
func TestWindowLimit(t *testing.T) {
	s := newSetup(t, dbtest.Memory(t), checks.ProjectSpec{Name: "p"})
	p := s.Monitor.Project(s.project.ID)
	ended, err := p.AddWindow(t.Context(), hour(gate.Maintenance))
	must(t, err)
	s.clock.Advance(time.Second)
	_, err = p.EndWindow(t.Context(), ended.ID)
	must(t, err)
	refused := make(chan error, checks.MaxWindows+10)
	together(checks.MaxWindows+10, func(int) {
		if _, err := p.AddWindow(context.Background(), hour(gate.Snooze)); err != nil {
			refused <- err
		}
	})
	if len(refused) != 10 {
		t.Errorf("%d windows were refused, want 10", len(refused))
	}
	const want = "project has 200 maintenance windows and snoozes that have not ended, the maximum"
	if err := <-refused; !strings.HasSuffix(err.Error(), want) {
		t.Errorf("error %v", err)
	}
}

// TestEndWindowReleases ends recurring maintenance within an occurrence: the alert that waited is sent at once, and verdict and
// rehearsal know the window while it is there.
func TestEndWindowReleases(t *testing.T) {
	eachGate(t, func(t *testing.T, o outbox, _ channels.Channel, c checks.Check) {
		p := o.Monitor.Project(o.project.ID)
		w := gate.Window{Kind: gate.Maintenance, Schedule: "0 13 * * *", Duration: 3 * time.Hour, Note: "new disks", Checks: []uuid.UUID{c.ID}}
		w, err := p.AddWindow(t.Context(), w)
		must(t, err)
		o.clock.Set(noon.Add(time.Hour))
		says := func(want string) {
			t.Helper()
			now, err := p.Check(t.Context(), c.ID)
			must(t, err)
			v, err := p.Explain(t.Context(), *now.Check, nil)
			must(t, err)
			r, err := p.Rehearse(t.Context(), true, *now.Check)
			must(t, err)
			text := v.Text(nil) + "\n"
			for _, s := range r[0].Steps {
				text += r[0].Text(s, nil) + "\n"
			}
			if strings.Contains(text, "disks") != (want != "") || !strings.Contains(text, want) {
				t.Errorf("got %q, want %q", text, want)
			}
		}
		says("In maintenance until 16:00 (new disks): alerts wait.")
		says("Maintenance (new disks) holds the alert until 16:00.")
		o.ping(t, c.ID, pings.Failure)
		o.wait(t, time.Hour)
		_, err = p.EndWindow(t.Context(), w.ID)
		must(t, err)
		o.deliver(t, down)
		says("")
		times, err := p.Downtime(t.Context(), c.ID, noon.Add(time.Hour), o.Now().Add(time.Hour))
		if want := (flips.Times{Maintenance: time.Hour}); err != nil || times != want {
			t.Errorf("times %+v, error %v, want %+v", times, err, want)
		}
	})
}
