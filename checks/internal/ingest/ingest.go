// Package ingest is the way of a ping: from a signal to its entry in the log. A ping waits in a queue, is taken in a batch,
// applied to its check and committed.
//
//	submit   queues a ping and waits
//	take     cuts a batch
//	commit   records the batch
//
// The innermost commit is a transaction. New wraps it once: alone tries each ping by itself after a failure, spool.around
// keeps pings in a file while the database is unavailable. If the answer to a commit is lost, the store locks the rows and learns from
// their revisions what happened.
//
// # With a spool
//
// around numbers the pings of a batch, and the transaction saves the last number (rollcall_spools.recorded). If the database is
// unavailable, the batch goes to the spool with its numbers; while the spool is active, all pings go there. replay moves them to
// rollcall_spooled and skips those whose number the database has, so a commit whose answer was lost is not repeated. There the pings of
// all spools wait until no server has older ones, and merge records them in the order of their times. Package hold is the rule: Merge
// says how far to merge, and Until up to when deadlines may be judged, which whatever judges one asks.
//
// # After a gap
//
// For some seconds after a time in which the process did not run, or by which its clock was set, Settled is its beginning, so that
// neither this server nor others judge deadlines from then on. The queue marks the pings that it takes meanwhile
// ([pings.Signal], WaitedSince), because Check.Ping would judge the deadline of its check too.
//
// # With several nodes
//
// The queue passes pings on to queues of nodes. With a spool, byNode splits a batch instead,
// because the spool must commit pings in the order of their numbers.
package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/background"
	"github.com/rollcall-dev/rollcall/checks/internal/hold"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/pings"
)

// Config configures an [Ingest]. All fields but Sharder and Spool are required.
type Config struct {
	Store   store.Ingest
	Sharder store.Sharder // nil if the store cannot have shards
	Clock   func() time.Time
	Log     *slog.Logger
	Events  Events
	// MaxStored is the size of the largest body that stays in the database. Larger ones move to object storage.
	MaxStored int64
	// LookUp returns the check with a slug. With create, it creates a missing one; limited applies the limit of the rate.
	LookUp func(ctx context.Context, pingKey, slug string, create, limited bool) (id uuid.UUID, created bool, err error)
	// Refuses reports whether an error of LookUp is an answer about the slug. Any other is an outage.
	Refuses func(err error) bool

	MaxBatch int           // most pings of one transaction
	MaxQueue int           // most pings that wait
	Timeout  time.Duration // of the transaction of one batch

	Spool store.Spool // nil for none
	Run   uuid.UUID   // identifies this process among those on the database
	Hold  hold.Rule
	Gaps  *hold.Gaps // times in which this process did not run
}

// Ingest takes pings. It is safe for concurrent use.
type Ingest struct {
	now     func() time.Time
	gaps    *hold.Gaps
	queue   *queue
	timeout time.Duration // of a transaction
	lookUp  func(context.Context, slugTarget) (uuid.UUID, bool, error)
	spool   *spool  // nil without a spool
	replay  *replay // nil without a spool
}

// New returns an Ingest that takes pings at once. The error is that of a spool that cannot be read.
func New(c Config) (*Ingest, error) {
	in := &Ingest{now: func() time.Time { return c.Clock().UTC().Truncate(time.Microsecond) }, gaps: c.Gaps}
	queueOf := func() *queue {
		return &queue{maxBatch: c.MaxBatch, maxQueue: c.MaxQueue, now: in.now, stamp: c.Gaps.Now, clock: c.Clock, events: c.Events}
	}
	in.queue = queueOf()
	lookUp := c.LookUp
	c.LookUp = func(ctx context.Context, pingKey, slug string, create, limited bool) (uuid.UUID, bool, error) {
		id, created, err := lookUp(ctx, pingKey, slug, create, limited)
		if err != nil && !c.Refuses(err) {
			err = outage(ctx, err)
			in.queue.unknown(ctx, err)
		}
		return id, created, err
	}
	in.lookUp = func(ctx context.Context, t slugTarget) (uuid.UUID, bool, error) {
		return c.LookUp(ctx, t.PingKey, t.Slug, t.Create, true)
	}
	t := &transaction{
		store: c.Store, timeout: c.Timeout, maxStored: c.MaxStored, events: c.Events, ended: in.queue.progressed,
		judge:  func(context.Context, store.IngestTx) hold.Judge { return func(_, _ time.Time) error { return nil } },
		finish: func(context.Context, store.IngestTx, []*queued) error { return nil },
	}
	in.queue.commit = alone(t.commit)
	if c.Spool != nil {
		if err := in.addSpool(c, t); err != nil {
			return nil, err
		}
	}
	switch {
	case c.Sharder == nil:
	case in.spool != nil:
		in.queue.commit = byNode(c.Sharder, t.timeout, in.spool, in.queue.commit)
	default:
		open := func(node int) *queue {
			q, own := queueOf(), *t
			q.skip = math.MaxInt // the queue before it waits for callers
			own.store = onNode{t.store, node}
			own.ended = func(recorded bool, err error) {
				q.progressed(recorded, err)
				in.queue.progressed(recorded, err)
			}
			q.commit = alone(own.commit)
			return q
		}
		in.queue.nodes = &nodeQueues{sharder: c.Sharder, timeout: t.timeout, open: open, queues: make(map[int]*queue), skip: make(map[int]int)}
	}
	in.timeout = t.timeout
	return in, nil
}

