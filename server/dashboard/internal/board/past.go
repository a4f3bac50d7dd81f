package board

import (
	"cmp"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/server/dashboard/internal/timeline"
)

const (
	thin      = 3   // pixels that a run takes, at least
	narrow    = 6   // pixels up to which runs merge
	touch     = 5.5 // pixels between runs below which they touch; a run each half hour stays by itself for a day
	bandMin   = 4   // runs that merge, at least
	missedGap = 14  // pixels between missed runs below which they merge
	cell      = 4   // pixels of a band for which failures are counted
	maxRows   = 3   // rows of runs that overlap
)

// kinds maps results to kinds.
var kinds = map[timeline.Result]Kind{
	timeline.Success: Run, timeline.Failure: Failed, timeline.Missed: Missed, timeline.Late: Late,
	timeline.Running: Running, timeline.Overrun: Overrun, timeline.Unended: Unended,
}

// past returns the marks of runs, which are in the order of their starts.
func past(runs []timeline.Run, axis *Axis) []Mark {
	var bars, missed, late []Mark
	for _, r := range runs {
		switch m := mark(r, axis); m.Kind {
		case Missed:
			missed = append(missed, m)
		case Late:
			late = append(late, m)
		default:
			bars = append(bars, m)
		}
	}
	stack(bars)
	marks := merge(bars)
	marks = append(marks, mergeMissed(missed, bars)...)
	marks = append(marks, late...)
	slices.SortStableFunc(marks, func(a, b Mark) int { return cmp.Compare(layer(a), layer(b)) })
	return marks
}

// layer is the order in which marks are drawn.
func layer(m Mark) int {
	switch {
	case m.Kind == Band:
		return 0
	case m.Bad == 0:
		return 1
	}
	return 2
}

// mark returns the mark of a run by itself.
func mark(r timeline.Run, axis *Axis) Mark {
	m := Mark{Kind: kinds[r.Result], X: axis.X(r.Start), Rows: 1, Count: 1, First: r.Start, Last: r.Start, Run: r}
	if r.Result.Bad() {
		m.Bad = 1
	}
	if r.TookTooLong() && r.Result == timeline.Success {
		m.Kind, m.Limit = Slow, axis.X(r.Limit)
	}
	wait := axis.Now
	if !r.End.IsZero() {
		wait = r.End
	}
	switch m.Kind {
	case Missed:
		m.Wait, m.Open = axis.X(wait), r.End.IsZero()
		return m
	case Late:
		m.Count = 0
		m.W = axis.X(r.Limit) - m.X
	case Running:
		m.W = axis.X(axis.Now) - m.X
	case Overrun:
		end := r.Limit
		if end.After(wait) {
			end = wait
		}
		m.W, m.Wait = axis.X(end)-m.X, axis.X(wait)
	default:
		m.W = axis.X(r.End) - m.X
	}
	m.W = max(m.W, percent(thin))
	m.X = max(0, min(m.X, 100-m.W))
	return m
}

// stack puts runs that overlapped side by side, in up to three rows.
func stack(bars []Mark) {
	var ends []time.Time // of the rows of the runs from first on
	var first int
	flush := func(next int) {
		for i := first; i < next; i++ {
			bars[i].Rows = max(1, min(len(ends), maxRows))
			bars[i].Row = min(bars[i].Row, maxRows-1)
		}
		first, ends = next, nil
	}
	for i := range bars {
		r := bars[i].Run
		end := r.End
		if bars[i].Kind == Running {
			end = time.Unix(1<<40, 0)
		} else if bars[i].Kind == Overrun {
			end = r.Limit
		}
		if !slices.ContainsFunc(ends, r.Start.Before) {
			flush(i)
		}
		row := slices.IndexFunc(ends, func(busy time.Time) bool { return !r.Start.Before(busy) })
		if row < 0 {
			row, ends = len(ends), append(ends, end)
		}
		ends[row], bars[i].Row = end, row
	}
	flush(len(bars))
}

// merge makes bands of thin runs that touch each other.
func merge(bars []Mark) (marks []Mark) {
	var part []Mark
	flush := func() {
		if len(part) < bandMin {
			marks = append(marks, part...)
		} else {
			marks = append(marks, band(part)...)
		}
		part = nil
	}
	end := 0.0
	for _, m := range bars {
		if m.W > percent(narrow) || m.Kind == Running || m.Kind == Overrun && m.Run.End.IsZero() {
			marks = append(marks, m)
			continue
		}
		if len(part) > 0 && m.X-end >= percent(touch) {
			flush()
		}
		part = append(part, m)
		end = max(end, m.X+m.W)
	}
	flush()
	return marks
}

// band returns a band of runs, and the marks of the failures on it: one for each stretch of a few pixels.
func band(part []Mark) []Mark {
	all := Mark{Kind: Band, X: part[0].X, Rows: 1, First: part[0].First, Last: part[len(part)-1].Last, Run: part[0].Run}
	var cells []Mark
	last := -1 // the number of the last cell
	for _, m := range part {
		all.Count += m.Count
		all.Bad += m.Bad
		all.W = max(all.W, m.X+m.W-all.X)
		if n := int((m.X - all.X) / percent(cell)); n != last {
			last = n
			cells = append(cells, Mark{Kind: m.Kind, X: m.X, W: m.W, Rows: 1, Over: true})
		}
		c := &cells[len(cells)-1]
		c.Of++
		c.W = max(c.W, m.X+m.W-c.X)
		if m.Bad == 0 {
			continue
		}
		if c.Count++; c.Count == 1 {
			c.First, c.Run, c.Kind = m.First, m.Run, m.Kind
		} else {
			c.Kind = Failed
		}
		c.Bad, c.Last = c.Count, m.Last
	}
	return append([]Mark{all}, slices.DeleteFunc(cells, func(c Mark) bool { return c.Bad == 0 })...)
}

// mergeMissed makes one mark of runs that are missing in a row, where their triangles would touch.
func mergeMissed(missed, bars []Mark) (marks []Mark) {
	for _, m := range missed {
		if n := len(marks); n > 0 {
			last := &marks[n-1]
			if !anyBetween(bars, last.Last, m.First) && m.X-axisLast(*last) < percent(missedGap) {
				last.W, last.Wait, last.Open, last.Last = m.X-last.X, m.Wait, m.Open, m.Last
				last.Count, last.Bad = last.Count+1, last.Bad+1
				continue
			}
		}
		marks = append(marks, m)
	}
	return marks
}

// anyBetween reports whether a run began after an instant, up to another.
func anyBetween(bars []Mark, after, to time.Time) bool {
	i, _ := slices.BinarySearchFunc(bars, after, func(m Mark, t time.Time) int {
		if m.First.After(t) {
			return 1
		}
		return -1
	})
	return i < len(bars) && !bars[i].First.After(to)
}

// axisLast is the position of the last of the missed runs of a mark.
func axisLast(m Mark) float64 { return m.X + m.W }
