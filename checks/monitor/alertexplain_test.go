package monitor_test

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/verdict"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// says compares the verdict of a check with the words that it begins with.
func (o outbox) says(t *testing.T, id uuid.UUID, want string) {
	t.Helper()
	v, err := o.explain(t, id)
	must(t, err)
	if got := v.Text(nil); !strings.HasPrefix(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func (o outbox) explain(t *testing.T, id uuid.UUID) (verdict.Verdict, error) {
	t.Helper()
	c, err := o.Check(t.Context(), id)
	if err != nil {
		return verdict.Verdict{}, err
	}
	log, err := o.Pings(t.Context(), id)
	must(t, err)
	return o.Monitor.Project(c.ProjectID).Explain(t.Context(), c, log)
}

// night makes a check that runs at 03:00 in Riga, and reported yesterday at 03:04.
func (o outbox) night(t *testing.T, spec checks.Spec) checks.Check {
	t.Helper()
	spec.Name, spec.Schedule, spec.TZ, spec.Grace = new("backup"), new("0 3 * * *"), new("Europe/Riga"), new(20*time.Minute)
	c := o.create(t, spec)
	o.clock.Advance(13*time.Hour + 4*time.Minute) // 01:04 UTC on 2 March
	o.ping(t, c.ID, pings.Success)
	return c
}

func TestExplain(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		if _, err := o.explain(t, uuid.New()); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("an unknown check: error %v", err)
		}
		o.channel(t, "pager", "ops", map[string]string{"token": "1"})
		o.channel(t, "pager", "pager", map[string]string{"token": "2"})
		c := o.night(t, checks.Spec{Channels: new("*")})
		o.says(t, c.ID, "Up since 03:04. The last run succeeded at 03:04. Next run due tomorrow 03:00 Europe/Riga (20 min grace).")
		o.clock.Advance(24*time.Hour + 15*time.Minute + 59*time.Second)
		o.says(t, c.ID, "Late since 03:00. The run expected at 03:00 Europe/Riga has not reported yet; last success yesterday 03:04. It goes down at 03:20")
		o.clock.Advance(2 * time.Second)
		const down = "Down since 03:20. The run expected at 03:00 Europe/Riga did not report within its grace of 20 min; last success yesterday 03:04. "
		o.says(t, c.ID, down+"The alert is being sent.")
		o.sweep(t, 1)
		o.says(t, c.ID, down+"*ops* is being notified. *pager* is being notified.")
		o.set(func(ctx context.Context, c channels.Channel, _ channels.Notification) error {
			if c.Name == "pager" {
				return errors.New("no answer from 2") // a secret of the channel
			}
			return nil
		})
		_, err := o.Deliver(t.Context())
		must(t, err)
		o.says(t, c.ID, down+"*ops* was notified at 03:20:01. *pager* has not been notified: 1 attempt failed so far: no answer from ***; next attempt at 03:20:0")
		o.set(nil)
		o.clock.Advance(time.Hour)
		_, err = o.Deliver(t.Context())
		must(t, err)
		o.says(t, c.ID, down+"*ops* and *pager* were notified at 03:20:01 and 04:20:01. Next run due tomorrow 03:00.")
		o.clock.Advance(24 * time.Hour)
		o.says(t, c.ID, "Down since yesterday 03:20. The run expected yesterday 03:00 Europe/Riga")
		o.ping(t, c.ID, pings.Success)
		o.says(t, c.ID, "Up since 04:20, after 1 day 1 h down.")
		_, err = o.Pause(t.Context(), c.ID)
		must(t, err)
		o.says(t, c.ID, "Paused since 04:20 Europe/Riga; it was up before.")
	})
}

func TestExplainFailure(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		c := o.night(t, checks.Spec{})
		o.clock.Advance(time.Hour)
		_, err := o.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Failure, ExitStatus: new(2), Body: []byte("\x1b[31mno space left\x1b[0m\n")})
		must(t, err)
		o.clock.Advance(time.Minute)
		o.ping(t, c.ID, pings.Log)
		o.says(t, c.ID, "Down since 04:04 Europe/Riga. The job reported a failure with exit status 2: “no space left”; last success at 03:04. "+
			"Next run due tomorrow 03:00. This check has no integrations, so no one will be notified.")
	})
}

