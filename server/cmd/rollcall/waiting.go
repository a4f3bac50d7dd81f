package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/spool"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/installation"
)

// openEvery is how often a server with a spool tries to open an unavailable database.
const openEvery = 500 * time.Millisecond

// front is the HTTP server, whose handler can change while it serves.
type front struct {
	server  *http.Server
	handler atomic.Pointer[http.Handler]
	failed  chan error // receives the error of Serve
	// announced is set when the address was printed.
	announced bool
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	(*f.handler.Load()).ServeHTTP(w, r)
}

// show lets the HTTP server answer with a handler, and starts the server on the first call.
func (s *service) show(handler http.Handler) error {
	if s.front != nil {
		s.front.handler.Store(&handler)
		return nil
	}
	setMemory()
	f := &front{failed: make(chan error, 2)}
	f.handler.Store(&handler)
	f.server = newWeb(f, component(s.log, "http"))
	listener, err := s.limitConns(f.server, s.webListener)
	if err != nil {
		return err
	}
	s.front = f
	go func() { f.failed <- f.server.Serve(listener) }()
	return nil
}

// openSpool opens the spool, if there is one.
func (s *service) openSpool() (err error) {
	if s.Spool != "" {
		s.spool, err = spool.Open(s.Spool, &spool.Config{MaxBytes: s.SpoolSize})
	}
	return err
}

// awaitDatabase returns a function that opens the database and begins to use it. With a spool, that waits while the database is
// unavailable, and pings go to the spool meanwhile. It also waits where a newer version has migrated the database and this one
// cannot record pings in it: without a spool, they get a 503.
func (s *service) awaitDatabase(d installation.Database, stdout io.Writer, use func(*sqlstore.Store) error) func(context.Context) (*sqlstore.Store, error) {
	open := func(ctx context.Context) (*sqlstore.Store, error) {
		db, err := d.Open(sqlstore.WithLogger(ctx, s.log))
		if err != nil {
			return nil, err
		}
		if err := use(db); err != nil {
			return nil, errors.Join(err, db.Close())
		}
		return db, nil
	}
	return func(ctx context.Context) (*sqlstore.Store, error) {
		db, err := open(ctx)
		newer := errors.Is(err, sqlstore.ErrNewerSchema)
		if !errors.Is(err, checks.ErrUnavailable) || s.spool == nil && !newer {
			return db, err
		}
		meanwhile := "pings go to the spool"
		if s.spool == nil {
			meanwhile = "pings get a 503"
		}
		component(s.log, "serve").Error("the database is unavailable: "+meanwhile+", and nothing else works", "error", d.Explain(err))
		away := new(absent)
		away.why.Store(&err)
		if err := s.showWaiting(away); err != nil {
			return nil, err
		}
		s.announceWeb(stdout)
		s.systemd.ready(s.status()+"; the database is unavailable, "+meanwhile, s.front.problem)
		for errors.Is(err, checks.ErrUnavailable) {
			select {
			case <-ctx.Done():
				s.systemd.stopping("finishing requests", s.ShutdownTimeout)
				return nil, errors.Join(ctx.Err(), s.shutdown(s.front.server))
			case err := <-s.front.failed:
				return nil, err
			case <-time.After(openEvery):
			}
			db, err = open(ctx)
			away.why.Store(&err)
		}
		return db, err
	}
}

// showWaiting answers requests until the database is there: pings go to the spool, if there is one, and all others fail.
func (s *service) showWaiting(away *absent) error {
	db, err := sqlstore.New(bun.NewDB(sql.OpenDB(away), sqlitedialect.New()))
	if err != nil {
		return err
	}
	config := &monitor.Config{Logger: s.log, Observer: s.observer()}
	if s.spool != nil {
		config.Spool = s.spool
	}
	mon, err := monitor.New(db, config)
	if err != nil {
		return err
	}
	settings, err := s.serverConfig()
	if err != nil {
		return err
	}
	web, err := server.New(mon, settings)
	if err != nil {
		return console.Usage(err)
	}
	return s.show(web)
}

// absent is a database that could not be opened.
type absent struct{ why atomic.Pointer[error] }

func (a *absent) Connect(context.Context) (driver.Conn, error) {
	return nil, errors.Join(checks.ErrUnavailable, *a.why.Load())
}

func (*absent) Driver() driver.Driver { return nil }
