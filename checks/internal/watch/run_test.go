package watch

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/hold"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// deadlines is a store whose checks each have a deadline, and settle there.
type deadlines struct {
	store.Tx
	due    []time.Time
	states []store.SpoolState
	backAt time.Time // when the database is back that is away
	// change, unless nil, is called by the first look from changeAt on.
	change   func(d *deadlines)
	changeAt time.Time

	looks  int
	sweeps []time.Time // of those that wrote something
}

func (d *deadlines) Outlook(context.Context) (next time.Time, states []store.SpoolState, oldest time.Time, err error) {
	d.looks++
	if d.change != nil && !time.Now().Before(d.changeAt) {
		d.change(d)
		d.change = nil
	}
	if time.Now().Before(d.backAt) {
		err = errors.New("away")
	}
	if len(d.due) > 0 {
		next = slices.MinFunc(d.due, time.Time.Compare)
	}
	return next, d.states, time.Time{}, err
}

func (d *deadlines) Update(ctx context.Context, fn func(context.Context, store.Tx) error) error {
	return fn(ctx, d)
}

func (d *deadlines) Spools(context.Context) ([]store.SpoolState, time.Time, error) {
	return d.states, time.Time{}, nil
}

func (d *deadlines) SaveSpool(_ context.Context, s store.SpoolState) error {
	d.sweeps, d.states = append(d.sweeps, time.Now()), []store.SpoolState{s}
	return nil
}

func (d *deadlines) LockDue(_ context.Context, now time.Time, _ int) (locked []*store.Locked, err error) {
	d.due = slices.DeleteFunc(d.due, func(at time.Time) bool {
		if !at.After(now) {
			locked = append(locked, new(store.Locked))
		}
		return !at.After(now)
	})
	return locked, nil
}

func (d *deadlines) SaveChecks(context.Context, []*store.Locked) error {
	d.sweeps = append(d.sweeps, time.Now())
	return nil
}

// TestRun sweeps when the next deadline may be judged. While none is due, it looks once each second and writes nothing.
func TestRun(t *testing.T) {
	const ms = time.Millisecond
	for name, test := range map[string]struct {
		due    []time.Duration // after the start
		margin time.Duration
		busy   time.Duration                     // how old the oldest ping is that waits
		change func(d *deadlines)                // after 10.3 seconds
		clock  func(time.Duration) time.Duration // the time since the start by the clock of the system
		want   []time.Duration                   // of sweeps
		looks  int                               // in a minute
	}{
		"idle":                      {looks: 60},
		"deadlines":                 {due: []time.Duration{3700 * ms, 50400 * ms}, want: []time.Duration{3700 * ms, 50400 * ms}, looks: 64},
		"at once":                   {due: []time.Duration{-time.Hour}, want: []time.Duration{0}, looks: 61},
		"close together":            {due: []time.Duration{700 * ms, 701 * ms, 720 * ms, 760 * ms}, want: []time.Duration{700 * ms, 750 * ms, 800 * ms}, looks: 64},
		"with a margin":             {due: []time.Duration{3700 * ms}, margin: 2 * time.Second, want: []time.Duration{5700 * ms}, looks: 62},
		"with pings on their way":   {due: []time.Duration{3700 * ms}, busy: 30 * ms, want: []time.Duration{3730 * ms}, looks: 62},
		"with a ping from long ago": {due: []time.Duration{3700 * ms}, busy: time.Hour, looks: 60},
		"moved by another": {
			due:    []time.Duration{time.Hour},
			change: func(d *deadlines) { d.due[0] = time.Now().Add(-time.Minute) },
			want:   []time.Duration{11 * time.Second}, looks: 61,
		},
		"clock set forward": {
			due: []time.Duration{time.Hour},
			clock: func(since time.Duration) time.Duration {
				if since > 10300*ms {
					since += time.Hour
				}
				return since
			},
			want: []time.Duration{11 * time.Second}, looks: 61,
		},
		"a monitor goes missing": {
			change: func(d *deadlines) {
				d.states = []store.SpoolState{{ID: uuid.New(), SpoolID: uuid.New(), SeenAt: time.Now().Add(-time.Minute)}}
			},
			want: []time.Duration{11 * time.Second}, looks: 61,
		},
		"an outage": {
			due:    []time.Duration{3700 * ms, 20500 * ms},
			change: func(d *deadlines) { d.backAt = time.Now().Add(19500 * ms) },
			want:   []time.Duration{3700 * ms, 31 * time.Second}, looks: 63,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				d := &deadlines{change: test.change, changeAt: begin.Add(10300 * ms)}
				for _, after := range test.due {
					d.due = append(d.due, begin.Add(after))
				}
				w := New(Config{
					Store: d, Hold: hold.Rule{Wait: time.Minute}, Log: slog.New(slog.DiscardHandler), Every: time.Second, Margin: test.margin,
					Received: func() (now, upTo time.Time) {
						now = time.Now()
						if test.clock != nil {
							now = begin.Add(test.clock(time.Since(begin)))
						}
						return now, now.Add(-test.busy)
					},
					Beat: func(bool) {}, Swept: func(time.Time, []time.Duration) {},
				})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute-ms)
				defer cancel()
				w.Run(ctx)
				var got []time.Duration
				for _, at := range d.sweeps {
					got = append(got, at.Sub(begin))
				}
				if !slices.Equal(got, test.want) || d.looks != test.looks {
					t.Errorf("sweeps at %v, %d looks; want %v, %d", got, d.looks, test.want, test.looks)
				}
			})
		})
	}
}
