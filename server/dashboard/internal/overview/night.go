package overview

import (
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/flips"
)

// evening is the hour at which a night begins.
const evening = 18

// nightBefore returns when the last night began for a viewer: at 18:00 of the day before.
func nightBefore(now time.Time, zone *time.Location) time.Time {
	year, month, day := now.In(zone).Date()
	return time.Date(year, month, day-1, evening, 0, 0, 0, zone)
}

// kind says what went wrong.
type kind string

const (
	failed   kind = "failed"
	missed   kind = "missed"
	timedOut kind = "timed out"
)

func kindOf(reason flips.Reason) kind {
	switch reason {
	case flips.Failure:
		return failed
	case flips.Overrun:
		return timedOut
	}
	return missed
}

// trouble is the newest run of a check that went wrong.
type trouble struct {
	kind kind
	at   time.Time
}

// troubleOf returns the newest run of a check that went wrong at or after an instant, or at any time if the check is down. The
// check is settled, and transitions are its own since that instant: the check remembers its last runs only.
func troubleOf(c checks.Check, transitions []checks.Transition, since time.Time) (t trouble, ok bool) {
	for _, run := range slices.Backward(c.History.Recent.Runs()) {
		if run.Result == checks.RunSuccess {
			continue
		}
		if t = (trouble{failed, run.At}); run.Result == checks.RunMissed {
			t.kind = missed
		}
		break
	}
	for _, e := range transitions {
		if e.To != checks.StatusDown || e.At.Before(t.at) {
			continue
		}
		t = trouble{kindOf(e.Reason), e.At}
	}
	if c.Stored == checks.StatusDown && t.at.IsZero() {
		t = trouble{missed, c.StoredSince}
	}
	return t, !t.at.IsZero() && (c.Stored == checks.StatusDown || !t.at.Before(since))
}

// slowRun is a success that took unusually long.
type slowRun struct {
	checks.Run
	Usual time.Duration // the median of the successes before
}
