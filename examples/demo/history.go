package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/pings"
)

type life struct {
	*world
	job
	begin  time.Time
	check  uuid.UUID
	random *rand.Rand
	from   string // the address that it pings from
	broken bool   // its last run failed or was missed
	next   func(time.Time) time.Time
	stop   time.Time // when it is paused
	last   time.Time // the run that the ending is about
}

// start creates the check of a job at its time and plans its first run.
func (w *world) start(j job, project uuid.UUID, begin time.Time) error {
	l := &life{world: w, job: j, begin: begin, random: w.random(j.name)}
	l.from = fmt.Sprintf("10.0.%d.%d", 4+l.random.IntN(3), 2+l.random.IntN(60))
	if j.age > 0 && begin.Before(w.end.Add(-j.age)) {
		l.begin = w.end.Add(-j.age)
	}
	if err := l.plan(); err != nil {
		return err
	}
	l.check = uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, w.seed, j.name))
	w.at(l.begin, func(ctx context.Context) error {
		_, err := w.mon.Project(project).Create(ctx, l.spec())
		return err
	})
	if j.ending == unused {
		return nil
	}
	if j.ending == paused {
		l.stop = w.end.Add(-min(19*day, w.end.Sub(l.begin)/3))
		w.at(l.stop, func(ctx context.Context) error {
			_, err := w.mon.Project(project).Pause(ctx, l.check)
			return err
		})
	}
	l.expect(l.begin.Add(time.Duration(l.random.Int64N(int64(time.Minute)))))
	return nil
}

func (l *life) spec() checks.Spec {
	spec := checks.Spec{ID: l.check, Name: &l.name, Slug: &l.name, Desc: &l.desc, Tags: strings.Fields(l.tags), Grace: &l.grace,
		AlertAfter: &l.alertAfter, Channels: new("*")}
	if l.schedule != "" {
		spec.Schedule, spec.TZ = &l.schedule, &l.zone
	} else {
		spec.Timeout = &l.every
	}
	if l.takes > 0 {
		spec.MaxRuntime = new(max(time.Minute, 3*l.takes).Round(time.Minute))
	}
	if l.quiet != "" {
		spec.QuietHours = &l.quiet
	}
	if l.after != "" {
		spec.After = &l.after
	}
	if l.recordOnly {
		spec.RecordOnly = &l.recordOnly
	}
	if l.channels != "" {
		spec.Channels = &l.channels
	}
	return spec
}

// plan finds out when the job runs, and which of its runs is the one that its ending is about.
func (l *life) plan() error {
	l.next = func(t time.Time) time.Time { return t.Add(l.every) }
	if l.schedule != "" {
		s, err := schedule.Parse(l.schedule)
		if err != nil {
			return err
		}
		zone, err := schedule.LoadLocation(l.zone)
		if err != nil {
			return err
		}
		l.next = func(t time.Time) time.Time { return s.Next(t.In(zone)) }
	}
	until := l.end
	switch l.ending {
	case stopped:
		until = l.end.Add(-l.grace - time.Minute)
	case failed:
		until = l.end.Add(-2*l.takes - time.Minute)
	}
	for t := l.next(l.begin); !t.IsZero() && t.Before(until); t = l.next(t) {
		l.last = t
	}
	return nil
}

// expect plans the next run after an instant.
func (l *life) expect(after time.Time) {
	if t := l.next(after); !t.IsZero() {
		l.at(t, func(context.Context) error { l.run(t); return nil })
	}
}

// run plans the run that is expected at an instant.
func (l *life) run(due time.Time) {
	l.expect(due)
	special := l.ending != runs && !due.Before(l.last) && !l.live
	if l.out(due) || l.ending == stopped && !due.Before(l.last) || l.ending == paused && due.After(l.stop) {
		l.broken = true
		l.watch(due.Add(l.grace+700*time.Millisecond), time.Second)
		return
	}
	begin := due.Add(time.Duration((0.4 + 6*l.random.Float64()) * float64(time.Second)))
	if l.ending == late && special {
		begin = l.end.Add(4 * time.Minute) // it is stuck, and will come soon
	}
	ok := l.random.Float64() >= l.fails || due.After(l.end.Add(-25*time.Hour)) // chance leaves the last day alone
	if l.ending == failed && special {
		ok = false
	}
	if l.takes > 0 {
		l.at(begin, func(ctx context.Context) error { return l.ping(ctx, pings.Start, "") })
	}
	takes := l.duration(due)
	l.at(begin.Add(takes), func(ctx context.Context) error { return l.finish(ctx, ok) })
	if again := begin.Add(2*takes + time.Duration(20+l.random.IntN(160))*time.Minute); !ok && !special && again.Before(l.next(due)) {
		l.at(again, func(ctx context.Context) error { return l.finish(ctx, true) }) // it was mended
	}
}

// out reports whether an outage keeps the run from happening.
func (l *life) out(due time.Time) bool {
	for _, o := range outages {
		if slices.Contains(strings.Fields(l.tags), o.tag) && due.After(l.end.Add(-o.begin)) && due.Before(l.end.Add(-o.end)) {
			return true
		}
	}
	return false
}

// duration returns how long a run takes.
func (l *life) duration(due time.Time) time.Duration {
	if l.takes == 0 {
		return 0
	}
	age := float64(due.Sub(l.begin)) / float64(l.end.Sub(l.begin))
	return time.Duration(float64(l.takes) * (1 + l.grows*age) * math.Exp(l.spread*l.random.NormFloat64()))
}

func (l *life) finish(ctx context.Context, ok bool) error {
	kind, text := pings.Success, ""
	if !ok {
		kind = pings.Failure
	}
	if l.output != nil {
		text = l.output(l.random, l.clock.now(), ok)
	}
	if err := l.ping(ctx, kind, text); err != nil {
		return err
	}
	if !ok {
		l.broken = true
		l.watch(l.clock.now().Add(400*time.Millisecond), time.Second)
	} else if l.broken {
		l.broken = false
		l.watch(l.clock.now().Add(400*time.Millisecond), time.Second)
	}
	return nil
}

// ping reports to the monitor.
func (l *life) ping(ctx context.Context, kind pings.Kind, output string) error {
	s := pings.Signal{Kind: kind, Body: []byte(output), Scheme: "https", Method: "POST", RemoteAddr: l.from, UserAgent: l.agent}
	switch {
	case l.agent == mail:
		s.Scheme, s.Method, s.RemoteAddr, s.UserAgent = "email", "", "", "Email from "+l.name+"@example.org"
		s.Mail = &pings.Mail{}
	case kind == pings.Start:
		s.Method = "GET"
	case l.agent == wrapper:
		s.ExitStatus = new(map[pings.Kind]int{pings.Success: 0, pings.Failure: 2}[kind])
	}
	if l.agent == mail && output != "" {
		s.Body = []byte("Subject: " + l.name + "\r\nContent-Type: text/plain\r\n\r\n" + output)
	}
	_, err := l.mon.Ping(ctx, l.check, s)
	return err
}
