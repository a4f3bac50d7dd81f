package monitor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestAlertPing sends alerts about pings with bodies of all sizes, in the database and in object storage. Each has the
// duration of the run, and the beginning and the end of the body.
func TestAlertPing(t *testing.T) {
	large := strings.Repeat("0123456789", 5000) + "\xff the end"
	for _, sh := range []*shelf{nil, {}} {
		eachOutbox(t, func(c *monitor.Config) {
			if sh != nil {
				c.Bodies, c.BodyThreshold = sh, 100
			}
		}, func(t *testing.T, o outbox) {
			o.channel(t, "pager", "ops", nil)
			c := o.watched(t, "a")
			for _, body := range []string{"", "disk full", large[:channels.MaxEnd], large} {
				o.ping(t, c.ID, pings.Start)
				o.clock.Advance(41*time.Second + 20*time.Millisecond)
				_, err := o.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Failure, Body: []byte(body)})
				if err != nil {
					t.Fatal(err)
				}
				if sh != nil {
					if _, err := o.UploadBodies(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := o.Deliver(t.Context()); err != nil {
					t.Fatal(err)
				}
				list := o.all()
				got := list[len(list)-1].Ping
				if got.Kind != "fail" || got.Duration != 41*time.Second+20*time.Millisecond {
					t.Errorf("%s took %v, want 41.02 s", got.Kind, got.Duration)
				}
				if string(got.Body) != body[:min(len(body), channels.MaxBody)] || string(got.End) != body[max(0, len(body)-channels.MaxEnd):] {
					t.Errorf("of %d bytes the alert has %d at the beginning and %d at the end", len(body), len(got.Body), len(got.End))
				}
				o.ping(t, c.ID, pings.Success)
				if _, err := o.Deliver(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestAlertMail sends an alert about a ping by e-mail. The last lines of the message are no output of the job.
func TestAlertMail(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "ops", nil)
		c := o.watched(t, "a")
		signal := pings.Signal{Kind: pings.Failure, Scheme: "email", Body: []byte("Subject: a\r\n\r\n--b--\r\n")}
		if _, err := o.Ping(t.Context(), c.ID, signal); err != nil {
			t.Fatal(err)
		}
		if _, err := o.Deliver(t.Context()); err != nil {
			t.Fatal(err)
		}
		if p := o.all()[0].Ping; string(p.Body) != string(signal.Body) || p.End != nil || p.Duration != 0 {
			t.Errorf("the alert has %+v", p)
		}
	})
}
