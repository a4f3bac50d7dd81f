package server_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/server"
)

func TestMain(m *testing.M) { os.Exit(documented().covered(dbtest.Run(m))) }

// noon is the start of every test, in the middle of a month and with a fraction of a second.
var noon = time.Date(2026, 3, 15, 12, 0, 0, 250_000_000, time.UTC)

// site is a running server with a project, on one database.
type site struct {
	*testing.T
	db      dbtest.DB
	bun     *bun.DB
	store   *sqlstore.Store
	mon     *monitor.Monitor
	server  *server.Server
	signer  badges.Signer
	clock   *dbtest.Clock
	url     string // {base_url}
	client  *http.Client
	project checks.Project
	keys    checks.ProjectKeys
	log     *lockedBuffer
}

// each runs a test with a server on SQLite, and before a release on PostgreSQL, too. The configuration may be nil.
func each(t *testing.T, config *server.Config, test func(s *site)) {
	t.Helper()
	eachPlan(t, config, "paid", test)
}

func eachPlan(t *testing.T, config *server.Config, plan string, test func(s *site)) {
	t.Helper()
	dbtest.EachAtRelease(t, func(t *testing.T, db dbtest.DB) { test(withProject(t, db, config, plan)) })
}

// both runs a test with a server on both databases: access, states, failures of the database, and all that is documented.
func both(t *testing.T, config *server.Config, test func(s *site)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) { test(withProject(t, db, config, "paid")) })
}

// withProject starts a server on a database that has one project.
func withProject(t *testing.T, db dbtest.DB, config *server.Config, plan string) *site {
	t.Helper()
	s := serve(t, db, config)
	var err error
	s.project, s.keys, err = s.mon.Projects().Create(t.Context(), checks.ProjectSpec{Name: "Backups", Plan: plan})
	s.must(err)
	return s
}

// serve starts a server on a database that has no project.
func serve(t *testing.T, db dbtest.DB, config *server.Config) *site {
	t.Helper()
	s := &site{T: t, db: db, clock: dbtest.NewClock(noon), signer: testSigner(t), log: &lockedBuffer{}}
	s.bun = db.Bun(t)
	s.store = dbtest.OpenOn(t, s.bun)
	var c server.Config
	if config != nil {
		c = *config
	}
	s.start(s.store, monitor.Config{Logger: s.logger()}, c)
	return s
}

// another returns a site on the same project whose server has another store and configuration. Its monitor logs nothing
// by default.
func (s *site) another(db monitor.Store, config monitor.Config, serverConfig server.Config) *site {
	s.Helper()
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	other := *s
	other.start(db, config, serverConfig)
	return &other
}

// start gives the site a new server until the test ends. It has the site's clock and, by default, its log.
func (s *site) start(db monitor.Store, config monitor.Config, serverConfig server.Config) {
	s.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	s.must(err)
	s.url = "http://" + listener.Addr().String()
	if serverConfig.BaseURL == "" {
		serverConfig.BaseURL = s.url
	}
	if serverConfig.Logger == nil {
		serverConfig.Logger = s.logger()
	}
	config.Now = s.clock.Now
	s.mon, s.server = newServer(s, db, config, serverConfig)
	s.conform(serveOn(s.T, listener, s.server), serverConfig)
}

// newServer returns a server with its monitor. It signs with testSigner.
func newServer(t testing.TB, s monitor.Store, config monitor.Config, serverConfig server.Config) (*monitor.Monitor, *server.Server) {
	t.Helper()
	if config.Channels == nil {
		config.Channels, config.DeliveredElsewhere = standard.Kinds(), true
	}
	mon, err := monitor.New(s, &config)
	if err != nil {
		t.Fatal(err)
	}
	serverConfig.Signer = testSigner(t)
	srv, err := server.New(mon, &serverConfig)
	if err != nil {
		t.Fatal(err)
	}
	return mon, srv
}

func testSigner(t testing.TB) badges.Signer {
	t.Helper()
	signer, err := badges.NewSigner([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

// serveOn serves until the test ends, and returns a client.
func serveOn(t *testing.T, listener net.Listener, srv *server.Server) *http.Client {
	var running sync.WaitGroup
	handler := srv
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		running.Add(1)
		defer running.Done()
		handler.ServeHTTP(w, r)
	})}
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		web.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
		running.Wait() // they use the database
	})
	return client
}

func (s *site) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *site) logger() *slog.Logger { return slog.New(slog.NewTextHandler(s.log, nil)) }

// lockedBuffer collects a log.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// object is a JSON object.
type object = map[string]any

// reply is an answer of the server.
type reply struct {
	s      *site
	what   string
	status int
	header http.Header
	body   string
}

