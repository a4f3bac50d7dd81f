package sqlstore

import (
	"context"
	"errors"
	"sync"
	"time"
)

// pollEvery is how often Listen looks for changes where the database does not report them.
const pollEvery = time.Second

// errClosed is the error of Listen on a closed store.
var errClosed = errors.New("sqlstore: the store is closed")

// listeners are the calls of Listen in progress. Close ends them and waits.
type listeners struct {
	mu      sync.Mutex
	cancels map[int]context.CancelFunc
	last    int
	closed  bool
	running sync.WaitGroup
}

// start returns a context for a call of Listen, which calls done at its end.
func (l *listeners) start(ctx context.Context) (_ context.Context, done func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, nil, errClosed
	}
	ctx, cancel := context.WithCancel(ctx)
	if l.cancels == nil {
		l.cancels = make(map[int]context.CancelFunc)
	}
	l.last++
	id := l.last
	l.cancels[id] = cancel
	l.running.Add(1)
	return ctx, func() {
		cancel()
		l.mu.Lock()
		delete(l.cancels, id)
		l.mu.Unlock()
		l.running.Done()
	}, nil
}

// stop ends all calls of Listen.
func (l *listeners) stop() {
	l.mu.Lock()
	l.closed = true
	for _, cancel := range l.cancels {
		cancel()
	}
	l.mu.Unlock()
	l.running.Wait()
}

// Announce passes a message to all that listen to the database; see [store.Notifier]. SQLite needs no messages.
func (s *Store) Announce(ctx context.Context, message string) error {
	if !s.d.postgres {
		return errors.ErrUnsupported
	}
	return s.notify(ctx, message)
}

// Listen calls heard with the messages of others; see [store.Notifier].
//
// On PostgreSQL it holds a connection outside of the pool, for LISTEN. That needs a pool of package postgres, and no
// connection pooler that shares sessions, such as PgBouncer in transaction mode. Otherwise Listen reads one row a second,
// and reports that something has changed without saying what.
//
// On SQLite it reserves one connection of the pool for all writing transactions, and asks it each second whether any
// other connection has committed. SQLite answers from memory that it shares with other processes. The program's own
// transactions over the same pool, and other stores on the file, count as others.
func (s *Store) Listen(ctx context.Context, heard func(message string)) error {
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
	return translate(err)
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
