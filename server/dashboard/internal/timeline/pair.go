package timeline

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
)

// pairing follows the log from its oldest entry on, like the check did when the pings came.
type pairing struct {
	limited bool // each run has its own limit, whatever other runs do
	runs    []Run
	open    map[uuid.NullUUID][]int // indexes of the runs that have not ended, by run identifier
	ended   map[uuid.NullUUID]time.Time
}

// repeats is how long after the end of its run a start begins none, as the check has it.
const repeats = time.Minute

// roundedBy bounds the error of the duration of a ping.
const roundedBy = 10 * time.Millisecond

// pair returns the runs in a log, which is newest first, in no order. Those that have not ended have no Result.
func pair(c checks.Check, log []pings.Ping, now time.Time) []Run {
	p := pairing{limited: c.MaxRuntime > 0, open: make(map[uuid.NullUUID][]int), ended: make(map[uuid.NullUUID]time.Time)}
	for _, r := range c.Runs {
		// The log may have lost the start of a long run. The check has not.
		if (len(log) == 0 || r.StartedAt.Before(log[len(log)-1].At)) && (r.Open || now.Sub(r.StartedAt) <= pings.MaxRunTime) {
			p.start(r.ID, Run{Start: r.StartedAt})
		}
	}
	for _, ping := range slices.Backward(log) {
		switch ping.Kind {
		case pings.Start:
			if end, ok := p.ended[ping.RunID]; ok && ping.RunID.Valid && ping.At.Sub(end) <= repeats {
				continue
			}
			p.start(ping.RunID, Run{Start: ping.At, StartN: ping.N})
		case pings.Success:
			p.end(ping, Success)
		case pings.Failure:
			p.end(ping, Failure)
		}
	}
	for i := range p.runs {
		if p.runs[i].Timed {
			p.runs[i].Limit = p.runs[i].Start.Add(c.RunLimit())
		}
	}
	return p.runs
}

func (p *pairing) start(id uuid.NullUUID, r Run) {
	for _, i := range p.open[id] { // it did not report its end
		if p.runs[i].End.IsZero() {
			p.runs[i].End = later(p.runs[i].Start, r.Start)
		}
	}
	r.Timed = true
	p.open[id] = append(p.open[id], len(p.runs))
	p.runs = append(p.runs, r)
}

func (p *pairing) end(ping pings.Ping, result Result) {
	ended := Run{Result: result, Start: ping.At, End: ping.At, EndN: ping.N, ExitStatus: ping.ExitStatus, BodySize: ping.BodySize}
	if ping.Duration != nil {
		ended.Start, ended.Timed = ping.At.Add(-*ping.Duration), true
	}
	id, i := p.match(ping, ended.Start)
	p.ended[ping.RunID] = ping.At
	p.supersede(ping, id, i)
	if i < 0 {
		p.runs = append(p.runs, ended)
		return
	}
	ended.Start, ended.StartN, ended.Timed = p.runs[i].Start, p.runs[i].StartN, true
	p.open[id] = slices.DeleteFunc(p.open[id], func(other int) bool { return !p.runs[other].Start.After(ended.Start) })
	p.runs[i] = ended
}

// supersede ends the runs that the end of run i, which has an identifier, or of an unknown one for -1, leaves without one.
func (p *pairing) supersede(ping pings.Ping, id uuid.NullUUID, i int) {
	_, newest := p.newestOfAny(ping.At)
	if p.limited && (ping.RunID.Valid || id == ping.RunID && i >= 0) ||
		!p.limited && ping.RunID.Valid && ping.Kind == pings.Success && (i < 0 || i != newest) {
		return
	}
	for other, list := range p.open {
		for _, n := range list {
			if n != i && p.runs[n].End.IsZero() && !p.runs[n].Start.After(ping.At) {
				p.runs[n].End = ping.At
				p.ended[other] = ping.At
			}
		}
	}
}

// match returns the index of the run that a ping ended, or -1, and its identifier. If the check knew how long the run
// took, it is the one that began at start. Otherwise it is the newest one with the identifier or else, if the ping has
// none or is a failure, with any, as the check itself has it. With a limit for each run, a failure of another run ends none.
func (p *pairing) match(ping pings.Ping, start time.Time) (uuid.NullUUID, int) {
	if ping.Duration != nil {
		for _, i := range p.open[ping.RunID] {
			if p.runs[i].Start.Sub(start).Abs() <= roundedBy {
				return ping.RunID, i
			}
		}
		return ping.RunID, -1
	}
	newest := p.newest(ping.RunID, ping.At)
	id := ping.RunID
	if newest < 0 && (!ping.RunID.Valid || ping.Kind == pings.Failure && !p.limited) {
		return p.newestOfAny(ping.At)
	}
	return id, newest
}

// newestOfAny returns the run in progress that began last, and not after an instant, and its identifier, or -1.
func (p *pairing) newestOfAny(at time.Time) (id uuid.NullUUID, newest int) {
	newest = -1
	for other := range p.open {
		if i := p.newest(other, at); i >= 0 && p.runs[i].End.IsZero() && (newest < 0 || p.runs[i].Start.After(p.runs[newest].Start)) {
			id, newest = other, i
		}
	}
	return id, newest
}

// newest returns the index of the open run with an identifier that began last, and not after an instant, or -1.
func (p *pairing) newest(id uuid.NullUUID, at time.Time) int {
	newest := -1
	for _, i := range p.open[id] {
		if start := p.runs[i].Start; !start.After(at) && (newest < 0 || start.After(p.runs[newest].Start)) {
			newest = i
		}
	}
	return newest
}

// conclude gives the runs that have not ended their results.
func (w *wait) conclude(runs []Run) []Run {
	for i, r := range runs {
		switch {
		case r.Result != "":
		case !r.End.IsZero() && r.End.Before(r.Limit):
			runs[i].Result = Unended
		case r.End.IsZero() && w.now.Before(r.Limit):
			runs[i].Result = Running
		default:
			runs[i].Result = Overrun
		}
	}
	return runs
}