// addSpool wraps the commit and the lookup of checks, so that pings are taken without the database.
func (in *Ingest) addSpool(c Config, t *transaction) (err error) {
	if in.spool, err = newSpool(c, in.now); err != nil {
		return err
	}
	t.timeout = min(c.Timeout, spoolAfter)
	t.judge = func(ctx context.Context, tx store.IngestTx) hold.Judge { return c.Hold.Judge(ctx, tx, in.now) }
	t.finish = func(ctx context.Context, tx store.IngestTx, batch []*queued) error {
		return tx.SetRecorded(ctx, c.Run, batch[len(batch)-1].number, in.now())
	}
	in.queue.commit = in.spool.around(in.queue.commit)
	in.lookUp = in.spool.lookUp(in.lookUp)
	in.replay = &replay{
		merge: &merge{
			transaction: t, spool: in.spool, hold: c.Hold, timeout: c.Timeout, limit: replayFactor * c.MaxBatch, size: replayFactor * c.MaxBatch,
			stuck: make(map[uuid.UUID]*stuck), now: in.now, log: c.Log,
		},
		received: in.Received,
		lookUp: func(ctx context.Context, t slugTarget) (uuid.UUID, error) {
			id, _, err := c.LookUp(ctx, t.PingKey, t.Slug, t.Create, false)
			return id, err
		},
	}
	return nil
}

// Ping records a signal for a check and returns the log entry; see monitor.Monitor.Ping.
func (in *Ingest) Ping(ctx context.Context, id uuid.UUID, signal pings.Signal) (pings.Ping, error) {
	signal, err := in.normalized(signal)
	if err != nil {
		return pings.Ping{}, err
	}
	return in.queue.submit(ctx, &queued{check: id, signal: signal})
}

// Submission is a ping that [Ingest.Submit] has queued. The zero value is none.
type Submission struct{ ping *queued }

// Done is closed once the ping is recorded or has failed.
func (s Submission) Done() <-chan struct{} { return s.ping.done }

// Err is why the ping has failed, after Done.
func (s Submission) Err() error { return s.ping.err }

// At is when the ping was received.
func (s Submission) At() time.Time { return s.ping.at }

// Submit queues a signal for a check and does not wait. A signal that was received before, at an instant, and could not be
// recorded then, is recorded as of that time; for any other, at is the zero time.
func (in *Ingest) Submit(id uuid.UUID, signal pings.Signal, at time.Time) (Submission, error) {
	signal, err := in.normalized(signal)
	if err != nil {
		return Submission{}, err
	}
	p := &queued{check: id, signal: signal, at: at, again: !at.IsZero(), done: make(chan struct{})}
	if _, err := in.queue.add(p); err != nil {
		in.queue.events.PingRefused()
		return Submission{}, err
	}
	return Submission{p}, nil
}

