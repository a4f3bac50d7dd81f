package server_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/server"
)

// Names for the requests of FuzzRequest. They are fixed, so that an input means the same in every run.
const (
	fuzzID        = "6f5dd2d1-8a4c-4a52-9d5f-0d9e2f1c7b3a"
	fuzzBadge     = "7a1ee4b2-1c3d-4e5f-8a9b-0c1d2e3f4a5b"
	fuzzPingKey   = "abcdefghijklmnopqrstuv"
	fuzzReadWrite = "rcw_aaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	fuzzReadOnly  = "rcr_bbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	fuzzForeign   = "zqxjkv" // marks everything of the other project
)

// fuzzWorld is a server with two projects, on SQLite.
type fuzzWorld struct {
	mon     *monitor.Monitor
	store   *sqlstore.Store
	handler http.Handler
	log     *lockedBuffer
	own     checks.Project
}

func newFuzzWorld(f *testing.F) *fuzzWorld {
	f.Helper()
	w := &fuzzWorld{store: dbtest.SQLite(f).Open(f), log: &lockedBuffer{}}
	logger := slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelError}))
	var srv *server.Server
	w.mon, srv = newServer(f, w.store, monitor.Config{Logger: logger}, server.Config{
		Logger: logger, BaseURL: "https://rollcall.example.org", TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
	})
	w.handler = srv
	w.own = checks.Project{ID: uuid.New(), Name: "own", Account: "own", Plan: "free", BadgeKey: "badgekey", PingKey: fuzzPingKey, CreatedAt: time.Unix(1, 0)}
	other := checks.Project{ID: uuid.New(), Name: fuzzForeign, Account: fuzzForeign, Plan: "paid",
		BadgeKey: fuzzForeign, PingKey: strings.Repeat("z", 22), CreatedAt: time.Unix(1, 0)}
	var keys []checks.Key
	for text, scope := range map[string]checks.Scope{fuzzReadWrite: checks.ReadWrite, fuzzReadOnly: checks.ReadOnly} {
		keys = append(keys, checks.Key{ID: uuid.New(), ProjectID: w.own.ID, Scope: scope, Hash: sha256.Sum256([]byte(text)), CreatedAt: time.Unix(1, 0)})
	}
	foreign, err := checks.New(other.ID, checks.Spec{Name: new(fuzzForeign), Slug: new(fuzzForeign), Tags: []string{fuzzForeign}, Desc: new(fuzzForeign)}, time.Now())
	if err != nil {
		f.Fatal(err)
	}
	dbtest.Insert(f, w.store, []checks.Project{w.own, other}, keys, []checks.Check{foreign})
	w.refill(f)
	return w
}

