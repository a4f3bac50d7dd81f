package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest/pgserver"
	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/examples/internal/program"
	"github.com/rollcall-dev/rollcall/examples/tools/internal/database"
)

// patience bounds every wait. It is only reached when something is broken.
const patience = 3 * time.Minute

// site is one database with the servers on it, all of them processes of this program.
type site struct {
	trial
	dir      string
	database string             // the value of --database
	pg       *pgserver.Server   // nil on SQLite and with --postgres; the primary, if it has a standby
	standby  *pgserver.Server   // nil unless the trial has one
	nodes    []*pgserver.Server // of Citus, the coordinator first
	db       *bun.DB            // to look at what the servers have written
	mon      *monitor.Monitor   // on db; it delivers nothing
	receiver *receiver
	servers  []*program.Server
	keys     program.Greeting

	ordeal ordeal        // what happens to the servers while clients work
	slack  time.Duration // added to every time limit
	kept   *http.Client  // keeps connections
	fresh  *http.Client  // opens a connection for each request

	began time.Time // of the trial, once the servers run

	windows windows
	acks    acks

	mu       sync.Mutex
	problems []string
	results  []result // of pings
	count    tally
}

// newSite makes an empty database and starts the servers of a trial on it. The caller closes the site, even after an
// error.
func newSite(ctx context.Context, t trial, o options) (s *site, err error) {
	const timeout = 30 * time.Second
	dial := (&net.Dialer{Timeout: 5 * time.Second}).DialContext
	s = &site{
		trial: t, slack: o.Slack, dir: filepath.Join(o.Dir, t.name), ordeal: (*site).chaos,
		kept:  &http.Client{Timeout: timeout, Transport: &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 256}},
		fresh: &http.Client{Timeout: timeout, Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}},
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return s, err
	}
	s.database = "sqlite:" + filepath.Join(s.dir, "rollcall.db")
	switch {
	case t.postgres && o.Postgres != "":
		s.database = o.Postgres
	case t.citus:
		if err := s.startCitus(ctx, o.Rollcall); err != nil {
			return s, err
		}
	case t.postgres:
		if err := s.startPostgres(ctx); err != nil {
			return s, err
		}
	}
	if s.receiver, err = newReceiver(s.problem, &s.windows, &s.acks); err != nil {
		return s, err
	}
	if err := s.startServers(ctx, o.Rollcall); err != nil {
		return s, err
	}
	var store *sqlstore.Store
	if s.db, store, err = database.Open(ctx, s.database); err != nil {
		return s, err
	}
	s.db.SetMaxIdleConns(-1) // PostgreSQL restarts
	s.mon, err = monitor.New(store, &monitor.Config{Channels: standard.Kinds(), DeliveredElsewhere: true})
	s.began = time.Now()
	return s, err
}

// startPostgres starts PostgreSQL, with its standby if the trial has one, and creates the database.
func (s *site) startPostgres(ctx context.Context) (err error) {
	// fsync is off because only processes are killed here, not the machine.
	settings := []string{"fsync=off", "rollcall.accepts=fsync", "max_connections=200"}
	if s.replicated {
		settings = append(settings, "wal_log_hints=on", "wal_keep_size=512MB") // for pg_rewind
	}
	if s.pg, err = pgserver.New(ctx, filepath.Join(s.dir, "postgres"), settings...); err != nil {
		return err
	}
	if s.database, err = s.pg.Create(ctx, "rollcall"); err != nil || !s.replicated {
		return err
	}
	if s.standby, err = s.pg.Standby(ctx, filepath.Join(s.dir, "standby")); err != nil {
		return err
	}
	s.database = pgserver.URLs("rollcall", s.pg, s.standby)
	return s.pg.Synchronize(ctx)
}

// channelNames are the channels of the project. All checks are assigned to all of them.
var channelNames = [...]string{"first", "second", late}

