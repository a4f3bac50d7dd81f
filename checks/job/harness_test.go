package job_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/job"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// traceKey is the key of a trace in a context.
type traceKey struct{}

func trace(ctx context.Context) string {
	id, _ := ctx.Value(traceKey{}).(string)
	return id
}

// place is a project that jobs report to: on a server, or on a monitor in the same process.
type place struct {
	mon      *monitor.Monitor
	clock    *dbtest.Clock
	project  uuid.UUID
	limit    int // bytes of a body that are kept
	registry job.Registry
	reporter func(t *testing.T, id uuid.UUID) job.Reporter
	// pingErr returns what OnPingError has received since the last call.
	pingErr func() error
	config  job.Config
}

// each runs a test with reporters on a server and on an embedded monitor.
func each(t *testing.T, test func(t *testing.T, p place)) {
	t.Helper()
	t.Run("server", func(t *testing.T) {
		p, url, key := open(t)
		config := &client.PingerConfig{Job: p.config}
		c, err := client.New(url, key, &client.Config{Pinger: *config})
		must(t, err)
		p.limit, p.registry = bodyLimit, c
		p.reporter = func(t *testing.T, id uuid.UUID) job.Reporter {
			r, err := client.NewPinger(url+"/ping/"+id.String(), config)
			must(t, err)
			return r
		}
		test(t, p)
	})
	t.Run("embedded", func(t *testing.T) {
		p, _, _ := open(t)
		p.limit, p.registry = monitor.MaxBody, p.mon.Project(p.project)
		p.reporter = func(_ *testing.T, id uuid.UUID) job.Reporter { return p.mon.Job(id) }
		test(t, p)
	})
}

// bodyLimit is the number of bytes of a body that the server keeps.
const bodyLimit = 8000

// open starts a monitor and a server on it.
func open(t *testing.T) (p place, url, key string) {
	t.Helper()
	p.clock = dbtest.NewClock(time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC))
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	var mu sync.Mutex
	var errs []error
	p.pingErr = func() error {
		mu.Lock()
		defer mu.Unlock()
		err := errors.Join(errs...)
		errs = nil
		return err
	}
	p.config = job.Config{TraceID: trace, OnPingError: func(_ context.Context, err error) {
		mu.Lock()
		defer mu.Unlock()
		errs = append(errs, err)
	}}
	var err error
	p.mon, err = monitor.New(dbtest.SQLite(t).Open(t), &monitor.Config{Now: p.clock.Now, Logger: quiet, Job: p.config, Channels: standard.Kinds(), DeliveredElsewhere: true})
	must(t, err)
	project, keys, err := p.mon.Projects().Create(t.Context(), checks.ProjectSpec{Name: "jobs"})
	must(t, err)
	p.project = project.ID
	signer, err := badges.NewSigner([]byte("0123456789abcdef0123456789abcdef"))
	must(t, err)
	web := httptest.NewUnstartedServer(nil)
	url = "http://" + web.Listener.Addr().String()
	srv, err := server.New(p.mon, &server.Config{BaseURL: url, Signer: signer, Logger: quiet, PingBodyLimit: bodyLimit})
	must(t, err)
	web.Config.Handler = srv
	web.Start()
	t.Cleanup(web.Close)
	return p, url, keys.ReadWrite
}

// create creates a check.
func (p place) create(t *testing.T) checks.Check {
	t.Helper()
	c, err := p.mon.Project(p.project).Create(t.Context(), checks.Spec{})
	must(t, err)
	return *c.Check
}

// log returns the pings of a check, oldest first, and their bodies.
func (p place) log(t *testing.T, id uuid.UUID) (list []pings.Ping, bodies []string) {
	t.Helper()
	list, err := checks.Collect(p.mon.Project(p.project).Pings(t.Context(), id, checks.PingQuery{}))
	must(t, err)
	slices.Reverse(list)
	for _, ping := range list {
		var body []byte
		if ping.BodySize > 0 {
			body, err = p.mon.Project(p.project).PingBody(t.Context(), id, ping.N)
			must(t, err)
		}
		bodies = append(bodies, string(body))
	}
	return list, bodies
}

func kinds(list []pings.Ping) (kinds []pings.Kind) {
	for _, p := range list {
		kinds = append(kinds, p.Kind)
	}
	return kinds
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
