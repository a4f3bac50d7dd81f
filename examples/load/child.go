package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/julienschmidt/httprouter"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server"
)

// child is a server that is measured, in a process of its own: Rollcall on a database, or the ceiling without one. It
// answers each line on its standard input with a line of JSON, and ends with its input, so that it never outlives the
// program that has started it.
type child struct {
	Settings settings `embed:""`

	monitor monitorStats
	mon     *monitor.Monitor
	fill    func(ctx context.Context, overdue int) error
	profile *os.File
}

// settings are those of a [child].
type settings struct {
	Database string // none is the ceiling
	Checks   int
	Projects int
	Channels int
}

// ready is the first line that a child writes.
type ready struct {
	Address string        // host:port
	Key     string        // an API key of the first project
	Badge   string        // the path of a badge of a check
	Tag     string        // the path of the badge of a project
	Check   string        // the path of a check
	Started time.Duration // from an open database to the first answer
}

// usage is what a child has used so far.
type usage struct {
	CPU     time.Duration
	Written int64 // bytes sent to the disk
	Heap    int64 // bytes in use after a garbage collection, when that was asked for

	Pings, Batches, Largest, Down int64
}

// serve runs a child until its input ends.
func (c *child) serve(ctx context.Context, in io.Reader, out io.Writer) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := ready{Address: listener.Addr().String()}
	web := &http.Server{}
	if c.Settings.Database == "" {
		web.Handler = ceiling()
	} else {
		// As in the binary.
		debug.SetGCPercent(400)
		web.ReadHeaderTimeout, web.ReadTimeout = 10*time.Second, time.Minute
		web.WriteTimeout, web.IdleTimeout = time.Minute, 2*time.Minute
		srv, closeAll, err := c.open(ctx, &r)
		if err != nil {
			return err
		}
		defer closeAll()
		web.Handler = srv.Handler()
	}
	defer web.Close()
	go web.Serve(listener)
	return c.answer(ctx, in, out, r)
}

// open makes Rollcall on the database, which is filled first, and watches the deadlines.
func (c *child) open(ctx context.Context, r *ready) (srv *server.Server, closeAll func() error, err error) {
	db, err := openDatabase(c.Settings.Database)
	if err != nil {
		return nil, nil, err
	}
	store, err := sqlstore.New(db)
	if err != nil {
		return nil, nil, err
	}
	if err := store.Migrate(ctx); err != nil {
		return nil, nil, err
	}
	f, err := fill(ctx, db, store, c.Settings.Checks, c.Settings.Projects, c.Settings.Channels)
	if err != nil {
		return nil, nil, err
	}
	c.fill = f.overdue
	begin := time.Now()
	// What goes wrong is to be seen: an error that is only logged would pass for speed.
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if c.mon, err = monitor.New(store, &monitor.Config{Observer: &c.monitor, Logger: log}); err != nil {
		return nil, nil, err
	}
	signer, err := badges.NewSigner([]byte("a secret of no importance"))
	if err != nil {
		return nil, nil, err
	}
	if srv, err = server.New(c.mon, &server.Config{BaseURL: "http://" + r.Address, Signer: signer, Logger: log}); err != nil {
		return nil, nil, err
	}
	running, stop := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() { _ = c.mon.Run(running) }) // its error is always that of the context
	closeAll = func() error {
		stop()
		watcher.Wait()
		return db.Close()
	}
	r.Key, r.Check = f.key, "/api/v3/checks/"+f.check.ID.String()
	r.Badge = badges.CheckPath(f.check.BadgeKey.String(), badges.SVG, false)
	r.Tag = signer.Path(f.project.BadgeKey, badges.AllTags, badges.SVG, false)
	if err := c.mon.Probe(ctx); err != nil {
		return nil, nil, errors.Join(err, closeAll())
	}
	r.Started = time.Since(begin)
	return srv, closeAll, nil
}

// ceiling is as little as a server can do that takes pings: it looks at nothing and keeps nothing.
func ceiling() http.Handler {
	router := httprouter.New()
	ok := func(w http.ResponseWriter, _ *http.Request, _ httprouter.Params) { _, _ = w.Write([]byte("OK")) }
	router.GET("/ping/:id", ok)
	router.POST("/ping/:id", ok)
	return router
}

// answer answers the commands on the input.
func (c *child) answer(ctx context.Context, in io.Reader, out io.Writer, r ready) error {
	encoder := json.NewEncoder(out)
	if err := encoder.Encode(r); err != nil {
		return err
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		command, arg, _ := strings.Cut(lines.Text(), " ")
		u, err := usage{}, error(nil)
		switch command {
		case "collect":
			runtime.GC()
			u = c.used()
			u.Heap = heapInUse()
		case "profile":
			err = c.toggleProfile(arg)
		case "overdue":
			var n int
			if _, err = fmt.Sscan(arg, &n); err == nil {
				err = c.fill(ctx, n)
			}
		default:
			u = c.used()
		}
		if err != nil {
			return err
		}
		if err := encoder.Encode(u); err != nil {
			return err
		}
	}
	return nil
}

func (c *child) used() usage {
	u := usage{CPU: cpuTime(), Written: bytesWritten(os.Getpid())}
	u.Pings, u.Batches = c.monitor.pings.Load(), c.monitor.batches.Load()
	u.Largest, u.Down = c.monitor.largest.Swap(0), c.monitor.down.Load()
	return u
}

func heapInUse() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}

// toggleProfile writes a CPU profile to a file, or, without a name, ends it.
func (c *child) toggleProfile(name string) (err error) {
	if name == "" {
		pprof.StopCPUProfile()
		return c.profile.Close()
	}
	if c.profile, err = os.Create(name); err != nil {
		return err
	}
	return pprof.StartCPUProfile(c.profile)
}

// monitorStats counts what the monitor tells.
type monitorStats struct{ pings, batches, largest, down atomic.Int64 }

var _ monitor.Observer = (*monitorStats)(nil)

func (s *monitorStats) PingsWritten(kinds map[pings.Kind]int, _ time.Duration) {
	size := int64(0)
	for _, n := range kinds {
		size += int64(n)
	}
	s.pings.Add(size)
	s.batches.Add(1)
	if size > s.largest.Load() { // one batch is written at a time
		s.largest.Store(size)
	}
}

func (s *monitorStats) PingsFailed(int) {}

func (s *monitorStats) PingRefused() {}

func (s *monitorStats) Swept(_ time.Time, lags []time.Duration) { s.down.Add(int64(len(lags))) }

func (s *monitorStats) Attempted(channels.Kind, monitor.Outcome, time.Duration) {}
