package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/job"
	"github.com/rollcall-dev/rollcall/pings"
)

// registerTimeout bounds the one try of [Client.Register], and knownTimeout that of a Client for which another has just failed.
const registerTimeout, knownTimeout = 5 * time.Second, time.Second

// errUnregistered is why a ping waits that was not tried.
var errUnregistered = errors.New("the check is not registered yet")

// registration registers the check of a [Pinger] that [Client.Register] returned during an outage. Its pings wait meanwhile.
type registration struct {
	mu   sync.Mutex
	call func(ctx context.Context) error // calls complete, which sets it to nil; the lock guards it
	root string                          // the directory of PingerConfig.Queue
}

func (r *registration) pending() func(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.call
}

// register creates or updates the check with the slug of spec, and returns its ping URL.
func (c *Client) register(ctx context.Context, spec checks.Spec) (pingURL string, err error) {
	list, err := c.Checks(ctx, checks.Query{Slug: *spec.Slug})
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		spec = job.Defaults(spec, time.Now())
	}
	check, _, err := c.Upsert(ctx, spec, checks.UniqueSlug)
	return check.PingURL, err
}

// later returns the Pinger of a check that is registered in the background, until that works or the Client is closed.
func (c *Client) later(name string, spec checks.Spec) (p *Pinger, err error) {
	c.registered.mu.Lock()
	defer c.registered.mu.Unlock()
	if p = c.registered.pending[name]; p == nil {
		if p, err = newPinger(name, &c.config); err != nil {
			return nil, err
		}
		c.registered.pending[name] = p
	}
	r := &p.sender.registration
	r.mu.Lock()
	defer r.mu.Unlock()
	r.root = c.config.Queue
	r.call = func(ctx context.Context) error {
		pingURL, err := c.register(ctx, spec)
		if err == nil {
			_, err = c.pinger(name, pingURL)
		}
		return err
	}
	p.sender.background.kick(p.sender.work)
	return p, nil
}

// pinger returns the Pinger of a registered check: one for each, so that its pings stay in order.
func (c *Client) pinger(name, pingURL string) (p *Pinger, err error) {
	c.registered.mu.Lock()
	defer c.registered.mu.Unlock()
	if p = c.registered.pending[name]; p != nil {
		if err := p.sender.complete(pingURL); err != nil {
			return nil, err
		}
		delete(c.registered.pending, name)
		c.registered.pingers[pingURL] = p
		return p, nil
	}
	if p = c.registered.pingers[pingURL]; p != nil {
		return p, nil
	}
	if p, err = NewPinger(pingURL, &c.config); err != nil {
		return nil, err
	}
	c.registered.pingers[pingURL] = p
	if p.sender.queue == nil {
		return p, nil
	}
	// An earlier process may have ended before the check was registered.
	earlier, err := queueOf(c.config.Queue, name)
	if err != nil {
		return nil, err
	}
	if moved, err := earlier.moveTo(p.sender.queue); err != nil {
		return nil, fmt.Errorf("client: queue: %w", err)
	} else if moved > 0 {
		p.sender.background.kick(p.sender.work)
	}
	return p, nil
}

// complete sets the ping URL of a check that was registered.
func (s *sender) complete(pingURL string) error {
	target, query, err := splitPingURL(pingURL)
	if err != nil {
		return err
	}
	r := &s.registration
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.queue != nil {
		next, err := newQueue(r.root, target+"?"+query)
		if err == nil {
			_, err = s.queue.moveTo(next)
		}
		if err != nil {
			return fmt.Errorf("client: queue: %w", err)
		}
		s.queue = next
	}
	s.url, s.query, r.call = target, query, nil
	return nil
}

// await keeps a ping whose check is not registered yet. waits is false if it is.
func (s *sender) await(ctx context.Context, signal pings.Signal) (waits bool, err error) {
	s.registration.mu.Lock()
	defer s.registration.mu.Unlock()
	if s.registration.call == nil {
		return false, nil
	}
	if s.queue != nil {
		return true, s.keep(signal, time.Now(), errUnregistered)
	}
	err = fmt.Errorf("client: %s ping: %w", signal.Kind, errUnregistered)
	if s.add(ctx, &pending{signal: signal, at: time.Now(), tries: 1}) {
		err = fmt.Errorf("%w; %w", err, ErrPending)
	}
	return true, err
}

// work registers the check if that is pending, and sends the pings that wait.
func (s *sender) work(ctx context.Context) {
	switch {
	case !s.register(ctx):
	case s.queue == nil:
		s.resend(ctx)
	default:
		if err := s.flush(ctx, true); err != nil && ctx.Err() == nil {
			s.report(ctx, err)
		}
	}
}

// register tries to register the check until that works. It gives up if the server refuses the check, and once the Pinger is
// closed if no ping in memory needs it.
func (s *sender) register(ctx context.Context) (ok bool) {
	var pauses pauser
	for call := s.registration.pending(); call != nil; call = s.registration.pending() {
		err := call(ctx)
		switch {
		case err == nil:
			continue
		case ctx.Err() != nil:
			return false
		case !isUndelivered(err) || s.background.ending() && s.memory.next(nil) == nil:
			err = fmt.Errorf("%w; the check is not registered", err)
			if s.queue != nil {
				err = fmt.Errorf("%w; its pings wait in the queue", err)
			} else if dropped := s.memory.clear(); dropped > 0 {
				err = fmt.Errorf("%w; pings that were given up: %d", err, dropped)
			}
			s.report(ctx, err)
			return false
		}
		if s.background.pause(ctx, s.pauseAfter(&pauses, err)) != nil {
			return false
		}
	}
	return true
}

// queueOf returns the queue of a name, without making its directory.
func queueOf(root, name string) (*queue, error) {
	dir, err := queueDir(root, name)
	return &queue{dir: dir}, err
}

// moveTo moves the pings that wait to another queue, and returns how many. There may be no directory.
func (q *queue) moveTo(next *queue) (moved int, err error) {
	for _, name := range q.inMemory() {
		if w, err := q.read(name); err == nil {
			_ = next.hold(name, w)
			q.release(name)
			moved++
		}
	}
	names, err := q.list()
	if errors.Is(err, fs.ErrNotExist) {
		return moved, nil
	}
	for _, name := range names {
		switch err := os.Rename(filepath.Join(q.dir, name), filepath.Join(next.dir, name)); {
		case err == nil:
			moved++
		case !errors.Is(err, fs.ErrNotExist): // or another process has moved it
			return moved, err
		}
	}
	return moved, err
}
