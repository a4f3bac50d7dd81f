package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/client/wire"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// Ping is an entry of a check's ping log (server/API.md section 2.2).
type Ping struct {
	// N is the number of the ping within its check.
	N int64
	// Kind is what the ping meant to the check.
	Kind pings.Kind
	// At is when the server received the ping, in UTC with microseconds.
	At time.Time
	// Scheme is "http", "https", "email" or "".
	Scheme string
	// RemoteAddr is the address that the ping came from.
	RemoteAddr string
	// Method is the HTTP method of the ping, or "".
	Method string
	// UserAgent is the user agent of the ping.
	UserAgent string
	// RunID is the run identifier; it is not valid if the ping had none.
	RunID uuid.NullUUID
	// Duration is the length of the run that this ping ended, in steps of 10 ms, or nil if it ended none.
	Duration *time.Duration
	// HasBody reports whether the ping has a body; see [Client.PingBody].
	HasBody bool
}

// Pings returns the newest pings of a check, newest first: 100 on the free plan and 1000 on the paid one (server/API.md
// section 4.8). The error is [checks.ErrNotFound] if the check does not exist.
func (c *Client) Pings(ctx context.Context, id uuid.UUID) ([]Ping, error) {
	return get(ctx, c, "list pings", checkPath(id)+"/pings/", func(d wire.Pings) ([]Ping, error) {
		return each("pings", d.Pings, pingOf)
	})
}

func pingOf(d wire.Ping) (Ping, error) {
	p := Ping{
		N: d.N, Kind: pings.Kind(d.Type), At: d.Date.Time, Scheme: d.Scheme, RemoteAddr: d.RemoteAddr,
		Method: d.Method, UserAgent: d.UA, HasBody: d.BodyURL != nil,
	}
	if d.RID != nil {
		id, err := uuid.Parse(*d.RID)
		if err != nil {
			return Ping{}, fmt.Errorf("the rid of a ping in the response is not a UUID: %q", *d.RID)
		}
		p.RunID = uuid.NullUUID{UUID: id, Valid: true}
	}
	if d.Duration != nil {
		const unit = 10 * time.Millisecond
		steps := math.Round(*d.Duration * float64(time.Second/unit))
		if math.Abs(steps) > float64(math.MaxInt64/unit) {
			return Ping{}, fmt.Errorf("the duration of a ping in the response is too long: %v", *d.Duration)
		}
		p.Duration = new(time.Duration(steps) * unit)
	}
	return p, nil
}

// PingBody returns the body of the ping with the number n, as the server received it (server/API.md section 4.9). The
// caller closes it. Only ctx bounds how long reading it may take. The error is [checks.ErrNotFound] if the check or the
// ping does not exist or the ping has no body.
func (c *Client) PingBody(ctx context.Context, id uuid.UUID, n int64) (io.ReadCloser, error) {
	r, err := c.request(call{name: "get ping body", method: http.MethodGet, idempotent: true,
		path: checkPath(id) + "/pings/" + strconv.FormatInt(n, 10) + "/body"})
	if err != nil {
		return nil, err
	}
	r.header.Set("Accept", "text/plain, */*")
	var body io.ReadCloser
	err = c.caller.do(ctx, r, func(res *response) (err error) {
		if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind != "text/plain" {
			return ErrNotRollcall
		}
		body, err = res.keep()
		return err
	})
	return body, err
}

// Flips returns the status changes of a check in a window of time, newest first (server/API.md section 4.10). The zero
// Window selects all of them. The API counts in whole seconds: Flips widens finer bounds, and the server truncates the
// times of the flips. The error is [checks.ErrNotFound] if the check does not exist.
func (c *Client) Flips(ctx context.Context, id uuid.UUID, window flips.Window) ([]flips.Flip, error) {
	return c.flips(ctx, checkPath(id), window)
}

// FlipsByUniqueKey is [Client.Flips] for the check of the project with a unique key.
func (c *Client) FlipsByUniqueKey(ctx context.Context, key string, window flips.Window) ([]flips.Flip, error) {
	if !isUniqueKey(key) {
		return nil, fmt.Errorf("client: list flips: %w", checks.ErrNotFound)
	}
	return c.flips(ctx, checksPath+key, window)
}

func (c *Client) flips(ctx context.Context, path string, window flips.Window) ([]flips.Flip, error) {
	path += "/flips/"
	if query := windowQuery(window); query != "" {
		path += "?" + query
	}
	return get(ctx, c, "list flips", path, func(d flipList) ([]flips.Flip, error) {
		list, err := each("flips", d, func(d wire.Flip) (flips.Flip, error) {
			return flips.Flip{At: d.Timestamp.Time, Up: d.Up != 0}, nil
		})
		// windowQuery asks for up to a second before From.
		from := window.From.Truncate(time.Second)
		return slices.DeleteFunc(list, func(f flips.Flip) bool { return f.At.Before(from) }), err
	})
}

func windowQuery(w flips.Window) string {
	query := url.Values{}
	if w.Last != 0 {
		seconds := int64(w.Last / time.Second)
		if w.Last%time.Second > 0 {
			seconds++
		}
		query.Set("seconds", strconv.FormatInt(seconds, 10))
	}
	if !w.From.IsZero() { // the API selects flips newer than start
		query.Set("start", strconv.FormatInt(max(0, w.From.Add(-1).Unix()), 10))
	}
	if !w.Until.IsZero() {
		end := w.Until.Unix()
		if w.Until.Nanosecond() > 0 {
			end++
		}
		query.Set("end", strconv.FormatInt(end, 10))
	}
	return query.Encode()
}

// flipList is a list of flips in either form: the bare array of server/API.md section 4.10, or the object that
// Healthchecks wraps around it.
type flipList []wire.Flip

func (l *flipList) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '{' {
		return json.Unmarshal(data, (*[]wire.Flip)(l))
	}
	var document struct {
		Flips []wire.Flip `json:"flips"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return err
	}
	*l = document.Flips
	return nil
}
