package monitor

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
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

// Explain says in words how a check of the project is: since when, why, who was notified and what comes next. Package verdict has
// the words. The log has the newest pings of the check, as [Project.Pings] returns them. Explain takes at most seven short
// queries, and a few more for a check that follows others. Error: [checks.ErrNotFound] if the check was deleted.
//
//	log, err := checks.Collect(project.Pings(ctx, c.ID, checks.PingQuery{}))
//	v, err := project.Explain(ctx, *c.Check, log)
//	fmt.Println(v.Text(nil)) // Up since 03:04. The last run succeeded at 03:04. …
func (p *Project) Explain(ctx context.Context, c checks.Check, log []pings.Ping) (verdict.Verdict, error) {
	in := verdict.Input{Check: c, Now: p.now(), Pings: slices.Clone(log[:min(len(log), newestPings)])}
	var events []checks.Event
	for e, err := range p.Events(ctx, c.ID, EventQuery{Limit: newestEvents}) {
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
	p.addOutput(ctx, &in)
	var err error
	if in.Windows, err = p.windows(ctx, p.store, store.WindowFilter{EndsAfter: in.Now}); err != nil {
		return verdict.Verdict{}, err
	}
	available, reach, err := p.Receivers(ctx, false)
	if err != nil {
		return verdict.Verdict{}, err
	}
	in.Receivers = verdict.Receivers(c, available, reach)
	if c.After != "" {
		parents, lost, err := p.parents(ctx, c)
		if err != nil {
			return verdict.Verdict{}, err
		}
		in.Parents, in.Lost, in.Following = parentsOf(parents, in.Windows, in.Now), lost, following(parents, available, reach)
	}
	return verdict.Explain(in), nil
}

// addOutput reads the output of the failure that took a check down. Without the output the verdict is shorter.
func (p *Project) addOutput(ctx context.Context, in *verdict.Input) {
	if n := len(in.Transitions); n == 0 || in.Transitions[n-1].Reason != flips.Failure {
		return
	}
	at := in.Transitions[len(in.Transitions)-1].At
	for i, ping := range in.Pings {
		if ping.Kind == pings.Failure && ping.At.Equal(at) && ping.BodySize > 0 {
			limited, cancel := context.WithTimeout(ctx, bodyTime)
			defer cancel()
			ping, err := p.PingWithBody(limited, in.Check.ID, ping.N)
			if err != nil {
				return
			}
			if ping.Scheme == "email" {
				message := email.Parse(ping.Body)
				ping.Scheme, ping.Body = "", []byte(cmp.Or(message.Text, message.HTML))
				ping.BodySize = int64(len(ping.Body))
			}
			in.Pings[i] = ping
			return
		}
	}
}