// PingSlug records a signal for the check with a slug; see monitor.Monitor.PingSlug.
func (in *Ingest) PingSlug(ctx context.Context, pingKey, slug string, create bool, signal pings.Signal) (ping pings.Ping, created bool, err error) {
	if signal, err = in.normalized(signal); err != nil {
		return pings.Ping{}, false, err
	}
	p := &queued{signal: signal}
	target := slugTarget{pingKey, slug, create}
	p.check, created, err = in.lookUp(ctx, target)
	if errors.Is(err, hold.ErrHeld) {
		p.slug, err = target, nil
	}
	if err != nil {
		return pings.Ping{}, false, err
	}
	ping, err = in.queue.submit(ctx, p)
	return ping, created, err
}

// normalized returns a signal as it is recorded, or a *[checks.FieldError] if it cannot be.
func (in *Ingest) normalized(signal pings.Signal) (pings.Signal, error) {
	refuse := func(field, format string, args ...any) (pings.Signal, error) {
		reason := fmt.Errorf(format, args...)
		return signal, &checks.FieldError{Field: field, Reason: reason.Error(), Err: errors.Unwrap(reason)}
	}
	signal, err := signal.Normalized()
	switch {
	case err != nil:
		return refuse("signal", "is not valid: %w", err)
	case len(signal.Body) > MaxBody:
		return refuse("body", "is too large: %d bytes, the maximum is %d", len(signal.Body), MaxBody)
	case signal.At.IsZero():
		return signal, nil
	}
	switch age := in.now().Sub(signal.At); {
	case age > pings.MaxQueued:
		return refuse("at", "is too old: the maximum is %v", pings.MaxQueued)
	case age < -pings.MaxAhead:
		return refuse("at", "is in the future: %s", signal.At.Format(time.RFC3339))
	}
	return signal, nil
}

// Received returns the time, and the instant up to which all received pings are in the database: now, or the time of the
// oldest ping that waits or is in the spool, or the beginning of a gap after which pings may still wait in sockets.
func (in *Ingest) Received() (now, upTo time.Time) {
	now, upTo = in.queue.oldest()
	return now, in.Settled(upTo)
}

// Settled returns the earliest of an instant, the time of the oldest ping in the spool, and the beginning of a gap after which
// pings may still wait in sockets.
func (in *Ingest) Settled(upTo time.Time) time.Time {
	upTo = in.gaps.Settled(upTo)
	if in.spool == nil {
		return upTo
	}
	return in.spool.settled(upTo)
}

// Queued returns the number of pings that wait for their commit.
func (in *Ingest) Queued() int { return in.queue.length() }

// Wait waits until the pings that are queued now are recorded, or have failed, and returns those that still wait when ctx ends.
func (in *Ingest) Wait(ctx context.Context) (left []Submission) {
	waiting := in.queue.waiting()
	for _, p := range waiting {
		select {
		case <-p.done:
		case <-ctx.Done():
		}
	}
	for _, p := range waiting {
		select {
		case <-p.done:
		default:
			left = append(left, Submission{p})
		}
	}
	return left
}

// Silence returns how long the current batch has made no progress, or 0 if no batch is being committed, and the timeout of a
// batch.
func (in *Ingest) Silence() (silence, timeout time.Duration) { return in.queue.silence(), in.timeout }

// Failing describes the failures to record pings in the database since the last success.
func (in *Ingest) Failing() Failure {
	in.queue.mu.Lock()
	defer in.queue.mu.Unlock()
	return in.queue.failing
}

// Unspooled describes the failures to write to the spool since the last success.
func (in *Ingest) Unspooled() Failure {
	if in.spool == nil {
		return Failure{}
	}
	in.spool.mu.Lock()
	defer in.spool.mu.Unlock()
	return in.spool.failing
}

// SpoolStats describes the pings that wait in the spool, from memory. ok is false without a spool.
func (in *Ingest) SpoolStats() (stats SpoolStats, ok bool) {
	if in.spool == nil {
		return SpoolStats{}, false
	}
	return in.spool.stats(), true
}

// Replay records the pings in the spool, and returns how many it has taken out.
func (in *Ingest) Replay(ctx context.Context) (taken int, err error) {
	if in.replay == nil {
		return 0, nil
	}
	return in.replay.once(ctx)
}

// Run replays the spool until ctx ends, and then once more, until end.Due ends. Without a spool it returns at once.
func (in *Ingest) Run(ctx context.Context, end background.End) {
	if in.replay != nil {
		in.replay.run(ctx, end)
	}
}