// TestExplainMail finds the line that says why in the text of a mail, as cron sends it.
func TestExplainMail(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		c := o.night(t, checks.Spec{})
		mail := "From: root@db1\r\nSubject: Cron <root@db1> backup\r\nContent-Transfer-Encoding: base64\r\n\r\n" +
			base64.StdEncoding.EncodeToString([]byte("copying\n/bin/sh: 1: bakcup: not found\n"))
		_, err := o.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Failure, Scheme: "email", Mail: &pings.Mail{}, Body: []byte(mail)})
		must(t, err)
		o.says(t, c.ID, "Down since 03:04 Europe/Riga. The job reported a failure: “/bin/sh: 1: bakcup: not found”; last success at 03:04. ")
	})
}

// TestAlertVerdict expects alerts to say what the page of a check says, with dates.
func TestAlertVerdict(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "ops", map[string]string{"token": "1"})
		c := o.night(t, checks.Spec{Channels: new("*"), RepeatEvery: new(time.Hour)})
		o.clock.Advance(24*time.Hour + 17*time.Minute)
		o.sweep(t, 1)
		deliver := func(want string) {
			t.Helper()
			_, err := o.Deliver(t.Context())
			must(t, err)
			notes := o.all()
			if got := notes[len(notes)-1].Verdict; got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		}
		const why = "The run expected on 3 Mar 03:00 Europe/Riga did not report within its grace of 20 min; last success on 2 Mar 03:04."
		deliver("Down since 3 Mar 03:20. " + why)
		o.clock.Advance(time.Hour)
		o.sweep(t, 0)
		deliver("Still down after 1 h 1 min, since 3 Mar 03:20. " + why)
		o.ping(t, c.ID, pings.Success)
		deliver("Up since 3 Mar 04:21, after 1 h 1 min down. Next run due on 4 Mar 03:00 Europe/Riga.")
	})
}

// TestAlertCause expects alerts to say why a job failed, also if that is neither in the beginning nor in the last line of
// its output.
func TestAlertCause(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "ops", map[string]string{"token": "1"})
		c := o.night(t, checks.Spec{Channels: new("*")})
		output := strings.Repeat("copied a file\n", 2000) + "Traceback (most recent call last):\n  File \"x\", line 1, in <module>\nOSError: disk full\n"
		_, err := o.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Failure, ExitStatus: new(1), Body: []byte(output)})
		must(t, err)
		_, err = o.Deliver(t.Context())
		must(t, err)
		notes := o.all()
		if n := notes[len(notes)-1]; n.Reason != "the job reported a failure, exit status 1" || n.Cause != "OSError: disk full" ||
			!strings.Contains(n.Verdict, "with exit status 1: “OSError: disk full”; last success") {
			t.Errorf("reason %q, cause %q, verdict %q", n.Reason, n.Cause, n.Verdict)
		}
	})
}

func TestEvents(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		if _, err := o.Events(t.Context(), uuid.New(), monitor.EventQuery{}); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("an unknown check: error %v", err)
		}
		o.channel(t, "pager", "ops", map[string]string{"token": "1"})
		c := o.night(t, checks.Spec{Channels: new("*")})
		if _, err := o.Events(t.Context(), c.ID, monitor.EventQuery{Limit: -1}); !errors.As(err, new(*checks.FieldError)) {
			t.Errorf("a negative limit: error %v", err)
		}
		o.clock.Advance(24*time.Hour + 17*time.Minute)
		list := func(q monitor.EventQuery, want ...checks.Status) []checks.Event {
			t.Helper()
			list, err := o.Events(t.Context(), c.ID, q)
			must(t, err)
			var got []checks.Status
			for _, e := range list {
				got = append(got, e.To)
			}
			if len(got) != len(want) {
				t.Fatalf("history %v, want %v", got, want)
			}
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("history %v, want %v", got, want)
				}
			}
			return list
		}
		list(monitor.EventQuery{}, checks.StatusDown, checks.StatusUp) // which nobody has recorded yet
		list(monitor.EventQuery{Before: o.Now().Add(-time.Hour)}, checks.StatusUp)
		o.sweep(t, 1)
		o.deliver(t, "ops: backup down")
		_, err := o.Pause(t.Context(), c.ID)
		must(t, err)
		got := list(monitor.EventQuery{}, checks.StatusPaused, checks.StatusDown, checks.StatusUp)
		if d := got[1].Deliveries; len(d) != 1 || d[0].State != checks.DeliverySent || d[0].ChannelName != "ops" || got[1].Reason != flips.Overdue {
			t.Errorf("down: %+v", got[1])
		}
		list(monitor.EventQuery{Limit: 1}, checks.StatusPaused)
		list(monitor.EventQuery{Before: got[0].At, Limit: 1}, checks.StatusDown)
	})
}
