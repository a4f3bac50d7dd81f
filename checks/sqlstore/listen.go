package sqlstore

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// pollEvery is how often Listen looks for changes where the database does not report them.
const pollEvery = time.Second

// listeners are the calls of Listen and Announce in progress. Close ends them and waits.
type listeners struct {
	mu      sync.Mutex
	cancels map[int]context.CancelCauseFunc
	last    int
	closed  bool
	running sync.WaitGroup
}

// start returns a context for a call, which calls done at its end.
func (l *listeners) start(ctx context.Context) (_ context.Context, done func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, nil, store.ErrClosed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	if l.cancels == nil {
		l.cancels = make(map[int]context.CancelCauseFunc)
	}
	l.last++
	id := l.last
	l.cancels[id] = cancel
	l.running.Add(1)
	return ctx, func() {
		cancel(nil)
		l.mu.Lock()
		delete(l.cancels, id)
		l.mu.Unlock()
		l.running.Done()
	}, nil
}

// orClosed returns the error of a call, or [store.ErrClosed] if Close ended the call.
func orClosed(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), store.ErrClosed) {
		return store.ErrClosed
	}
	return err
}

// stop ends all calls and refuses further ones.
func (l *listeners) stop() {
	l.mu.Lock()
	l.closed = true
	for _, cancel := range l.cancels {
		cancel(store.ErrClosed)
	}
	l.mu.Unlock()
	l.running.Wait()
}

// Announce passes a message to all that listen to the database; see [store.Notifier].
func (s *database) Announce(ctx context.Context, message string) error {
	if !s.d.postgres {
		return errors.ErrUnsupported
	}
	if message == "" {
		return nil
	}
	ctx, done, err := s.listeners.start(ctx)
	if err != nil {
		return err
	}
	defer done()
	return orClosed(ctx, s.notify(ctx, message))
}

// Listen calls heard with the messages of others; see [store.Notifier].
//
// On PostgreSQL it holds a connection outside of the pool, for LISTEN. That needs a pool of package postgres, and no
// connection pooler that shares sessions, such as PgBouncer in transaction mode. Otherwise Listen reads one row a second,
// and reports that something has changed without saying what.
//
// On SQLite it asks the connection that writes, each second, whether any other connection has committed. SQLite answers from memory that it shares with other processes. The program's own
// transactions over the same pool, and other stores on the file, count as others.
func (s *database) Listen(ctx context.Context, heard func(message string)) error {
	ctx, done, err := s.listeners.start(ctx)
	if err != nil {
		return err
	}
	defer done()
	if s.d.postgres {
		err = s.listenPostgres(ctx, heard)
	} else {
		err = s.watchSQLite(ctx, heard)
	}
	return orClosed(ctx, s.translate(err))
}

// poll calls look each second until it fails or ctx ends.
func poll(ctx context.Context, look func() error) error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
			if err := look(); err != nil {
				return err
			}
		}
	}
}
