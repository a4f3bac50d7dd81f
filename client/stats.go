package client

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/client/wire"
)

// Stats returns what a check did on each UTC day from that of one instant to that of another, both included, at most 366
// days: its runs and their durations, and the time up, down and unwatched. Days before the check was created and after
// the current one are left out. [checks.SumDays] adds days up. It is an extension that other servers do not have. The
// error is [checks.ErrNotFound] if the check does not exist, and that of [checks.ValidateDays].
func (c *Client) Stats(ctx context.Context, id uuid.UUID, from, to time.Time) ([]checks.DayStats, error) {
	return c.stats(ctx, id.String(), from, to)
}

// StatsByUniqueKey is [Client.Stats] for the check of the project with a unique key.
func (c *Client) StatsByUniqueKey(ctx context.Context, key string, from, to time.Time) ([]checks.DayStats, error) {
	if !isUniqueKey(key) {
		return nil, fmt.Errorf("client: list statistics of check %q: %w", key, checks.ErrNotFound)
	}
	return c.stats(ctx, key, from, to)
}

// stats lists the statistics of a check by its identifier or unique key.
func (c *Client) stats(ctx context.Context, check string, from, to time.Time) ([]checks.DayStats, error) {
	if err := checks.ValidateDays(from, to); err != nil {
		return nil, fmt.Errorf("client: list statistics of check %s: %w", check, err)
	}
	query := url.Values{"start": {from.UTC().Format(time.DateOnly)}, "end": {to.UTC().Format(time.DateOnly)}}
	return get(ctx, c, "list statistics of check "+check, checksPath+check+"/stats/?"+query.Encode(), func(d wire.Stats) ([]checks.DayStats, error) {
		return each("days", d.Days, wire.StatsDay.Stats)
	})
}
