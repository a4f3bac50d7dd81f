package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/job"
)

var _ job.Registry = (*Client)(nil)

// errNoClient is the error of a registry that [New] has not made.
var errNoClient = errors.New("there is no client; the error of New says why")

// Register creates or updates the check with the slug of spec and returns the reporter of its job, as [job.Registry]
// describes. The reporter is a [Pinger] with the configuration of the client. Call
// [Client.Close] before the program ends. On a nil Client, which [New] returns for a wrong URL or key, Register returns an
// error and a reporter that only runs the job.
func (c *Client) Register(ctx context.Context, spec checks.Spec) (job.Reporter, error) {
	none := (*Pinger)(nil)
	if c == nil {
		return none, fmt.Errorf("client: register: %w", errNoClient)
	}
	if spec.Slug == nil || *spec.Slug == "" {
		return none, fmt.Errorf("client: register: %w", &checks.FieldError{Field: "slug", Reason: "is empty"})
	}
	list, err := c.Checks(ctx, checks.Query{Slug: *spec.Slug})
	if err != nil {
		return none, err
	}
	if len(list) == 0 {
		spec = job.Defaults(spec, time.Now())
	}
	check, _, err := c.Upsert(ctx, spec, checks.UniqueSlug)
	if err != nil {
		return none, err
	}
	c.registered.mu.Lock()
	defer c.registered.mu.Unlock()
	p, ok := c.registered.pingers[check.PingURL]
	if !ok { // one for each check, so that its pings stay in order
		if p, err = NewPinger(check.PingURL, &c.config); err != nil {
			return none, err
		}
		c.registered.pingers[check.PingURL] = p
	}
	return p, nil
}

// Close closes the pingers that [Client.Register] has returned, as [Pinger.Close] does. The Client itself holds nothing.
func (c *Client) Close(ctx context.Context) error {
	if c == nil {
		return nil
	}
	c.registered.mu.Lock()
	pingers := slices.Collect(maps.Values(c.registered.pingers))
	c.registered.mu.Unlock()
	var errs []error
	for _, p := range pingers {
		errs = append(errs, p.Close(ctx))
	}
	return errors.Join(errs...)
}

// PauseExcept pauses the checks with the tag whose slug is not in slugs, as [job.Registry] describes.
func (c *Client) PauseExcept(ctx context.Context, tag string, slugs []string) error {
	if err := job.ValidatePause(tag, slugs); err != nil {
		return fmt.Errorf("client: pause checks: %w", err)
	}
	if c == nil {
		return fmt.Errorf("client: pause checks: %w", errNoClient)
	}
	list, err := c.Checks(ctx, checks.Query{Tags: []string{tag}})
	if err != nil {
		return err
	}
	for _, check := range list {
		if check.Slug == "" || check.Status == checks.StatusPaused || slices.Contains(slugs, check.Slug) {
			continue
		}
		if _, err := c.Pause(ctx, check.ID); err != nil && !errors.Is(err, checks.ErrNotFound) {
			return err
		}
	}
	return nil
}