// refill creates the check that requests name, unless it exists.
func (w *fuzzWorld) refill(t testing.TB) {
	t.Helper()
	if _, err := w.mon.Check(t.Context(), uuid.MustParse(fuzzID)); err == nil {
		return
	}
	c, err := checks.New(w.own.ID, checks.Spec{Name: new("job"), Slug: new("job"), Tags: []string{"db", "prod"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	c.ID, c.BadgeKey = uuid.MustParse(fuzzID), uuid.MustParse(fuzzBadge)
	dbtest.Insert(t, w.store, nil, nil, []checks.Check{c})
}

// fuzzRequests returns the seeds: every route, plain and in hostile forms.
func fuzzRequests() []string {
	const key, ro = "X-Api-Key: " + fuzzReadWrite + "\r\n", "X-Api-Key: " + fuzzReadOnly + "\r\n"
	request := func(line, headers, body string) string {
		if body != "" {
			headers += "Content-Length: " + strconv.Itoa(len(body)) + "\r\n"
		}
		return line + " HTTP/1.1\r\nHost: rollcall.example.org\r\n" + headers + "\r\n" + body
	}
	check := "/api/v3/checks/" + fuzzID
	return []string{
		request("GET /api/v3/checks/?slug=job&tag=db&tag=%00&tag=%ff", key, ""),
		request("GET /api/v3/checks/?slug=%zz&slug=;&tag", ro, ""),
		request("GET "+check, ro, ""),
		request("POST /api/v3/checks/", key, `{"name":"\ud83c\udf89","timeout":36e2,"unique":["name","timeout"],"channels":"*"}`),
		request("POST /api/v3/checks", "", `{"api_key":"`+fuzzReadWrite+`","schedule":"*/5 * * * *","tz":"Europe/Riga","slug":"a-b_c"}`),
		request("POST /api/v3/checks/", key, `{"tags":"a\u0000b","name":"`+strings.Repeat("x", 101)+`"}`),
		request("POST "+check, key, `{"name":"x","name":"y","timeout":1e400,"grace":60.5,"desc":null}`),
		request("POST "+check+"/pause", key, "{"),
		request("POST "+check+"/resume", key, ""),
		request("DELETE "+check, key, ""),
		request("GET "+check+"/pings/", key, ""),
		request("GET "+check+"/pings/1/body", key, ""),
		request("GET "+check+"/pings/-1/body?x", key, ""),
		request("GET "+check+"/flips/?seconds=9223372036854775807&start=-1&end=1e9", ro, ""),
		request("GET "+check+"/flips/?start=9999999999999999999&end=%00", key, ""),
		request("GET "+check+"/stats/?start=0001-01-01&end=9999-12-31", ro, ""),
		request("GET "+check+"/stats/?start=2026-02-30&end=%00", key, ""),
		request("GET /api/v3/channels/", key, ""),
		request("HEAD /api/v3/badges/", ro, ""),
		request("OPTIONS /api/v3/checks/", "Origin: x\r\nAccess-Control-Request-Method: DELETE\r\n", ""),
		request("GET /api/v3/status/", "", ""),
		request("GET /api/v3/metrics", "Authorization: Bearer "+fuzzReadOnly+"\r\nAccept-Encoding: gzip\r\n", ""),
		request("GET /livez?verbose", "", ""),
		request("GET /readyz", "", ""),
		request("GET /api/v3/", "If-None-Match: *\r\n", ""),
		request("GET /api/v3/openapi.json", "Range: bytes=0-1\r\n", ""),
		request("POST /ping/"+fuzzID+"/start?rid=11111111-2222-4333-8444-555555555555", "User-Agent: a\x1b[31m\xff\r\n", "body\xff\x00"),
		request("HEAD /ping/"+fuzzID+"/255", "X-Forwarded-For: 192.0.2.1, 10.0.0.2\r\nX-Forwarded-Proto: https\r\n", ""),
		request("GET /ping/"+fuzzPingKey+"/new-job?create=1", "", ""),
		request("GET /ping/"+fuzzPingKey+"/Job/256", "", ""),
		request("GET /ping/../api/v3/checks/", key, ""),
		request("GET /ping/%2e%2e%2f"+fuzzID, "", ""),
		request("GET //api//v3/checks/", key, ""),
		request("GET /b/3/"+fuzzBadge+".svg", "", ""),
		request("GET /badge/badgekey/00000000000000000000000000000000-2/db.json", "", ""),
		request("GET http://evil.example/api/v3/checks/", key+"X-Forwarded-Host: evil.example\r\n", ""),
		request("PUT /api/v3/checks/", key+"X-HTTP-Method-Override: GET\r\n", "{}"),
		request("BREW /", "", ""),
		"POST " + check + " HTTP/1.1\r\nHost: x\r\n" + key + "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"nam\r\n6\r\ne\":\"\"}\r\n0\r\n\r\n",
		"POST /ping/" + fuzzID + " HTTP/1.0\r\nContent-Length: 100\r\n\r\nshort",
	}
}

// FuzzRequest: for any HTTP request, the server does not fail, sets its security headers, redirects nowhere, answers errors
// in their form, and reveals nothing of the other project.
func FuzzRequest(f *testing.F) {
	w := newFuzzWorld(f)
	for _, seed := range fuzzRequests() {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
		if err != nil {
			t.Skip()
		}
		r.RemoteAddr = "10.0.0.1:5"
		recorder := httptest.NewRecorder()
		w.handler.ServeHTTP(recorder, r.WithContext(t.Context()))
		answer := recorder.Result()
		health := strings.HasSuffix(r.URL.EscapedPath(), "z") // 503, because no watcher runs here
		if answer.StatusCode >= 500 && !health || w.log.String() != "" {
			t.Fatalf("the server failed: %d %s\n%s", answer.StatusCode, recorder.Body, w.log)
		}
		for name, part := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'", "Referrer-Policy": "no-referrer", "Cache-Control": "no-",
		} {
			if !strings.Contains(answer.Header.Get(name), part) {
				t.Errorf("%d: header %s is %q, want %q in it", answer.StatusCode, name, answer.Header.Get(name), part)
			}
		}
		if answer.Header.Get("Location") != "" || answer.StatusCode/100 == 3 && answer.StatusCode != http.StatusNotModified {
			t.Errorf("%d redirects to %s", answer.StatusCode, answer.Header.Get("Location"))
		}
		types := []string{"application/json", "text/plain; charset=utf-8", "text/plain", "text/plain; version=0.0.4; charset=utf-8",
			"text/html; charset=utf-8", "image/svg+xml", ""}
		if kind := answer.Header.Get("Content-Type"); !slices.Contains(types, kind) {
			t.Errorf("unexpected Content-Type %q", kind)
		} else if kind == "application/json" && answer.StatusCode != http.StatusNotModified && !json.Valid(recorder.Body.Bytes()) {
			t.Errorf("%d: body is not JSON: %s", answer.StatusCode, recorder.Body)
		}
		if strings.Contains(recorder.Body.String(), fuzzForeign) && !bytes.Contains(raw, []byte(fuzzForeign)) {
			t.Errorf("%d reveals the other project: %s", answer.StatusCode, recorder.Body)
		}
		if r.Method == http.MethodDelete && answer.StatusCode == http.StatusOK {
			w.refill(t)
		}
	})
}
