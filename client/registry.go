package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/job"
)

var _ job.Registry = (*Client)(nil)

// errNoClient is the error of a Client that [New] has not made.
var errNoClient = errors.New("there is no client: make one with New, whose error says what is wrong")

// Register creates or updates the check with the slug of spec and returns the reporter of its job, as [job.Registry]
// describes. The reporter is a [Pinger] with Config.Pinger. Call [Client.Close] before the program ends.
//
// Register tries for at most 5 seconds. If the server does not answer in that time or is overloaded, or another program
// answers, the error is an [ErrPending]. The Pinger then keeps its pings, in memory or in PingerConfig.Queue, and registers
// the check in the background until that works. Pings in the queue of a process that ended before are sent by the next one
// that registers the slug with the same key.
//
// On a nil Client, which [New] returns for a wrong URL or key, Register returns an
// error and a reporter that only runs the job.
func (c *Client) Register(ctx context.Context, spec checks.Spec) (job.Reporter, error) {
	none := (*Pinger)(nil)
	if c == nil || c.caller == nil {
		return none, fmt.Errorf("client: register: %w", errNoClient)
	}
	if spec.Slug == nil || *spec.Slug == "" {
		return none, fmt.Errorf("client: register: %w", &checks.FieldError{Field: "slug", Reason: "is empty"})
	}
	name := c.base + "\n" + c.key + "\n" + c.project.String() + "\n" + *spec.Slug
	timeout := registerTimeout
	c.registered.mu.Lock()
	if len(c.registered.pending) > 0 {
		timeout = knownTimeout
	}
	c.registered.mu.Unlock()
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	pingURL, err := c.register(within, spec)
	if err == nil {
		p, err := c.pinger(name, pingURL)
		return p, err
	}
	if errors.Is(ctx.Err(), context.Canceled) || !isUndelivered(err) && within.Err() == nil {
		return none, err
	}
	p, failed := c.later(name, spec)
	if failed != nil {
		return none, failed
	}
	return p, fmt.Errorf("%w; %w", err, ErrPending)
}

// Close closes the pingers that [Client.Register] has returned, as [Pinger.Close] does. The Client itself holds nothing.
func (c *Client) Close(ctx context.Context) error {
	if c == nil || c.caller == nil {
		return nil
	}
	c.registered.mu.Lock()
	pingers := slices.AppendSeq(slices.Collect(maps.Values(c.registered.pingers)), maps.Values(c.registered.pending))
	c.registered.mu.Unlock()
	errs := make([]error, len(pingers))
	var wg sync.WaitGroup
	for i, p := range pingers {
		wg.Go(func() { errs[i] = p.Close(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// PauseExcept pauses the checks with the tag whose slug is not in slugs, as [job.Registry] describes.
func (c *Client) PauseExcept(ctx context.Context, tag string, slugs []string) error {
	if err := job.ValidatePause(tag, slugs); err != nil {
		return fmt.Errorf("client: pause checks: %w", err)
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
