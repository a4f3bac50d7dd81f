package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/client/wire"
	"github.com/rollcall-dev/rollcall/pings"
)

// action is what a client does with a check.
type action int

const (
	doPing action = iota
	doPause
	doResume
	doUpdate
	doRead      // the check
	doReadPings // its log
	doReadFlips // its flips
	doAudit     // the final look at the database
)

func (a action) String() string {
	return [...]string{"ping", "pause", "resume", "update", "read", "read pings", "read flips", "audit"}[a]
}

// doubt is how long an operation may still take effect after its request broke off: PostgreSQL may be committing when
// the server dies. On Citus, commits in doubt end only after a while.
const doubt, doubtOnCitus = 10 * time.Second, 10*time.Second + 3*recoverEvery

// operation is one request with the parts of its answer that the model looks at.
type operation struct {
	action    action
	subject   *subject
	client    int
	call, ret time.Duration // since the start of the trial

	called, returned time.Time // the same instants on the clock of the servers

	signal pings.Signal // of a ping; its user agent is unique
	spec   checks.Spec  // of an update

	status int         // 0 if it is unknown whether the operation took effect; ret then includes doubt
	check  *wire.Check // from answers that have one
	pings  []wire.Ping // the newest
	flips  []wire.Flip

	logged *pings.Ping // the log entry of a ping
	audit  *modelState // of an audit: the check in the database
}

func (o *operation) answered() bool { return o.status != 0 }

// optional reports whether the operation may have had no effect. For a ping, the log tells.
func (o *operation) optional() bool { return !o.answered() && o.action != doPing }

// String describes the operation, to help find out why a history is not linearizable.
func (o *operation) String() string {
	text := fmt.Sprintf("client %d %s (%d)", o.client, o.action, o.status)
	switch {
	case o.action == doUpdate:
		text += fmt.Sprintf(" timeout=%v manual_resume=%v methods=%q", *o.spec.Timeout, *o.spec.ManualResume, *o.spec.Methods)
	case o.action == doPing:
		text += fmt.Sprintf(" %s %s", o.signal.Kind, o.signal.Method)
		if o.logged != nil {
			text += fmt.Sprintf(" -> n=%d %s at %s", o.logged.N, o.logged.Kind, o.logged.At.Format("15:04:05.000000"))
		}
	case o.audit != nil:
		text += fmt.Sprintf(" %v", o.audit)
	case len(o.pings) > 0:
		text += fmt.Sprintf(" newest n=%d", o.pings[0].N)
	case len(o.flips) > 0:
		text += fmt.Sprintf(" %d flips, newest up=%d", len(o.flips), o.flips[0].Up)
	}
	if o.check != nil {
		text += fmt.Sprintf(" n=%d %s last_ping=%v next_ping=%v manual=%v",
			o.check.NPings, o.check.Status, o.check.LastPing, o.check.NextPing, o.check.ManualResume)
	}
	return text
}

// timeouts are so long that no deadline passes while the program runs.
func timeouts() []time.Duration {
	return []time.Duration{100 * time.Hour, 200 * time.Hour, 300 * time.Hour}
}

// choose returns the next operation of a client.
func choose(rng *rand.Rand, s *subject, name string) *operation {
	o := &operation{subject: s}
	dice := rng.IntN(100)
	switch {
	case dice < 4:
		o.action = doReadPings
	case dice < 8:
		o.action = doReadFlips
	case dice < 16:
		o.action = doRead
	case s.steered && dice < 24:
		o.action = doPause
	case s.steered && dice < 34:
		o.action = doResume
	case s.steered && dice < 40:
		o.action = doUpdate
		o.spec = checks.Spec{
			Timeout: new(timeouts()[rng.IntN(3)]), ManualResume: new(rng.IntN(2) == 0),
			Methods: new([]string{"", "", http.MethodPost}[rng.IntN(3)]),
		}
	default:
		o.signal = chooseSignal(rng, s)
		o.signal.UserAgent = name
	}
	return o
}

func chooseSignal(rng *rand.Rand, s *subject) pings.Signal {
	signal := pings.Signal{Kind: pings.Success, Scheme: "http", RemoteAddr: "127.0.0.1"}
	switch dice := rng.IntN(100); {
	case dice < 12:
		signal.Kind = pings.Start
	case dice < 20:
		signal.Kind = pings.Failure
	case dice < 28:
		signal.Kind = pings.Log
	case dice < 32:
		signal.ExitStatus = new(0)
	case dice < 36:
		signal.Kind, signal.ExitStatus = pings.Failure, new(1+rng.IntN(255))
	}
	signal.Method = []string{http.MethodPost, http.MethodPost, http.MethodGet, http.MethodHead}[rng.IntN(4)]
	if signal.Method == http.MethodPost && rng.IntN(4) == 0 {
		signal.Body = []byte(strings.Repeat("x", 1+rng.IntN(500)))
	}
	if rng.IntN(5) < 2 {
		signal.RunID = s.runs[rng.IntN(len(s.runs))]
	}
	return signal
}

// request returns the HTTP request of the operation.
func (o *operation) request(rng *rand.Rand, s *site) request {
	r := request{server: rng.IntN(len(s.servers)), method: http.MethodPost, path: "/api/v3/checks/" + o.subject.id.String()}
	switch o.action {
	case doPing:
		r.path = s.address(o.subject, rng.IntN(5) < 2)
		switch {
		case o.signal.ExitStatus != nil:
			r.path += fmt.Sprintf("/%d", *o.signal.ExitStatus)
		case o.signal.Kind != pings.Success:
			r.path += "/" + string(o.signal.Kind)
		}
		if o.signal.RunID.Valid {
			r.path += "?rid=" + o.signal.RunID.UUID.String()
		}
		r.method, r.body, r.userAgent = o.signal.Method, string(o.signal.Body), o.signal.UserAgent
		r.fresh = r.method != http.MethodPost
	case doPause:
		r.path += "/pause"
	case doResume:
		r.path += "/resume"
	case doUpdate:
		r.body = fmt.Sprintf(`{"timeout": %d, "manual_resume": %v, "methods": %q}`,
			int64(o.spec.Timeout.Seconds()), *o.spec.ManualResume, *o.spec.Methods)
	case doRead:
		r.method = http.MethodGet
	case doReadPings:
		r.method, r.path = http.MethodGet, r.path+"/pings/"
	case doReadFlips:
		r.method, r.path = http.MethodGet, r.path+"/flips/"
	}
	return r
}

// note keeps an answer. The error reports an answer that must not be.
func (o *operation) note(a answer) error {
	if a.status == http.StatusServiceUnavailable {
		if a.header.Get("Retry-After") == "" {
			return fmt.Errorf("%s: 503 without Retry-After", o)
		}
		return nil // it may have taken effect or not
	}
	if o.action == doResume && a.status == http.StatusConflict {
		o.status = a.status
		return nil
	}
	if a.status != http.StatusOK {
		return fmt.Errorf("%s: status %d: %s", o, a.status, a.body)
	}
	o.status = a.status
	switch o.action {
	case doPing:
		return nil
	case doReadPings:
		var document wire.Pings
		err := json.Unmarshal(a.body, &document)
		o.pings = document.Pings
		return err
	case doReadFlips:
		return json.Unmarshal(a.body, &o.flips)
	}
	o.check = new(wire.Check)
	return json.Unmarshal(a.body, o.check)
}
