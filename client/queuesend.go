package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"syscall"
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
	return p.sender.flush(ctx, false)
}

// pingByQueue tries to send a ping, unless others wait. It keeps the ping if that does not reach the server.
func (s *sender) pingByQueue(ctx context.Context, signal pings.Signal) error {
	at := time.Now()
	if waiting, _ := s.queue.list(); len(waiting) > 0 {
		return s.keep(signal, at, errOlder)
	}
	unlock, broken := s.queue.lock(ctx, at.Add(s.caller.timeout))
	switch {
	case errors.Is(broken, errLocked):
		return s.keep(signal, at, broken)
	case broken != nil:
		broken = fmt.Errorf("client: queue: %w", broken)
	default:
		defer unlock()
	}
	if waiting, _ := s.queue.list(); len(waiting) > 0 { // from another process
		return s.keep(signal, at, errOlder)
	}
	ctx, cancel := context.WithDeadline(ctx, at.Add(s.caller.timeout))
	defer cancel()
	err := s.once(ctx, signal, time.Time{})
	if isUndelivered(err) {
		failed := err // the background reads it
		s.failed.Store(&failed)
		err = s.keep(signal, at, err)
	}
	if broken != nil {
		err = errors.Join(broken, err)
	}
	return err
}

// keep puts a ping into the queue, which the background sends, and returns why. If the disk is full, the ping waits in memory.
func (s *sender) keep(signal pings.Signal, at time.Time, why error) error {
	if !strings.HasPrefix(why.Error(), "client: ") {
		why = fmt.Errorf("client: %s ping: %w", signal.Kind, why)
	}
	err := s.queue.put(newWaiting(signal, at))
	goesOn := s.background.kick(s.work)
	switch {
	case err == nil:
		return fmt.Errorf("%w; %w", why, ErrQueued)
	case !goesOn: // nobody sends it
		s.queue.clear()
		return fmt.Errorf("%w; it cannot be kept: %w", why, err)
	}
	return fmt.Errorf("%w; it cannot be kept in the queue: %w; %w", why, err, ErrPending)
}

// leave returns what Close says about the pings that still wait.
func (s *sender) leave(ctx context.Context, ended bool) error {
	lost := s.queue.clear()
	files, _ := s.queue.list()
	var err error
	if !ended {
		err = fmt.Errorf("client: close: %w", ctx.Err())
		if len(files) > 0 || lost == 0 {
			err = fmt.Errorf("%w; %w", err, ErrQueued)
		}
	}
	if lost > 0 {
		err = errors.Join(err, fmt.Errorf("client: close: pings that the queue could not keep and that were not sent: %d", lost))
	}
	return err
}

// flush sends the pings that wait until none does, or it has failed as often in a row as PingerConfig.Tries says. The background
// does not give up while some wait in memory alone, until Close.
func (s *sender) flush(ctx context.Context, background bool) error {
	f := flush{sender: s}
	mustGoOn := func() bool { return background && len(s.queue.inMemory()) > 0 && !s.background.ending() }
	pauses, wait, tries := s.begin()
	if wait > s.caller.maxWait && !mustGoOn() {
		return nil // the method of the ping has returned why
	}
	var err error
	for wait = min(wait, s.caller.maxWait); wait == 0 || s.rest(ctx, wait, background) == nil; {
		sent := f.sent
		if err = f.locked(ctx); err == nil {
			break
		}
		if f.sent > sent {
			tries, pauses = 0, pauser{}
		}
		tries++
		wait = pauses.after(err)
		givesUp := tries >= s.caller.tries || wait > s.caller.maxWait || !mayRetry(err, true) && !errors.Is(err, errLocked)
		if givesUp && !mustGoOn() {
			break
		}
		wait = min(wait, s.caller.maxWait)
	}
	if ended := ctx.Err(); err == nil && ended != nil {
		err = fmt.Errorf("client: queue: %w", ended)
	}
	if isUndelivered(err) {
		err = fmt.Errorf("%w; %w", err, ErrQueued)
	}
	return errors.Join(append(f.reports, err)...)
}

// rest waits before another try. Close ends the pause of the background.
func (s *sender) rest(ctx context.Context, d time.Duration, background bool) error {
	if background {
		return s.background.pause(ctx, d)
	}
	return sleep(ctx, d)
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
	stuck    []string // files that could be neither deleted nor renamed: they keep no other ping from being sent
}

type suspect struct {
	name string
	err  error
}

// locked trims the queue and sends the pings in it. The error says why some still wait.
func (f *flush) locked(ctx context.Context) error {
	f.suspects = nil
	unlock, broken := f.queue.lock(ctx, time.Now().Add(f.caller.timeout))
	if errors.Is(broken, errLocked) {
		return fmt.Errorf("client: queue: %w", broken)
	}
	if broken != nil { // those in memory do not need its files
		return errors.Join(fmt.Errorf("client: queue: %w", broken), f.send(ctx, f.queue.inMemory()))
	}
	defer unlock()
	if err := f.queue.trim(); err != nil {
		f.reports = append(f.reports, err)
	}
	err := f.run(ctx)
	if err == nil && len(f.suspects) > 0 {
		err = f.suspects[0].err
	}
	if err != nil {
		f.queue.spill()
	}
	return err
}

// run sends the pings until none waits but the suspects. The error says why it stopped before.
func (f *flush) run(ctx context.Context) error {
	for {
		names, err := f.queue.list()
		names = slices.DeleteFunc(names, func(name string) bool {
			return slices.Contains(f.stuck, name) || slices.ContainsFunc(f.suspects, func(s suspect) bool { return s.name == name })
		})
		if len(names) == 0 && err != nil {
			return fmt.Errorf("client: queue: %w", err)
		}
		if len(names) == 0 {
			return nil
		}
		if err := f.send(ctx, names); err != nil {
			return err
		}
	}
}

// send sends pings in their order. The error says why it stopped.
func (f *flush) send(ctx context.Context, names []string) error {
	for _, name := range names {
		if err := f.one(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// one sends a ping. The error says why the next one must not be sent.
func (f *flush) one(ctx context.Context, name string) error {
	w, err := f.queue.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) { // too many open files
		return fmt.Errorf("client: queue: %w", err)
	}
	if err != nil {
		f.setAside(name, corruptExt, err)
		return nil
	}
	switch err := f.late(ctx, w.signal(), w.At); {
	case err == nil:
		f.sent++
		if err := f.queue.remove(name); err != nil {
			f.stick(name, err)
		}
		f.convict()
		return nil
	case !isUndelivered(err):
		f.setAside(name, refusedExt, err)
		return nil
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
		f.setAside(s.name, refusedExt, s.err)
	}
	f.suspects = nil
}

// setAside renames a file that is not to be sent again, and reports it.
func (f *flush) setAside(name, ext string, why error) {
	to, err := f.queue.rename(name, ext)
	if err != nil {
		f.stick(name, err)
		return
	}
	what := "cannot be read"
	if ext == refusedExt {
		what = "was refused"
	}
	if to != "" {
		what += " and is now in " + to
	}
	f.reports = append(f.reports, fmt.Errorf("client: queue: a ping %s: %w", what, why))
}

// stick passes over a file that cannot be changed, and reports it.
func (f *flush) stick(name string, err error) {
	f.stuck = append(f.stuck, name)
	f.reports = append(f.reports, fmt.Errorf("client: queue: %w", err))
}
