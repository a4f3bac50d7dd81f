package board

import (
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/timeline"
)

// Density counts the runs that begin in each of equal parts of an axis.
type Density struct {
	Axis *Axis
	// Step is the length of a part. Parts begin at multiples of it.
	Step time.Duration
	// Counts are the numbers of runs, by part. The first part may begin before the axis.
	Counts []int
	first  time.Time
}

// steps are the lengths of parts, for axes of up to a length.
var steps = []struct{ axis, step time.Duration }{{day, 5 * time.Minute}, {4 * day, 15 * time.Minute}, {1 << 62, 2 * time.Hour}}

// NewDensity returns a density without runs.
func NewDensity(axis *Axis) *Density {
	d := &Density{Axis: axis}
	for _, s := range steps {
		if d.Step = s.step; axis.To.Sub(axis.From) <= s.axis {
			break
		}
	}
	_, offset := axis.From.In(axis.Zone).Zone()
	zone := time.Duration(offset) * time.Second
	d.first = axis.From.Add(zone).Truncate(d.Step).Add(-zone)
	d.Counts = make([]int, int(axis.To.Sub(d.first)/d.Step)+1)
	return d
}

// Add counts a run that begins at an instant.
func (d *Density) Add(at time.Time) { d.add(at, 1) }

func (d *Density) add(at time.Time, runs int) {
	if !at.Before(d.first) && !at.After(d.Axis.To) {
		d.Counts[int(at.Sub(d.first)/d.Step)] += runs
	}
}

// AddRuns counts the runs of a check with a lane: those that began, and those that are expected.
func (d *Density) AddRuns(c checks.Check, runs []timeline.Run) {
	for _, r := range runs {
		if r.Result != timeline.Missed && r.Result != timeline.Late {
			d.Add(r.Start)
		}
	}
	d.addExpected(c, d.Axis.Now, 1)
}

// AddExpected counts the runs of healthy checks without a lane, as if all of them had come and will come on time. It looks at each
// schedule once, however many checks have it.
func (d *Density) AddExpected(list ...checks.Check) {
	type shared struct {
		checks.Check
		n int
	}
	bySchedule := map[[2]string]*shared{}
	for _, c := range list {
		switch known := bySchedule[[2]string{c.Schedule, c.TZ}]; {
		case !c.IsCron():
			d.addEvery(c)
		case known != nil:
			known.n++
		default:
			bySchedule[[2]string{c.Schedule, c.TZ}] = &shared{c, 1}
		}
	}
	for _, s := range bySchedule {
		d.addExpected(s.Check, d.first, s.n)
	}
}

// addEvery counts the runs of a Simple check, before its last ping and after it, in whole numbers: there may be thousands of
// checks with a thousand runs each.
func (d *Density) addEvery(c checks.Check) {
	last, now, end := c.LastPing.Sub(d.first), d.Axis.Now.Sub(d.first), d.Axis.To.Sub(d.first)
	if c.LastPing.IsZero() || c.Timeout <= 0 {
		return
	}
	if c.Timeout >= d.Step { // one that runs in every part shows nothing
		for at := min(last, last-(last-end)/c.Timeout*c.Timeout); at >= 0; at -= c.Timeout {
			if at <= end {
				d.Counts[at/d.Step]++
			}
		}
	}
	if _, more := timeline.CountExpected(c, d.Axis.Now, d.Axis.To, maxExpected); more {
		return
	}
	at := last + c.Timeout
	if at <= now {
		at += ((now-at)/c.Timeout + 1) * c.Timeout
	}
	for ; at <= end; at += c.Timeout {
		d.Counts[at/d.Step]++
	}
}

// addExpected counts the expected runs after an instant, each as many times.
func (d *Density) addExpected(c checks.Check, after time.Time, times int) {
	if after.Before(d.first) {
		after = d.first
	}
	list, more := timeline.Expected(c, after, d.Axis.To, maxExpected)
	if more { // it runs in every part
		return
	}
	for _, at := range list {
		d.add(at, times)
	}
}

// Part returns when a part begins and ends.
func (d *Density) Part(i int) (from, to time.Time) {
	from = d.first.Add(time.Duration(i) * d.Step)
	return from, from.Add(d.Step)
}

// Peak returns the part with the most runs, the earliest of several.
func (d *Density) Peak() (part, runs int) {
	for i, n := range d.Counts {
		if n > runs {
			part, runs = i, n
		}
	}
	return part, runs
}
