package monitor

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/pings"
)

// Pinger sends pings to another monitor, which watches this one. A *client.Pinger is one.
type Pinger interface {
	Ping(ctx context.Context, s pings.Signal) error
}

// beatTimeout bounds one heartbeat.
const beatTimeout = 30 * time.Second

// remindEvery is how often a heartbeat that goes on failing is logged again.
const remindEvery = time.Hour

// Heartbeat tells another monitor that this one is at work: every interval it looks at [Monitor.Health] and sends a
// success, or else a failure whose body has one line for each part that is not healthy. It returns when ctx ends, with
// its error. It starts with waiting, so that a program which crashes soon after each start is never called healthy.
//
// A heartbeat that cannot be sent is logged, but again only after an hour of failures; the other monitor notices.
// Nothing waits for heartbeats. The interval must be positive, and longer than 30 seconds for no beat to be left out
// when the other side does not answer.
func (m *Monitor) Heartbeat(ctx context.Context, every time.Duration, to Pinger) error {
	if every <= 0 || to == nil {
		return errors.New("monitor: a heartbeat needs a positive interval and a pinger")
	}
	sent := &trouble{log: m.log, what: "a heartbeat was not sent"}
	healthy := &trouble{log: m.log, what: "this monitor is not healthy"}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
			m.attempt(ctx, "cannot send a heartbeat", func(ctx context.Context) (int, error) {
				m.beat(ctx, to, sent, healthy)
				return 0, nil
			})
		}
	}
}

// beat sends one heartbeat.
func (m *Monitor) beat(ctx context.Context, to Pinger, sent, healthy *trouble) {
	ctx, cancel := context.WithTimeout(ctx, beatTimeout)
	defer cancel()
	signal := pings.Signal{Kind: pings.Success}
	var report strings.Builder
	var causes []error
	for _, c := range m.Health(ctx) {
		if !c.OK() {
			report.WriteString(string(c.Part) + ": " + c.Problem + "\n")
			causes = append(causes, errors.New(string(c.Part)+": "+c.Problem), c.Err)
		}
	}
	if report.Len() > 0 {
		signal.Kind, signal.Body = pings.Fail, []byte(report.String())
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return // told to stop, which is no sickness
	}
	healthy.note(ctx, errors.Join(causes...))
	sent.note(ctx, to.Ping(ctx, signal))
}

// trouble logs what goes wrong again and again: at first, once an hour, and when it is over.
type trouble struct {
	log    *slog.Logger
	what   string
	times  int
	logged time.Time
}

func (t *trouble) note(ctx context.Context, err error) {
	switch {
	case errors.Is(err, context.Canceled):
	case err == nil && t.times > 0:
		t.log.InfoContext(ctx, t.what+"; that is over", "times", t.times)
		*t = trouble{log: t.log, what: t.what}
	case err != nil:
		t.times++
		if now := time.Now(); t.times == 1 || now.Sub(t.logged) >= remindEvery {
			t.logged = now
			t.log.WarnContext(ctx, t.what, "times", t.times, "error", err)
		}
	}
}
