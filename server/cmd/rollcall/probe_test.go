package main

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
)

// probed runs rollcall probe and returns its exit status and its whole output.
func probed(args ...string) (status int, out string) {
	var b bytes.Buffer
	status = run(append([]string{"probe"}, args...), &b, &b)
	return status, strings.TrimSpace(b.String())
}

// probeIs runs rollcall probe and compares the exit status and the output.
func probeIs(t *testing.T, status int, out string, args ...string) {
	t.Helper()
	if gotStatus, got := probed(args...); gotStatus != status || got != out {
		t.Errorf("probe %v: status %d, want %d\n%s\nwant\n%s", args, gotStatus, status, got, out)
	}
}

// TestProbe asks a server that is ready, loses its database, gets it back, and shuts down.
func TestProbe(t *testing.T) {
	pg := dbtest.Server(t)
	database, err := pg.Create(t.Context(), "probe")
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, database, "--shutdown-delay", "1h")
	address := strings.TrimPrefix(p.url, "http://")
	_, port, _ := net.SplitHostPort(address)
	ready, live := p.url+"/readyz", p.url+"/livez"

	probeIs(t, 0, ready+": ok", p.url)
	probeIs(t, 0, ready+": ok", p.url+"/")
	probeIs(t, 0, ready+": ok", "--listen", address)
	probeIs(t, 0, live+": ok", "--live", p.url)
	for _, listen := range []string{":" + port, "0.0.0.0:" + port, "[::]:" + port} {
		probeIs(t, 0, ready+": ok", "--listen", listen)
	}
	probeIs(t, 0, "http://localhost:"+port+"/readyz: ok", "--listen", "localhost:"+port)
	t.Setenv("ROLLCALL_LISTEN", address)
	probeIs(t, 0, ready+": ok")

	pg.Stop()
	away := "probe: " + ready + ": database: is out of reach or not migrated"
	probeIs(t, 1, "rollcall: "+away)
	probeIs(t, 0, live+": ok", "--live")
	var out, errs bytes.Buffer
	status := run([]string{"probe", "--json"}, &out, &errs)
	var document map[string]any
	if err := json.Unmarshal(out.Bytes(), &document); err != nil || status != 1 || errs.Len() == 0 {
		t.Fatalf("status %d, %v\n%s%s", status, err, out.String(), errs.String())
	}
	if len(document) != 3 || document["url"] != ready || document["ok"] != false || document["error"] != away {
		t.Errorf("document %v", document)
	}
	if err := pg.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !eventually(patience, func() bool { status, _ := probed(); return status == 0 }) {
		t.Error("the server is not ready although its database is back")
	}

	p.cmd.Process.Signal(syscall.SIGTERM)
	waitForLog(t, p, "msg=stopping")
	down := "rollcall: probe: " + ready + ": server: is shutting down"
	if !eventually(patience, func() bool { _, out := probed(); return out == down }) {
		_, out := probed()
		t.Errorf("while it shuts down: %s", out)
	}
	probeIs(t, 0, live+": ok", "--live")
	p.kill()
	probeIs(t, 1, "rollcall: probe: "+ready+": does not answer: connection refused")
}

// TestProbeOfOthers asks servers that are not Rollcall, or do not answer.
func TestProbeOfOthers(t *testing.T) {
	answer := func(status int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Location", "/")
			w.WriteHeader(status)
			w.Write([]byte(body))
		}
	}
	for _, test := range []struct {
		handler http.HandlerFunc
		want    string
	}{
		{answer(200, "text/html", "<html>ok</html>"), "answers, but not as a Rollcall server"},
		{answer(200, "text/plain", strings.Repeat("ok", maxProbeAnswer)), "answers, but not as a Rollcall server"},
		{answer(301, "text/plain", "ok"), "answers with status 301 Moved Permanently"},
		{answer(404, "text/plain", "ok"), "answers with status 404 Not Found"},
		{answer(503, "text/html", "<html>\nno backend"), "answers with status 503 Service Unavailable"},
		{answer(503, "text/plain", "a: is ill\nb: is ill\n"), "a: is ill; b: is ill"},
		{answer(503, "text/plain", "a: \x1b[2J\n"), `a: \u001b[2J`},
		{func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "does not answer within 100ms"},
	} {
		server := httptest.NewServer(test.handler)
		limit := patience.String()
		if strings.HasSuffix(test.want, "100ms") {
			limit = "100ms"
		}
		probeIs(t, 1, "rollcall: probe: "+server.URL+"/readyz: "+test.want, "--timeout", limit, server.URL)
		server.Close()
	}
	server := httptest.NewTLSServer(answer(200, "text/plain", "ok"))
	defer server.Close()
	probeIs(t, 1, "rollcall: probe: "+server.URL+"/readyz: x509: certificate signed by unknown authority", server.URL)

	t.Setenv("HTTP_PROXY", server.URL)
	t.Setenv("NO_PROXY", "")
	if status, out := probed("http://nowhere.invalid"); status != 1 || !strings.Contains(out, "nowhere.invalid/readyz: does not answer: lookup") {
		t.Errorf("status %d: %s", status, out)
	}
}

// TestProbeOfAllAddresses: probe asks the loopback address of the family that the server listens on, and then the other one.
func TestProbeOfAllAddresses(t *testing.T) {
	for _, test := range []struct{ network, address, listen, asked string }{
		{"tcp6", "[::1]", "[::]", "[::1]"}, {"tcp4", "127.0.0.1", "[::]", "127.0.0.1"}, {"tcp", "[::]", "[::]", "[::1]"},
		{"tcp4", "127.0.0.1", "0.0.0.0", "127.0.0.1"}, {"tcp6", "[::1]", "", "[::1]"}, {"tcp", "[::]", "", "127.0.0.1"},
	} {
		listener, err := net.Listen(test.network, test.address+":0")
		if err != nil {
			t.Skip("this system has no IPv6: ", err)
		}
		go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok")) }))
		_, port, _ := net.SplitHostPort(listener.Addr().String())
		probeIs(t, 0, "http://"+test.asked+":"+port+"/readyz: ok", "--listen", test.listen+":"+port)
		listener.Close()
		first := "127.0.0.1"
		if test.listen == "[::]" {
			first = "[::1]"
		}
		probeIs(t, 1, "rollcall: probe: http://"+first+":"+port+"/readyz: does not answer: connection refused", "--listen", test.listen+":"+port)
	}
}