func (s *site) startServers(ctx context.Context, binary string) (err error) {
	for i := range s.trial.servers {
		log, err := os.Create(filepath.Join(s.dir, fmt.Sprintf("server%d.log", i+1)))
		if err != nil {
			return err
		}
		server := &program.Server{Path: binary, Args: []string{"--database", s.database, "--allow-private-networks"}, Log: log}
		if s.spooled {
			server.Args = append(server.Args, "--spool", filepath.Join(s.dir, fmt.Sprintf("spool%d", i+1)))
		}
		if err := server.Start(ctx); err != nil {
			return err
		}
		s.servers = append(s.servers, server)
	}
	s.keys = s.servers[0].Greeting()
	if s.keys.Key == "" || s.keys.PingKey == "" {
		return errors.New("the first server has shown no keys")
	}
	for _, name := range channelNames {
		url := s.receiver.url + "/" + name
		out, err := program.Command(ctx, binary, "channel", "create", "--database", s.database, "--kind", "webhook", "--name", name,
			"--set", "url_down="+url, "--set", "url_up="+url).CombinedOutput()
		if err != nil {
			return fmt.Errorf("create channel: %w\n%s", err, out)
		}
	}
	return nil
}

// close ends all processes of the site.
func (s *site) close() {
	for _, server := range s.servers {
		server.Kill()
		server.Log.Close()
	}
	if s.receiver != nil {
		s.receiver.close()
	}
	if s.db != nil {
		s.db.Close()
	}
	for _, server := range append(s.nodes, s.pg, s.standby) {
		if server != nil {
			server.Stop()
		}
	}
	s.kept.CloseIdleConnections()
}

// problem notes that something is not as it must be.
func (s *site) problem(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	const enough = 50
	if len(s.problems) < enough {
		s.problems = append(s.problems, s.name+": "+fmt.Sprintf(format, args...))
	}
}

// subject is a check that clients work on.
type subject struct {
	id      uuid.UUID
	slug    string
	initial checks.Check
	steered bool            // clients also pause, resume and update it
	runs    []uuid.NullUUID // IDs of its runs
	history []*operation    // what clients did with it in a round
}

// create makes checks with a common timeout and grace time through the API.
func (s *site) create(ctx context.Context, prefix string, n int, period time.Duration) ([]*subject, error) {
	api, err := client.New(s.servers[0].Greeting().URL, s.keys.Key, nil)
	if err != nil {
		return nil, err
	}
	list := make([]*subject, n)
	for i := range list {
		slug := fmt.Sprintf("%s-%d", prefix, i)
		spec := checks.Spec{Slug: &slug, Timeout: &period, Grace: &period, Channels: new("*")}
		made, err := api.Create(ctx, spec)
		if err != nil {
			return nil, err
		}
		spec.ID = made.ID
		initial, err := checks.New(uuid.Nil, spec, time.Now())
		if err != nil {
			return nil, err
		}
		list[i] = &subject{id: made.ID, slug: slug, initial: initial}
	}
	return list, nil
}

// request is an HTTP request to one of the servers.
type request struct {
	server       int
	method, path string
	body         string
	userAgent    string
	fresh        bool // uses a connection of its own, so that net/http never sends it twice
}

// answer is what came back.
type answer struct {
	sent   bool // the request may have had an effect, even without an answer
	status int  // 0 without an answer
	header http.Header
	body   []byte
}

// address returns the path to ping a check, by its slug or its UUID.
func (s *site) address(subject *subject, bySlug bool) string {
	if bySlug {
		return "/ping/" + s.keys.PingKey + "/" + subject.slug
	}
	return "/ping/" + subject.id.String()
}

var errDown = errors.New("the server is down")

// send makes a request.
func (s *site) send(ctx context.Context, r request) (answer, error) {
	base := s.servers[r.server].Greeting().URL
	if base == "" {
		return answer{}, errDown
	}
	req, err := http.NewRequestWithContext(ctx, r.method, base+r.path, strings.NewReader(r.body))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("User-Agent", r.userAgent)
	if strings.HasPrefix(r.path, "/api/") {
		req.Header.Set("X-Api-Key", s.keys.Key)
	}
	client := s.kept
	if r.fresh {
		client = s.fresh
	}
	res, err := client.Do(req)
	if err != nil {
		op, dialing := errors.AsType[*net.OpError](err)
		return answer{sent: !dialing || op.Op != "dial"}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return answer{sent: true}, err
	}
	return answer{sent: true, status: res.StatusCode, header: res.Header, body: body}, nil
}

// await asks again and again whether something is done, until it is or the time is over.
func await(ctx context.Context, within time.Duration, done func() (bool, error)) (bool, error) {
	for end := time.Now().Add(within); ; {
		if ok, err := done(); ok || err != nil {
			return ok, err
		}
		if time.Now().After(end) || !sleep(ctx, 50*time.Millisecond) {
			return false, ctx.Err()
		}
	}
}

// sleep waits, and reports whether ctx still lives.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
