package main

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/client/wire"
)

// keptPings is how many pings of a check the server keeps on the plan paid.
const keptPings = 1000

// modelState is a check in the state machine, with a digest of its flips.
type modelState struct {
	checks.Check
	until  time.Time // the latest instant at which the check was paused or resumed; StoredSince is then the earliest
	flips  int
	digest uint64
	lastUp bool
}

// model returns the sequential specification of one check, which is package checks itself. Porcupine looks for an order
// of the operations, in accord with when they were called and answered, in which each answers as it did. An operation
// without an answer may have had its effect or not.
func model(initial checks.Check) porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{&modelState{Check: initial, digest: digest(0, nil)}} },
		Step: func(state, input, _ any) (next []any) {
			o := input.(*operation)
			for _, before := range state.(*modelState).certain(o) {
				if after, ok := step(before, o); ok {
					next = append(next, after)
				}
			}
			if o.optional() {
				next = append(next, state)
			}
			return next
		},
		Equal:             func(a, b any) bool { return equal(a.(*modelState), b.(*modelState)) },
		Hash:              func(state any) uint64 { return hash(state.(*modelState)) },
		DescribeOperation: func(input, _ any) string { return input.(*operation).String() },
		DescribeState:     func(state any) string { return state.(*modelState).String() },
	}
	return m.ToModel()
}

func (s *modelState) String() string {
	return fmt.Sprintf("%s n=%d last_ping=%v timeout=%v manual=%v methods=%q flips=%d", s.Stored, s.NPings, s.LastPing, s.Timeout,
		s.ManualResume, s.Methods, s.flips)
}

// certain returns the states that a state may stand for before a ping. No answer tells when exactly a check was paused
// or resumed, so a ping received about then may count before or after.
func (s *modelState) certain(o *operation) []*modelState {
	if o.action != doPing || o.logged == nil || o.logged.At.Before(s.StoredSince) || !o.logged.At.Before(s.until) {
		return []*modelState{s}
	}
	received, overtaken := *s, *s
	received.until = o.logged.At
	overtaken.StoredSince = o.logged.At.Add(time.Microsecond)
	return []*modelState{&received, &overtaken}
}

// step applies an operation and reports whether it can have answered as it did. No deadline passes in these histories, so
// the instants of updates do not matter. The log has the instants of pings.
func step(before *modelState, o *operation) (after *modelState, ok bool) {
	s := *before
	switch o.action {
	case doPing:
		ok = s.ping(o)
	case doPause:
		s.Check, _ = s.Pause(o.called)
		s.until = o.returned
		ok = !o.answered() || shows(o.check, s.Check)
	case doResume:
		resumed, err := s.Resume(o.called)
		if s.Check = resumed; err == nil {
			s.until = o.returned
		}
		ok = !o.answered() || (o.check == nil) == (err != nil) && (err != nil || shows(o.check, s.Check))
	case doUpdate:
		updated, _, err := s.Update(o.spec, time.Time{})
		s.Check = updated
		ok = err == nil && (!o.answered() || shows(o.check, s.Check))
	case doRead:
		ok = shows(o.check, s.Check)
	case doReadPings:
		newest := int64(0)
		if len(o.pings) > 0 {
			newest = o.pings[0].N
		}
		ok = newest == s.NPings && int64(len(o.pings)) == min(s.NPings, keptPings)
	case doReadFlips:
		ok = len(o.flips) == s.flips && (s.flips == 0 || (o.flips[0].Up == 1) == s.lastUp)
	case doAudit:
		ok = o.audit.flips == s.flips && o.audit.digest == s.digest && same(o.audit.Check, s.Check)
	}
	return &s, ok
}

// ping applies a logged ping and reports whether its entry is the one that the state machine makes.
func (s *modelState) ping(o *operation) bool {
	c, entry, effects, err := s.Ping(o.signal, o.logged.At)
	if err != nil {
		return false
	}
	if !c.StoredSince.Equal(s.StoredSince) {
		s.until = time.Time{}
	}
	s.Check = c
	for _, t := range effects.Transitions {
		s.flips++
		s.digest = digest(s.digest, &t)
		s.lastUp = t.To == checks.StatusUp
	}
	return entry.N == o.logged.N && sameEntry(entry, *o.logged)
}

// shows reports whether a document of the API describes a check.
func shows(d *wire.Check, c checks.Check) bool {
	return d.NPings == c.NPings && d.Status == string(c.Stored) && !d.Started &&
		d.ManualResume == c.ManualResume && d.Methods == c.Methods && d.Timeout == int64(c.Timeout/time.Second) &&
		sameTime(d.LastPing, c.LastPing) && sameTime(d.NextPing, c.NextPing(c.LastPing))
}

// sameTime compares an instant with that of a document, which is in whole seconds.
func sameTime(d *wire.Time, t time.Time) bool {
	if d == nil || t.IsZero() {
		return d == nil && t.IsZero()
	}
	return d.Time.Equal(t.Truncate(time.Second))
}

// same compares the fields that operations change.
func same(a, b checks.Check) bool {
	return a.Stored == b.Stored && a.NPings == b.NPings && a.LastPing.Equal(b.LastPing) &&
		slices.Equal(a.Runs, b.Runs) && slices.Equal(a.Ended, b.Ended) &&
		a.Timeout == b.Timeout && a.ManualResume == b.ManualResume && a.Methods == b.Methods
}

func equal(a, b *modelState) bool {
	return a.flips == b.flips && a.digest == b.digest && same(a.Check, b.Check) &&
		a.StoredSince.Equal(b.StoredSince) && a.until.Equal(b.until)
}

func hash(s *modelState) uint64 { return s.digest ^ uint64(s.NPings)<<20 ^ uint64(s.Timeout) }

// digest adds a flip to the digest of the flips before it.
func digest(before uint64, t *checks.Transition) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, before)
	if t != nil {
		fmt.Fprint(h, t.At.UnixMicro(), t.From, t.To, t.Reason)
	}
	return h.Sum64()
}