// send sends a request. A body of type string or []byte is sent as it is, any other as JSON; nil is no body. Headers are
// pairs of name and value.
func (s *site) send(method, path string, body any, headers ...string) reply {
	s.Helper()
	var data []byte
	switch b := body.(type) {
	case nil:
	case string:
		data = []byte(b)
	case []byte:
		data = b
	default:
		var err error
		if data, err = json.Marshal(body); err != nil {
			s.Fatal(err)
		}
	}
	if !strings.HasPrefix(path, "http") {
		path = s.url + path
	}
	request, err := http.NewRequestWithContext(s.Context(), method, path, bytes.NewReader(data))
	s.must(err)
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			request.Host = headers[i+1]
		}
		request.Header.Add(headers[i], headers[i+1])
	}
	response, err := s.client.Do(request)
	s.must(err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	s.must(err)
	return reply{s, method + " " + path, response.StatusCode, response.Header, string(answer)}
}

// api sends a request with the read-write key.
func (s *site) api(method, path string, body any) reply {
	s.Helper()
	return s.send(method, path, body, "X-Api-Key", s.keys.ReadWrite)
}

// is asserts the status.
func (r reply) is(status int) reply {
	r.s.Helper()
	if r.status != status {
		r.s.Fatalf("%s: status %d %s, want %d", r.what, r.status, r.body, status)
	}
	return r
}

// object asserts the status and decodes the JSON object.
func (r reply) object(status int) object {
	r.s.Helper()
	var o object
	r.is(status).decode(&o)
	return o
}

// list asserts the status and decodes the JSON array of objects, which is the value of key unless that is "".
func (r reply) list(status int, key string) []object {
	r.s.Helper()
	var list []object
	if key == "" {
		r.is(status).decode(&list)
		return list
	}
	var document map[string][]object
	r.is(status).decode(&document)
	if len(document) != 1 || document[key] == nil {
		r.s.Fatalf("%s: want the key %q and no other: %s", r.what, key, r.body)
	}
	return document[key]
}

func (r reply) decode(into any) {
	r.s.Helper()
	if got := r.header.Get("Content-Type"); got != "application/json" {
		r.s.Errorf("%s: Content-Type %q, want application/json", r.what, got)
	}
	if err := json.Unmarshal([]byte(r.body), into); err != nil {
		r.s.Fatalf("%s: %v: %s", r.what, err, r.body)
	}
}

// refused asserts the status and the whole document of an error without a field.
func (r reply) refused(status int, text string) {
	r.s.Helper()
	r.fails(status, object{"error": text})
}

// refusedField asserts a 400 and the whole document of an error with a field or query parameter.
func (r reply) refusedField(field, text string) {
	r.s.Helper()
	r.fails(http.StatusBadRequest, object{"error": text, "field": field})
}

func (r reply) fails(status int, want object) {
	r.s.Helper()
	if r.status != status {
		r.s.Errorf("%s: status %d %s, want %d", r.what, r.status, r.body, status)
		return
	}
	var o object
	r.decode(&o)
	r.s.equal(r.what, o, want)
}

// text asserts the status and the whole plain text.
func (r reply) text(status int, text string) {
	r.s.Helper()
	if r.status != status || r.body != text {
		r.s.Errorf("%s: %d %q, want %d %q", r.what, r.status, r.body, status, text)
	}
}

func (s *site) equal(what string, got, want any) {
	s.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		s.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// create creates a check and returns its document.
func (s *site) create(fields object) object {
	s.Helper()
	if fields == nil {
		fields = object{}
	}
	return s.api("POST", "/api/v3/checks/", fields).object(201)
}

// get reads a check.
func (s *site) get(check object) object {
	s.Helper()
	return s.api("GET", path(check), nil).object(200)
}

// path returns the address of a check below {base_url}.
func path(check object) string { return "/api/v3/checks/" + check["uuid"].(string) }

// ping sends a ping to a check. The suffix may have a signal and a query.
func (s *site) ping(check object, suffix string) {
	s.Helper()
	s.send("GET", check["ping_url"].(string)+suffix, nil).text(200, "OK")
}

// pings reads the log of a check, newest first.
func (s *site) pings(check object) []object {
	s.Helper()
	return s.api("GET", path(check)+"/pings/", nil).list(200, "pings")
}

// flips reads the flips of a check as pairs of timestamp and up, newest first.
func (s *site) flips(check object, query string) [][2]any {
	s.Helper()
	var pairs [][2]any
	for _, flip := range s.api("GET", path(check)+"/flips/"+query, nil).list(200, "") {
		s.equal("keys of a flip", slices.Sorted(maps.Keys(flip)), []string{"timestamp", "up"})
		pairs = append(pairs, [2]any{flip["timestamp"], flip["up"]})
	}
	return pairs
}

// status asserts state and next_ping of a check; next is "" for null.
func (s *site) status(check object, status, next string) {
	s.Helper()
	got := s.get(check)
	want := any(next)
	if next == "" {
		want = nil
	}
	s.equal("status and next_ping", []any{got["status"], got["next_ping"]}, []any{status, want})
}

// at formats a time after noon as the server does.
func at(d time.Duration) string { return noon.Add(d).Format("2006-01-02T15:04:05+00:00") }

// otherProject creates a project in another account.
func (s *site) otherProject(name string) (checks.Project, checks.ProjectKeys) {
	s.Helper()
	p, keys, err := s.mon.Projects().Create(s.Context(), checks.ProjectSpec{Name: name, Account: name})
	s.must(err)
	return p, keys
}
