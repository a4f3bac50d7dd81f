package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/storetest/pgserver"
)

// setup says what a site is made of.
type setup struct {
	name     string
	postgres bool
	proxied  bool // the servers reach PostgreSQL through a proxy
	metrics  bool // the servers serve metrics
	servers  int
}

// site is one database with the servers on it, all of this process.
type site struct {
	setup
	dir      string
	program  string
	pg       *pgserver.Server // nil on SQLite
	proxy    *proxy           // nil without one
	receiver *receiver
	database string
	servers  []*server

	slack        time.Duration // by which bounds of time may be exceeded, because the machine is busy
	key, pingKey string
	channels     int          // of the project; all checks have all
	kept         *http.Client // keeps connections
	fresh        *http.Client // makes one for each request

	mu       sync.Mutex
	problems []string
}

// newSite makes an empty database and starts the servers on it.
func newSite(ctx context.Context, s setup, program, dir string) (_ *site, err error) {
	out := &site{setup: s, program: program, dir: filepath.Join(dir, s.name)}
	defer func() {
		if err != nil {
			out.close()
		}
	}()
	if err := os.MkdirAll(out.dir, 0o755); err != nil {
		return nil, err
	}
	out.database = "sqlite:" + filepath.Join(out.dir, "rollcall.db")
	if s.postgres {
		// Without fsync: only processes are killed here, not the machine.
		if out.pg, err = pgserver.New(ctx, filepath.Join(out.dir, "postgres"),
			"fsync=off", "max_connections=200"); err != nil {
			return nil, err
		}
		if out.database, err = out.pg.Create(ctx, "rollcall"); err != nil {
			return nil, err
		}
	}
	if s.proxied {
		if out.proxy, err = newProxy(fmt.Sprintf("127.0.0.1:%d", out.pg.Port())); err != nil {
			return nil, err
		}
	}
	if out.receiver, err = newReceiver(); err != nil {
		return nil, err
	}
	out.clients()
	for i := range s.servers {
		srv := &server{program: program, log: filepath.Join(out.dir, fmt.Sprintf("server%d.log", i+1)),
			args: []string{"--database", out.serverURL(), "--allow-private-networks"}}
		if s.metrics {
			srv.args = append(srv.args, "--metrics-listen", "127.0.0.1:0")
		}
		out.servers = append(out.servers, srv)
		if err := srv.start(ctx); err != nil {
			return nil, err
		}
	}
	if err := out.readKeys(); err != nil {
		return nil, err
	}
	return out, out.createChannels(ctx)
}

// createChannels makes the channels that all checks are assigned to.
func (s *site) createChannels(ctx context.Context) error {
	for _, name := range []string{"first", "second"} {
		if _, err := s.command(ctx, "channel", "create", "--kind", "webhook", "--name", name,
			"--set", "url_down="+s.receiver.url+"/"+name, "--set", "url_up="+s.receiver.url+"/"+name); err != nil {
			return err
		}
		s.channels++
	}
	return nil
}

// serverURL returns the address of the database for the servers.
func (s *site) serverURL() string {
	if s.proxy == nil {
		return s.database
	}
	return strings.Replace(s.database, fmt.Sprintf(":%d/", s.pg.Port()), ":"+portOf(s.proxy.listener.Addr())+"/", 1)
}

func portOf(addr net.Addr) string {
	_, port, _ := net.SplitHostPort(addr.String())
	return port
}

func (s *site) clients() {
	dial := (&net.Dialer{Timeout: 5 * time.Second}).DialContext
	const limit = 30 * time.Second
	s.kept = &http.Client{Timeout: limit, Transport: &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 256}}
	s.fresh = &http.Client{Timeout: limit, Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
}

// readKeys takes the keys from what the first server has printed.
func (s *site) readKeys() error {
	find := func(expr string) string {
		match := regexp.MustCompile(expr).FindStringSubmatch(s.servers[0].greeting)
		if match == nil {
			return ""
		}
		return match[1]
	}
	s.key, s.pingKey = find(`\b(rcw_\w+)`), find(`(?m)^ *ping key +(\w+)$`)
	if s.key == "" || s.pingKey == "" {
		return fmt.Errorf("the first server has shown no keys:\n%s", s.servers[0].greeting)
	}
	return nil
}

// close ends all processes of the site.
func (s *site) close() {
	for _, srv := range s.servers {
		srv.kill()
	}
	if s.receiver != nil {
		s.receiver.close()
	}
	if s.proxy != nil {
		s.proxy.close()
	}
	if s.pg != nil {
		s.pg.Stop()
	}
	if s.kept != nil {
		s.kept.CloseIdleConnections()
		s.fresh.CloseIdleConnections()
	}
}

// command runs a command of rollcall on the database and returns what it has printed.
func (s *site) command(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, s.program, append(args, "--database", s.database)...)
	cmd.Env, cmd.SysProcAttr = cleanEnv(), childAttr()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("rollcall %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// open opens the database, to look at what the servers have written.
func (s *site) open() (*bun.DB, error) {
	if s.postgres {
		db, err := sql.Open("pgx", s.database)
		return bun.NewDB(db, pgdialect.New()), err
	}
	return openFile(strings.TrimPrefix(s.database, "sqlite:"))
}

// openFile opens an SQLite file.
func openFile(path string) (*bun.DB, error) {
	db, err := sql.Open("sqlite", sqlstore.SQLiteDSN(path, 10*time.Second))
	return bun.NewDB(db, sqlitedialect.New()), err
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

// request is an HTTP request to one of the servers.
type request struct {
	server       int
	method, path string
	body         string
	userAgent    string
	fresh        bool // on a connection of its own, so that net/http never sends it twice
}

// answer is what came back.
type answer struct {
	sent   bool // it may have had an effect, even when there is no answer
	status int  // 0 when there is none
	header http.Header
	body   []byte
}

// errDown says that the server does not run, so that nothing was sent.
var errDown = errors.New("the server is down")

// send makes a request.
func (s *site) send(ctx context.Context, r request) (answer, error) {
	base := s.servers[r.server].address()
	if base == "" {
		return answer{}, errDown
	}
	req, err := http.NewRequestWithContext(ctx, r.method, base+r.path, strings.NewReader(r.body))
	if err != nil {
		return answer{}, err
	}
	if r.userAgent != "" {
		req.Header.Set("User-Agent", r.userAgent)
	}
	if strings.HasPrefix(r.path, "/api/") {
		req.Header.Set("X-Api-Key", s.key)
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
