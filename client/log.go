package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
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

// unknownSize is the BodySize of a ping that has a body: the API does not tell its length.
const unknownSize = -1

// maxPings is the largest limit that the API takes: no plan keeps more pings.
const maxPings = 1000

// Pings returns the pings of a check that the query selects, newest first, of the newest 100 on the free plan and 1000 on the
// paid one. One request reads them. BodySize is -1 for a ping with a body, because the server does not tell its length, and
// ExitStatus is nil. The error is [checks.ErrNotFound] if the check does not exist, and a *[checks.FieldError] for the limit.
func (c *Client) Pings(ctx context.Context, id uuid.UUID, q checks.PingQuery) iter.Seq2[pings.Ping, error] {
	name := "list pings of check " + id.String()
	return listed(ctx, name, checks.ValidateLimit(q.Limit), func() ([]pings.Ping, error) {
		return get(ctx, c, name, withQuery(checkPath(id)+"/pings/", pingQuery(q)), func(d wire.Pings) ([]pings.Ping, error) {
			list, err := each("pings", d.Pings, pingOf)
			return q.Select(list), err // another program, or an older server, may have sent them all
		})
	})
}

// pingQuery selects all pings of a query, and up to a second before Since others.
func pingQuery(q checks.PingQuery) url.Values {
	query := url.Values{}
	if q.Limit > 0 && q.Since.Nanosecond() == 0 {
		query.Set("limit", strconv.Itoa(min(q.Limit, maxPings)))
	}
	if since := q.Since.Unix(); since > 0 {
		query.Set("since", strconv.FormatInt(min(since, checks.MaxFlipTimestamp), 10))
	}
	return query
}

// withQuery returns a path with its parameters, if there are any.
func withQuery(path string, query url.Values) string {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return path
}

// listed yields what read returns, until the context ends, or the error refused without a request.
func listed[T any](ctx context.Context, name string, refused error, read func() ([]T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if refused != nil {
			yield(*new(T), fmt.Errorf("client: %s: %w", name, refused))
			return
		}
		list, err := read()
		if err != nil {
			yield(*new(T), err)
			return
		}
		for _, item := range list {
			if err := ctx.Err(); err != nil {
				yield(*new(T), fmt.Errorf("client: %s: %w", name, err))
				return
			}
			if !yield(item, nil) {
				return
			}
		}
	}
}

func pingOf(d wire.Ping) (pings.Ping, error) {
	p := pings.Ping{
		N: d.N, Kind: pings.Kind(d.Type), At: d.Date.Time, Scheme: d.Scheme, RemoteAddr: d.RemoteAddr,
		Method: d.Method, UserAgent: d.UA,
	}
	if d.BodyURL != nil {
		p.BodySize = unknownSize
	}
	if d.RID != nil {
		id, err := uuid.Parse(*d.RID)
		if err != nil {
			return pings.Ping{}, fmt.Errorf("the rid of a ping in the response is not a UUID: %q", *d.RID)
		}
		p.RunID = uuid.NullUUID{UUID: id, Valid: true}
	}
	if d.Duration != nil {
		const unit = 10 * time.Millisecond
		steps := math.Round(*d.Duration * float64(time.Second/unit))
		if math.Abs(steps) > float64(math.MaxInt64/unit) {
			return pings.Ping{}, fmt.Errorf("the duration of a ping in the response is too long: %v", *d.Duration)
		}
		p.Duration = new(time.Duration(steps) * unit)
	}
	return p, nil
}

// PingBody returns the body of the ping with the number n, as the server received it. The error is [checks.ErrNotFound] if
// the check or the ping does not exist or the ping has no body.
func (c *Client) PingBody(ctx context.Context, id uuid.UUID, n int64) ([]byte, error) {
	r, err := c.request(call{name: fmt.Sprintf("get the body of ping %d of check %v", n, id), method: http.MethodGet, idempotent: true,
		path: checkPath(id) + "/pings/" + strconv.FormatInt(n, 10) + "/body"})
	if err != nil {
		return nil, err
	}
	r.header.Set("Accept", "text/plain, */*")
	var body []byte
	err = c.caller.do(ctx, r, func(res *http.Response) (err error) {
		if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind != "text/plain" {
			return ErrNotRollcall
		}
		body, err = readAll(res)
		return err
	})
	return body, err
}

// Flips returns the status changes of a check in a range of time, newest first. The zero
// Range selects all of them. The API counts in whole seconds: Flips widens finer bounds, and the server truncates the
// times of the flips. The error is [checks.ErrNotFound] if the check does not exist, and that of [checks.ValidateRange].
func (c *Client) Flips(ctx context.Context, id uuid.UUID, in flips.Range) iter.Seq2[flips.Flip, error] {
	return c.flips(ctx, id.String(), checks.ValidateRange(in), in)
}

// FlipsByUniqueKey is [Client.Flips] for the check of the project with a unique key.
func (c *Client) FlipsByUniqueKey(ctx context.Context, key string, in flips.Range) iter.Seq2[flips.Flip, error] {
	if !isUniqueKey(key) {
		return c.flips(ctx, strconv.Quote(key), checks.ErrNotFound, in)
	}
	return c.flips(ctx, key, checks.ValidateRange(in), in)
}

// flips lists the flips of a check by its identifier or unique key, unless the arguments are refused.
func (c *Client) flips(ctx context.Context, check string, refused error, in flips.Range) iter.Seq2[flips.Flip, error] {
	name := "list flips of check " + check
	return listed(ctx, name, refused, func() ([]flips.Flip, error) {
		return get(ctx, c, name, withQuery(checksPath+check+"/flips/", rangeQuery(in)), func(d flipList) ([]flips.Flip, error) {
			list, err := each("flips", d, func(d wire.Flip) (flips.Flip, error) {
				return flips.Flip{At: d.Timestamp.Time, Up: d.Up != 0}, nil
			})
			// rangeQuery asks for up to a second before From.
			from := in.From.Truncate(time.Second)
			return slices.DeleteFunc(list, func(f flips.Flip) bool { return f.At.Before(from) }), err
		})
	})
}

func rangeQuery(r flips.Range) url.Values {
	query := url.Values{}
	if r.Last != 0 {
		seconds := int64(r.Last / time.Second)
		if r.Last%time.Second > 0 {
			seconds++
		}
		query.Set("seconds", strconv.FormatInt(seconds, 10))
	}
	if !r.From.IsZero() { // the API selects flips newer than start
		query.Set("start", strconv.FormatInt(max(0, r.From.Add(-1).Unix()), 10))
	}
	if !r.Until.IsZero() {
		end := r.Until.Unix()
		if r.Until.Nanosecond() > 0 {
			end++
		}
		query.Set("end", strconv.FormatInt(end, 10))
	}
	return query
}

// flipList is a list of flips in either form: the bare array of the specification, or the object that
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
