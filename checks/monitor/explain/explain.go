// Package explain says in words how a check of a monitor is: since when, why, who was notified and what comes next.
//
//	log, err := checks.Collect(mon.Project(c.ProjectID).Pings(ctx, c.ID, checks.PingQuery{}))
//	v, err := explain.Check(ctx, mon, c, log)
//	fmt.Println(v.Text(nil)) // Up since 03:04. The last run succeeded at 03:04. …
//
// Package verdict has the words; this package asks a monitor for what they are made of.
package explain

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/verdict"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/pings/email"
)

const (
	// newestPings is how many pings are searched for a success.
	newestPings = 100
	// newestEvents is how many transitions and pauses are read.
	newestEvents = 3
	// bodyTime bounds reading the output of a failure.
	bodyTime = time.Second
)

// Check says how a check is. The log has its newest pings, as [monitor.Project.Pings] returns them. It takes at most six
// short queries. Error: [checks.ErrNotFound] if the check was deleted.
func Check(ctx context.Context, mon *monitor.Monitor, c checks.Check, log []pings.Ping) (verdict.Verdict, error) {
	in := verdict.Input{Check: c, Now: mon.Now(), Pings: slices.Clone(log[:min(len(log), newestPings)])}
	var events []checks.Event
	for e, err := range mon.Project(c.ProjectID).Events(ctx, c.ID, monitor.EventQuery{Limit: newestEvents}) {
		if err != nil {
			return verdict.Verdict{}, err
		}
		// What happened after the check was read would contradict it, and what nobody has recorded yet the verdict finds itself.
		if !e.At.After(c.StoredSince) {
			events = append(events, e)
		}
	}
	for _, e := range slices.Backward(events) {
		in.Transitions = append(in.Transitions, e.Transition)
	}
	if len(events) > 0 {
		in.Deliveries = events[0].Deliveries
	}
	addOutput(ctx, mon, &in)
	available, reach, err := Channels(ctx, mon, c.ProjectID, false)
	in.Receivers = verdict.Receivers(c, available, reach)
	return verdict.Explain(in), err
}

// addOutput reads the output of the failure that took a check down. Without the output the verdict is shorter.
func addOutput(ctx context.Context, mon *monitor.Monitor, in *verdict.Input) {
	if n := len(in.Transitions); n == 0 || in.Transitions[n-1].Reason != flips.Failure {
		return
	}
	at := in.Transitions[len(in.Transitions)-1].At
	for i, p := range in.Pings {
		if p.Kind == pings.Failure && p.At.Equal(at) && p.BodySize > 0 {
			limited, cancel := context.WithTimeout(ctx, bodyTime)
			defer cancel()
			p, err := mon.Project(in.Check.ProjectID).PingWithBody(limited, in.Check.ID, p.N)
			if err != nil {
				return
			}
			if p.Scheme == "email" {
				message := email.Parse(p.Body)
				p.Scheme, p.Body = "", []byte(cmp.Or(message.Text, message.HTML))
				p.BodySize = int64(len(p.Body))
			}
			in.Pings[i] = p
			return
		}
	}
}
