package twilio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
	"github.com/rollcall-dev/rollcall/channels/prose"
)

const (
	// pause is how long to wait after a 429 without a Retry-After.
	pause = time.Minute
	// waitPause is when to ask again for a status that is not final, and callPause when to call again.
	waitPause, callPause = 30 * time.Second, 2 * time.Minute
	// maxCalls is the number of calls for one alert.
	maxCalls = 3
	// maxProblem is the maximum length of a text of Twilio in an error, in characters.
	maxProblem = 200
)

// polls are the pauses before each request for the status in one attempt: 16 seconds in all, which leaves time for the
// requests within the 30 seconds of an attempt.
var polls = []time.Duration{time.Second, time.Second, 2 * time.Second, 3 * time.Second, 4 * time.Second, 5 * time.Second}

// state is what Twilio says about a message or a call.
type state struct {
	SID     string `json:"sid"`
	Status  string `json:"status"`
	Code    *int   `json:"error_code"`
	Message string `json:"error_message"`
}

// waits reports whether the status may still change. sent changes only with carriers that report deliveries.
func (s state) waits() bool { return !s.succeeded() && !s.failed() && !s.unanswered() }

func (s state) succeeded() bool {
	return slices.Contains([]string{"delivered", "read", "partially_delivered", "completed"}, s.Status)
}

func (s state) failed() bool {
	return slices.Contains([]string{"failed", "undelivered", "canceled"}, s.Status)
}

func (s state) unanswered() bool { return s.Status == "busy" || s.Status == "no-answer" }

// past are the messages or calls of earlier attempts, in [channels.Notification].Done: their identifiers, and a second
// entry for each that is over.
type past struct{ names []string }

const overMark = " over"

// open returns the one that is not over, or "".
func (p *past) open() string {
	for _, name := range slices.Backward(p.names) {
		if !strings.HasSuffix(name, overMark) && !slices.Contains(p.names, name+overMark) {
			return name
		}
	}
	return ""
}

func (p *past) add(name string) { p.names = append(slices.Clone(p.names), name) }

func (p *past) over() (n int) {
	for _, name := range p.names {
		if strings.HasSuffix(name, overMark) {
			n++
		}
	}
	return n
}

// An order is one message or call.
type order struct {
	notifier *notifier
	account  account
	call     bool
	sid      string
	past     past
}

// address returns the address of the list of messages or calls, or of one of them.
func (o *order) address(sid string) string {
	resource := "Messages"
	if o.call {
		resource = "Calls"
	}
	path := []string{"2010-04-01", "Accounts", o.account.sid, resource + ".json"}
	if sid != "" {
		path = append(path[:3], resource, sid+".json")
	}
	return o.notifier.base.JoinPath(path...).String()
}

// create makes the message or the call.
func (o *order) create(ctx context.Context, form url.Values) (state, error) {
	s, err := o.request(ctx, http.MethodPost, o.address(""), form)
	if err == nil && s.SID == "" {
		return s, errors.New("the answer is not from Twilio: it has no sid")
	}
	o.sid = s.SID
	return s, err
}

// fetch asks for the status.
func (o *order) fetch(ctx context.Context) (state, error) {
	return o.request(ctx, http.MethodGet, o.address(o.sid), nil)
}

func (o *order) request(ctx context.Context, method, address string, form url.Values) (state, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(form.Encode()))
	if err != nil {
		return state{}, outbound.Clean(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	req.SetBasicAuth(o.account.user, o.account.secret)
	res, body, err := outbound.Exchange(o.notifier.config.Client, req, o.account.secret)
	switch {
	case res == nil:
		return state{}, err
	case err != nil:
		return state{}, classify(res.StatusCode, body, err)
	}
	var s state
	if json.Unmarshal(body, &s) != nil {
		return s, errors.New("the answer is not from Twilio: it is not JSON")
	}
	s.Message = channels.Redact(s.Message, o.account.secret)
	return s, nil
}

// classify marks an error by the code in Twilio's answer.
func classify(status int, body []byte, err error) error {
	var problem struct {
		Code int `json:"code"`
	}
	if json.Unmarshal(body, &problem) == nil && isHopeless(problem.Code) {
		err = fmt.Errorf("cannot send to this number (Twilio error %d): %w", problem.Code, err)
		return channels.Permanent(err)
	}
	if _, found := channels.RetryDelay(err); !found && status == http.StatusTooManyRequests {
		return channels.RetryAfter(err, pause)
	}
	return err
}

// isHopeless reports whether an error code of Twilio is about the recipient, so that a retry would fail too.
func isHopeless(code int) bool {
	return slices.Contains([]int{
		21211, // the number is invalid
		21214, // the number cannot be reached
		21217, // the number does not appear to be valid
		21610, // the recipient opted out
		21614, // the number is not a mobile number
	}, code)
}

// follow asks for the status until it is final or the attempt has to end, and returns the outcome.
func (o *order) follow(ctx context.Context, now state) error {
	for _, d := range polls {
		if !now.waits() {
			break
		}
		select {
		case <-o.notifier.config.After(d):
		case <-ctx.Done():
			return channels.Partial(fmt.Errorf("ask Twilio for the status: %w", ctx.Err()), o.past.names...)
		}
		next, err := o.fetch(ctx)
		if err != nil {
			return channels.Partial(fmt.Errorf("ask Twilio for the status: %w", err), o.past.names...)
		}
		now = next
	}
	switch {
	case now.succeeded(), now.Status == "sent":
		return nil
	case now.failed():
		// If a user retries the delivery, a new message is sent.
		o.past.add(o.sid + overMark)
		return channels.Partial(channels.Permanent(o.problem(now)), o.past.names...)
	case now.unanswered():
		return o.callAgain(now)
	}
	err := fmt.Errorf("accepted by Twilio, but the status is still %q", prose.Line(now.Status, maxProblem))
	return channels.Partial(channels.RetryAfter(err, waitPause), o.past.names...)
}

// callAgain is the outcome of a call that nobody took.
func (o *order) callAgain(now state) error {
	err := errors.New("nobody answered the call")
	if now.Status == "busy" {
		err = errors.New("the line was busy")
	}
	o.past.add(o.sid + overMark)
	if n := o.past.over(); n >= maxCalls {
		err = channels.Permanent(fmt.Errorf("%w, the last of %d calls", err, n))
		return channels.Partial(err, o.past.names...)
	}
	return channels.Partial(channels.RetryAfter(err, callPause), o.past.names...)
}

// problem is the error of a message or a call that failed.
func (o *order) problem(now state) error {
	what := "message"
	if o.call {
		what = "call"
	}
	text := fmt.Sprintf("Twilio reports the %s as %s", what, now.Status)
	if now.Code == nil {
		return errors.New(text)
	}
	text += fmt.Sprintf(", error %d", *now.Code)
	if now.Message != "" {
		text += " (" + prose.Line(now.Message, maxProblem) + ")"
	}
	if *now.Code == outsideWindow {
		text += "; set content_sid to an approved template"
	}
	return fmt.Errorf("%s: https://www.twilio.com/docs/api/errors/%d", text, *now.Code)
}

// outsideWindow is the error of free text more than 24 hours after the recipient has written.
const outsideWindow = 63016
