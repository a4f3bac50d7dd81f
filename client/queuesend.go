package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/checks/job"
	"github.com/rollcall-dev/rollcall/pings"
)

// maxSuspects bounds the pings that one flush passes over.
const maxSuspects = 3

// errNoTime ends a flush that has used up the time of a ping.
var errNoTime = errors.New("older pings took all the time")

// Flush sends the pings that wait in Config.Queue. The error is nil if none waits any more. It is an [ErrQueued] with the
// cause if some still do, and it names the files that were set aside. Only ctx bounds how long all of them take; each
// ping takes at most Config.Timeout.
func (p *Pinger) Flush(ctx context.Context) error {
	if p == nil || p.sender.queue == nil {
		return nil
	}
	s := &p.sender
	unlock, err := s.queue.lock(ctx, time.Time{})
	if err != nil {
		return fmt.Errorf("client: queue: %w", err)
	}
	defer unlock()
	f := flush{sender: s}
	err = f.run(ctx, time.Time{})
	if err == nil && len(f.suspects) > 0 {
		err = f.suspects[0].err
	}
	if isUndelivered(err) {
		err = fmt.Errorf("%w; %w", err, ErrQueued)
	}
	return errors.Join(append(f.reports, err)...)
}

// pingInOrder sends the pings that wait, and then a new one, all within the time of one ping. It keeps the new one if that
// does not reach the server.
func (s *sender) pingInOrder(ctx context.Context, signal pings.Signal) error {
	at := time.Now()
	end := at.Add(s.caller.timeout)
	unlock, err := s.queue.lock(ctx, end)
	if err != nil && !errors.Is(err, errLocked) {
		return errors.Join(fmt.Errorf("client: queue: %w", err), s.send(ctx, signal, time.Time{}, end))
	}
	f := flush{sender: s}
	if err == nil {
		defer unlock()
		if err = f.run(ctx, end); err == nil {
			if err = s.send(ctx, signal, time.Time{}, end); err == nil {
				f.convict()
			}
		} else if !isUndelivered(err) { // the queue does not work
			f.reports = append(f.reports, err)
			err = s.send(ctx, signal, time.Time{}, end)
		}
	}
	if isUndelivered(err) {
		if kept := s.queue.put(newWaiting(signal, at)); kept != nil {
			err = fmt.Errorf("%w; it cannot be kept: %w", err, kept)
		} else {
			err = fmt.Errorf("%w; %w", err, ErrQueued)
		}
		if unlock != nil {
			f.reports = append(f.reports, s.queue.trim())
		}
	}
	return errors.Join(append(f.reports, err)...)
}

// isUndelivered reports whether a ping may be delivered later.
func isUndelivered(err error) bool {
	if errors.Is(err, ErrNotRollcall) || errors.Is(err, ErrRateLimited) || errors.Is(err, errLocked) || errors.Is(err, errNoTime) {
		return true
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.StatusCode >= http.StatusInternalServerError
	}
	_, ok := errors.AsType[*connectionError](err)
	return ok
}

// mayBeItsFault reports whether an undelivered ping may be the reason itself, such as one whose body a proxy refuses.
func mayBeItsFault(err error) bool {
	if errors.Is(err, ErrNotRollcall) {
		return true
	}
	e, ok := errors.AsType[*Error](err)
	return ok && e.StatusCode >= http.StatusInternalServerError && !mayRetry(err, true)
}

// flush sends the pings that wait. Its caller holds the lock.
type flush struct {
	*sender
	// suspects are pings that were passed over. If a later ping is delivered, they are at fault themselves.
	suspects []suspect
	reports  []error
}

type suspect struct {
	name string
	err  error
}

// run sends the pings until none waits but the suspects. The error says why it stopped before.
func (f *flush) run(ctx context.Context, end time.Time) error {
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
			if !end.IsZero() && time.Until(end) <= 0 {
				return fmt.Errorf("client: queue: %w", errNoTime)
			}
			if err := f.one(ctx, name, end); err != nil {
				return err
			}
		}
	}
}

// one sends a ping. The error says why the next one must not be sent.
func (f *flush) one(ctx context.Context, name string, end time.Time) error {
	w, err := f.queue.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return f.setAside(name, corruptExt, err)
	}
	tail := job.NewTail(int(f.limit.Load())) // the server may have stated another limit since
	_, _ = tail.Write(w.Body)
	w.Body = tail.Bytes()
	switch err := f.send(ctx, w.signal(), w.At, end); {
	case err == nil:
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
