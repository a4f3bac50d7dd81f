package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/pings"
)

const (
	// maxSuspects bounds the pings that one flush passes over.
	maxSuspects = 3
	// lateAfter is when a ping is late. A server takes the time of a late ping from its header and does not alert about it.
	lateAfter = time.Minute
)

// Flush sends the pings that wait in PingerConfig.Queue. The error is nil if none waits any more. It is an [ErrQueued] with the
// cause if some still do, and it names the files that were set aside. PingerConfig.Tries bounds the tries in a row that fail.
func (p *Pinger) Flush(ctx context.Context) error {
	if p == nil || p.sender.queue == nil {
		return nil
	}
	if p.sender.registration.pending() != nil {
		return fmt.Errorf("client: queue: %w; %w", errUnregistered, ErrQueued)
	}
	return p.sender.flush(ctx)
}

// pingByQueue tries to send a ping, unless others wait. It keeps the ping if that does not reach the server.
func (s *sender) pingByQueue(ctx context.Context, signal pings.Signal) error {
	at := time.Now()
	if waiting, err := s.queue.list(); err == nil && len(waiting) > 0 {
		return s.keep(signal, at, errOlder)
	}
	unlock, err := s.queue.lock(ctx, at.Add(s.caller.timeout))
	switch {
	case errors.Is(err, errLocked):
		return s.keep(signal, at, err)
	case err != nil: // the queue does not work
		return errors.Join(fmt.Errorf("client: queue: %w", err), s.once(ctx, signal, time.Time{}))
	}
	defer unlock()
	if waiting, err := s.queue.list(); err == nil && len(waiting) > 0 { // from another process
		return s.keep(signal, at, errOlder)
	}
	ctx, cancel := context.WithDeadline(ctx, at.Add(s.caller.timeout))
	defer cancel()
	if err = s.once(ctx, signal, time.Time{}); isUndelivered(err) {
		s.failed.Store(&err)
		return s.keep(signal, at, err)
	}
	return err
}

// keep puts a ping into the queue, which the background sends, and returns why.
func (s *sender) keep(signal pings.Signal, at time.Time, why error) error {
	if !strings.HasPrefix(why.Error(), "client: ") {
		why = fmt.Errorf("client: %s ping: %w", signal.Kind, why)
	}
	if err := s.queue.put(newWaiting(signal, at)); err != nil {
		return fmt.Errorf("%w; it cannot be kept: %w", why, err)
	}
	s.background.kick(s.work)
	return fmt.Errorf("%w; %w", why, ErrQueued)
}

// flush sends the pings that wait until none does, or it has failed as often in a row as PingerConfig.Tries says.
func (s *sender) flush(ctx context.Context) error {
	f := flush{sender: s}
	pauses, wait, tries := s.begin()
	if wait > s.caller.maxWait {
		return nil // the method of the ping has returned why
	}
	var err error
	for wait == 0 || sleep(ctx, wait) == nil {
		sent := f.sent
		if err = f.locked(ctx); err == nil {
			break
		}
		if f.sent > sent {
			tries, pauses = 0, pauser{}
		}
		tries++
		wait = pauses.after(err)
		if tries >= s.caller.tries || wait > s.caller.maxWait || !mayRetry(err, true) && !errors.Is(err, errLocked) {
			break
		}
	}
	if ended := ctx.Err(); err == nil && ended != nil {
		err = fmt.Errorf("client: queue: %w", ended)
	}
	if isUndelivered(err) {
		err = fmt.Errorf("%w; %w", err, ErrQueued)
	}
	return errors.Join(append(f.reports, err)...)
}

// isUndelivered reports whether a ping may be delivered later.
func isUndelivered(err error) bool {
	if errors.Is(err, ErrNotRollcall) || errors.Is(err, ErrRateLimited) || errors.Is(err, errLocked) {
		return true
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.StatusCode >= http.StatusInternalServerError
	}
	_, ok := errors.AsType[*connectionError](err)
	return ok
}

// mayBeItsFault reports whether an undelivered ping may be the reason itself, such as one that the server fails to record.
func mayBeItsFault(err error) bool {
	if errors.Is(err, ErrNotRollcall) {
		return true
	}
	e, ok := errors.AsType[*Error](err)
	return ok && e.StatusCode >= http.StatusInternalServerError && !isAway(e.StatusCode)
}

// flush sends the pings that wait in a queue.
type flush struct {
	*sender
	sent int
	// suspects are pings that were passed over. If a later ping is delivered, they are at fault themselves.
	suspects []suspect
	reports  []error
}

type suspect struct {
	name string
	err  error
}

// locked trims the queue and sends the pings in it. The error says why some still wait.
func (f *flush) locked(ctx context.Context) error {
	unlock, err := f.queue.lock(ctx, time.Now().Add(f.caller.timeout))
	if err != nil {
		return fmt.Errorf("client: queue: %w", err)
	}
	defer unlock()
	if err := f.queue.trim(); err != nil {
		f.reports = append(f.reports, err)
	}
	f.suspects = nil
	if err = f.run(ctx); err == nil && len(f.suspects) > 0 {
		err = f.suspects[0].err
	}
	return err
}

// run sends the pings until none waits but the suspects. The error says why it stopped before.
func (f *flush) run(ctx context.Context) error {
	for {
		names, err := f.queue.list()
		if err != nil {
			return fmt.Errorf("client: queue: %w", err)
		}
		names = slices.DeleteFunc(names, func(name string) bool {
			return slices.ContainsFunc(f.suspects, func(s suspect) bool { return s.name == name })
		})
		if len(names) == 0 {
			return nil
		}
		for _, name := range names {
			if err := f.one(ctx, name); err != nil {
				return err
			}
		}
	}
}

// one sends a ping. The error says why the next one must not be sent.
func (f *flush) one(ctx context.Context, name string) error {
	w, err := f.queue.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return f.setAside(name, corruptExt, err)
	}
	switch err := f.late(ctx, w.signal(), w.At); {
	case err == nil:
		f.sent++
		if err := f.queue.remove(name); err != nil {
			return fmt.Errorf("client: queue: %w", err)
		}
		f.convict()
		return nil
	case !isUndelivered(err):
		return f.setAside(name, refusedExt, err)
	case mayBeItsFault(err) && len(f.suspects) < maxSuspects:
		f.suspects = append(f.suspects, suspect{name, err})
		return nil
	default:
		return err
	}
}

// convict sets the suspects aside, because the server takes other pings.
func (f *flush) convict() {
	for _, s := range f.suspects {
		f.reports = append(f.reports, f.setAside(s.name, refusedExt, s.err))
	}
	f.suspects = nil
}

// setAside renames a file that is not to be sent again, and reports it.
func (f *flush) setAside(name, ext string, why error) error {
	to, err := f.queue.rename(name, ext)
	if err != nil {
		return fmt.Errorf("client: queue: %w", err)
	}
	what := "cannot be read"
	if ext == refusedExt {
		what = "was refused"
	}
	f.reports = append(f.reports, fmt.Errorf("client: queue: a ping %s and is now in %s: %w", what, to, why))
	return nil
}
