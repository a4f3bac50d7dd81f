package monitor

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/checks/internal/background"
	"github.com/rollcall-dev/rollcall/checks/job"
	"github.com/rollcall-dev/rollcall/pings"
)

// beatTimeout bounds one heartbeat.
const beatTimeout = 30 * time.Second

// remindEvery is how often a lasting failure is logged again.
const remindEvery = time.Hour

// Heartbeat reports to another monitor, such as by a *client.Pinger, until ctx ends, and then returns nil. At each
// interval it checks [Monitor.Health] and sends a success, or a failure if a part is not healthy. The body has one line for each
// such part, and for each warning.
// It waits for one interval first, so that a program in a crash loop never reports that it is healthy.
//
// If a beat fails, Heartbeat logs it, and again once an hour while beats keep failing. The interval must be positive.
// If it is shorter than 30 seconds, Heartbeat skips beats while the other monitor does not answer.
func (m *Monitor) Heartbeat(ctx context.Context, every time.Duration, to job.Sender) error {
	if every <= 0 || to == nil {
		return errors.New("monitor: Heartbeat needs a positive interval and a Sender that is not nil")
	}
	log := m.logger("heartbeat")
	sent := &trouble{log: log, what: "a heartbeat was not sent"}
	healthy := &trouble{log: log, what: "this monitor is not healthy"}
	background.Every(ctx, log, every, "cannot send a heartbeat", func(ctx context.Context) (int, error) {
		m.beat(ctx, to, sent, healthy)
		return 0, nil
	})
	return nil
}

// beat sends one heartbeat.
func (m *Monitor) beat(ctx context.Context, to job.Sender, sent, healthy *trouble) {
	ctx, cancel := context.WithTimeout(ctx, beatTimeout)
	defer cancel()
	signal := pings.Signal{Kind: pings.Success}
	var report strings.Builder
	var causes []error
	for _, c := range m.Health(ctx) {
		if !c.OK() {
			report.WriteString(c.Part + ": " + c.Problem + "\n")
		}
		if !c.OK() && !c.Warning {
			signal.Kind = pings.Failure
			causes = append(causes, errors.New(c.Part+": "+c.Problem), c.Err)
		}
	}
	if report.Len() > 0 {
		signal.Body = []byte(report.String())
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return // the monitor stops, which is not a failure
	}
	healthy.note(ctx, errors.Join(causes...))
	sent.note(ctx, to.Ping(ctx, signal))
}

// maxTold is how many things a told remembers.
const maxTold = 1000

// told remembers what the log has said, so that it says it again after an hour at the earliest, however often somebody asks. Beyond
// 1000 things in an hour it says nothing new.
type told struct {
	mu sync.Mutex
	at map[string]time.Time
}

// once reports whether to log a thing.
func (t *told) once(what string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if len(t.at) >= maxTold {
		maps.DeleteFunc(t.at, func(_ string, at time.Time) bool { return now.Sub(at) >= remindEvery })
	}
	if at, known := t.at[what]; known && now.Sub(at) < remindEvery || !known && len(t.at) >= maxTold {
		return false
	}
	if t.at == nil {
		t.at = make(map[string]time.Time)
	}
	t.at[what] = now
	return true
}

// trouble logs a repeated failure: the first time, once an hour, and when it ends.
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
