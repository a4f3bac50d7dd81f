package feed

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/background"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

const (
	// announcePause is the shortest time between two announcements of background work.
	announcePause = 500 * time.Millisecond
	// announceTimeout bounds one announcement.
	announceTimeout = 2 * time.Second
	// announceRetries bounds the retries of an announcement. What was not announced goes with the next change.
	announceRetries = 5
	// listenWait is the first pause after listening has failed. It doubles up to listenWaitMost.
	listenWait, listenWaitMost = 250 * time.Millisecond, 10 * time.Second
)

// announcer tells other monitors on the database what this one has changed, and hears of their changes.
type announcer struct {
	notifier store.Notifier // nil for none
	log      *slog.Logger
	origin   origin
	on       atomic.Bool // announcements are of use

	sending sync.Mutex // held during an announcement

	mu        sync.Mutex
	outgoing  set
	scheduled bool
	sent      time.Time
	failures  int
}

// origin identifies a monitor, so that it ignores its own announcements.
type origin [8]byte

func newAnnouncer(notifier store.Notifier, log *slog.Logger) *announcer {
	a := &announcer{log: log, notifier: notifier}
	a.on.Store(notifier != nil && !errors.Is(notifier.Announce(context.Background(), ""), errors.ErrUnsupported))
	rand.Read(a.origin[:])
	return a
}

// add adds changes to the next announcement, which a goroutine sends soon.
func (a *announcer) add(add func(*set)) {
	if !a.on.Load() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	add(&a.outgoing)
	if !a.outgoing.empty() && !a.scheduled {
		a.schedule(announcePause - time.Since(a.sent))
	}
}

// schedule calls for an announcement after a pause.
func (a *announcer) schedule(pause time.Duration) {
	a.scheduled = true
	time.AfterFunc(pause, func() {
		a.mu.Lock()
		a.scheduled = false
		a.mu.Unlock()
		a.announce(context.Background())
	})
}

// announce sends what waits. If another goroutine is sending, announce waits for it.
func (a *announcer) announce(ctx context.Context) {
	if !a.on.Load() {
		return
	}
	a.sending.Lock()
	defer a.sending.Unlock()
	a.mu.Lock()
	change, none := a.outgoing.Change, a.outgoing.empty()
	a.outgoing, a.sent = set{}, time.Now()
	a.mu.Unlock()
	if none {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), announceTimeout)
	defer cancel()
	err := a.notifier.Announce(ctx, encode(a.origin, change))
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, store.ErrClosed) {
		a.on.Store(false)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil {
		a.failures = 0
		return
	}
	if a.failures++; a.failures == 2 { // the first may be of a process that ends
		a.log.WarnContext(ctx, "changes cannot be announced to other servers", "error", err)
	}
	a.outgoing.addChange(change)
	if !a.scheduled && a.failures%announceRetries != 0 {
		a.schedule(background.Backoff(announcePause, announceRetries*announcePause, a.failures))
	}
}

// listen passes the changes of others to heard until ctx ends.
func (a *announcer) listen(ctx context.Context, heard func(checks.Change)) {
	for failures := 1; ; failures++ {
		err := a.notifier.Listen(ctx, func(message string) {
			failures = 0
			if from, change := decode(message); from != a.origin {
				heard(change)
			}
		})
		if ctx.Err() != nil || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, store.ErrClosed) {
			return
		}
		if failures <= 1 {
			a.log.WarnContext(ctx, "changes of other servers are not seen at the moment", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(background.Backoff(listenWait, listenWaitMost, max(1, failures))):
		}
	}
}
