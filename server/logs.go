package server

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/client/wire"
	"github.com/rollcall-dev/rollcall/pings"
)

// maxListedPings is the most pings that any plan lists.
const maxListedPings = 1000

// listPings answers server/API.md section 4.8, with the query parameters limit and since besides.
func (c *call) listPings() error {
	query, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return errBadQuery
	}
	limit, limited, err := wholeNumber(query, "limit", maxListedPings)
	if err != nil {
		return err
	}
	since, bounded, err := wholeNumber(query, "since", checks.MaxFlipTimestamp)
	if err != nil {
		return err
	}
	var q checks.PingQuery
	if bounded {
		q.Since = time.Unix(since, 0)
	}
	if limited && c.acceptLate == 0 {
		q.Limit = int(limit)
	}
	list, err := checks.Collect(c.mon.Project(c.check.ProjectID).Pings(c.r.Context(), c.check.ID, q))
	if err != nil {
		return err
	}
	if c.acceptLate > 0 { // the number of a ping that waited in a queue is that of its arrival
		slices.SortStableFunc(list, func(a, b pings.Ping) int { return b.At.Compare(a.At) })
	}
	if limited {
		list = list[:min(int64(len(list)), limit)]
	}
	bodies := c.checkURL(c.check.ID) + "/pings/"
	document := wire.Pings{Pings: make([]wire.Ping, 0, len(list))}
	for _, ping := range list {
		entry := wire.Ping{
			Type: string(ping.Kind), Date: wire.Micros{Time: ping.At}, N: ping.N,
			Scheme: ping.Scheme, RemoteAddr: ping.RemoteAddr, Method: ping.Method, UA: ping.UserAgent,
		}
		if ping.RunID.Valid {
			entry.RID = new(ping.RunID.UUID.String())
		}
		if ping.Duration != nil {
			// Whole hundredths, divided last, have the shortest decimal form.
			entry.Duration = new(float64(*ping.Duration/(10*time.Millisecond)) / 100)
		}
		if ping.BodySize > 0 {
			entry.BodyURL = new(bodies + strconv.FormatInt(ping.N, 10) + "/body")
		}
		document.Pings = append(document.Pings, entry)
	}
	return c.answer(http.StatusOK, document)
}

// pingBody answers server/API.md section 4.9.
func (c *call) pingBody() error {
	text := c.params.ByName("n")
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || strconv.FormatInt(n, 10) != text {
		return errNotFound
	}
	ping, err := c.mon.Project(c.check.ProjectID).PingWithBody(c.r.Context(), c.check.ID, n)
	if err != nil {
		return err
	}
	if ping.BodyCut > 0 {
		c.w.Header().Set(cutHeader, strconv.FormatInt(ping.BodyCut, 10))
	}
	write(c.w, http.StatusOK, "text/plain", ping.Body)
	return nil
}

// listFlips answers server/API.md section 4.10.
func (c *call) listFlips() error {
	query, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return errBadQuery
	}
	in, err := flipRange(query)
	if err != nil {
		return err
	}
	document := make([]wire.Flip, 0)
	for flip, err := range c.mon.Project(c.check.ProjectID).Flips(c.r.Context(), c.check.ID, in) {
		if err != nil {
			return err
		}
		entry := wire.Flip{Timestamp: wire.Time{Time: flip.At}}
		if flip.Up {
			entry.Up = 1
		}
		document = append(document, entry)
	}
	return c.answerFlips(document)
}
