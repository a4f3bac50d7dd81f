package sqlstore

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// Listener is a driver of database/sql that can receive PostgreSQL's notifications. A pool whose Driver method returns one
// lets a store listen without polling. The pools of package postgres below this one do.
type Listener interface {
	// Listen opens a separate connection and listens to a channel, whose name needs no quotes. It calls ready once it
	// listens and heard with the payload of each notification, both from one goroutine, until ctx ends or the connection
	// is lost. It returns only with an error.
	Listen(ctx context.Context, channel string, ready func(), heard func(payload string)) error
}

const (
	// announcedRow is the row of rollcall_settings that counts announcements. It exists only if a store has ever polled.
	announcedRow = "announced"
	// probePrefix begins the payload of a probe. No message of a monitor begins like that.
	probePrefix = "probe "
	// probeTime is how long a notification may take before Listen polls instead.
	probeTime = 5 * time.Second
)

// channelName is an expression for the name of the channel. The number of a table identifies the schema and its tables
// within the database, in which notifications stay.
const channelName = "'rollcall_' || to_regclass('rollcall_states')::oid"

// errNoNotifications means that notifications do not arrive: a connection pooler is in between.
var errNoNotifications = errors.New("sqlstore: notifications of PostgreSQL do not arrive")

// announced counts the announcements of this store for the one that polls, so that it can tell those of others.
type announced struct {
	mu  sync.Mutex // held while the row is read or written
	own int64
}

// notify sends a notification. NOTIFY takes a lock at its commit, so the commit does not wait for the disk: what a crash
// of the server loses, nobody hears anyway.
func (s *database) notify(ctx context.Context, payload string) error {
	s.announced.mu.Lock()
	defer s.announced.mu.Unlock()
	var counted int64
	var ignored any
	err := s.db.DB.QueryRowContext(ctx, `WITH counted AS (
			UPDATE rollcall_settings SET value = (value::bigint + 1)::text WHERE name = '`+announcedRow+`' RETURNING 1)
		SELECT (SELECT count(*) FROM counted), set_config('synchronous_commit', 'off', true), pg_notify(`+channelName+`, $1)::text`,
		payload).Scan(&counted, &ignored, &ignored)
	s.announced.own += counted
	return s.translate(err)
}

// listenPostgres listens by LISTEN, or polls if that is not possible.
func (s *database) listenPostgres(ctx context.Context, heard func(message string)) error {
	if listener, ok := s.db.DB.Driver().(Listener); ok {
		if err := s.receive(ctx, listener, heard); !errors.Is(err, errNoNotifications) {
			return err
		}
	}
	return s.pollPostgres(ctx, heard)
}

// receive listens to notifications. It sends one itself first: with a connection pooler, LISTEN succeeds and nothing ever
// arrives.
func (s *database) receive(ctx context.Context, listener Listener, heard func(message string)) error {
	var channel string
	if err := s.db.DB.QueryRowContext(ctx, "SELECT "+channelName).Scan(&channel); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	probe := probePrefix + uuid.NewString()
	var probing sync.WaitGroup
	defer probing.Wait()
	timer := time.AfterFunc(time.Hour, func() { cancel(errNoNotifications) })
	defer timer.Stop()
	ready := func() {
		timer.Reset(probeTime)
		probing.Go(func() {
			if err := s.notify(ctx, probe); err != nil {
				cancel(err)
			}
		})
	}
	err := listener.Listen(ctx, channel, ready, func(payload string) {
		switch {
		case payload == probe:
			timer.Stop()
			heard("")
		case !strings.HasPrefix(payload, probePrefix):
			heard(payload)
		}
	})
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// pollPostgres calls heard when other stores have announced something.
func (s *database) pollPostgres(ctx context.Context, heard func(message string)) error {
	if _, err := s.Setting(ctx, time.Time{}, store.Setting{Name: announcedRow, Value: "0"}); err != nil {
		return err
	}
	known := int64(-1)
	read := func() (others int64, err error) {
		s.announced.mu.Lock()
		defer s.announced.mu.Unlock()
		err = s.db.DB.QueryRowContext(ctx, "SELECT value::bigint FROM rollcall_settings WHERE name = '"+announcedRow+"'").Scan(&others)
		return others - s.announced.own, err
	}
	look := func() error {
		others, err := read()
		if err == nil && others != known {
			known = others
			heard("")
		}
		return err
	}
	if err := look(); err != nil {
		return err
	}
	return poll(ctx, look)
}
