package main

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
)

// get makes a request without a key and asserts the status.
func get(t *testing.T, url string, status int) (body string) {
	t.Helper()
	got, body, err := request{method: http.MethodGet, url: url}.do()
	if err != nil || got != status {
		t.Fatalf("%s: status %d, %v, want %d\n%s", url, got, err, status, body)
	}
	return body
}

func TestMetricsAndAccessLog(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		p := start(t, db.URL, "--metrics-listen", "127.0.0.1:0", "--access-log")
		key := keyOf(t, p)
		c := createCheck(t, p, key, "job")
		get(t, p.url+"/ping/"+c.UUID, http.StatusOK)
		_, address, _ := strings.Cut(p.stdout.String(), "rollcall: metrics on ")
		address, _, _ = strings.Cut(address, "\n")
		body := get(t, address, http.StatusOK)
		for _, want := range []string{
			"\nrollcall_pings_total{kind=\"success\"} 1\n", "\nrollcall_deliveries_pending 0\n", "\nrollcall_ping_queue_length 0\n",
			"\nrollcall_http_requests_total{code=\"200\",method=\"GET\",route=\"/ping\"} 1\n", "\nrollcall_build_info{version=",
			"\ngo_goroutines ", "\nprocess_start_time_seconds ",
		} {
			if !strings.Contains(body, want) {
				t.Errorf("the metrics do not have %q:\n%s", want, body)
			}
		}
		get(t, strings.TrimSuffix(address, "metrics"), http.StatusNotFound)
		get(t, p.url+"/metrics", http.StatusNotFound)
		get(t, p.url+"/livez", http.StatusOK)
		get(t, p.url+"/readyz", http.StatusOK)
		waitForLog(t, p, "route=/readyz")
		for line := range strings.Lines(p.stderr.String()) {
			if strings.Contains(line, key) || strings.Contains(line, "component=http") && strings.Contains(line, c.UUID) {
				t.Errorf("the log has a secret: %s", line)
			}
		}
		if state, err := p.stop(syscall.SIGTERM); err != nil || state.ExitCode() != 0 {
			t.Errorf("the server ended with %v, %v:\n%s", state, err, p.stderr.String())
		}
	})
}

// One server watches another by its heartbeats.
func TestHeartbeat(t *testing.T) {
	t.Parallel()                                                    // it waits
	watching := start(t, dbtest.SQLite(t).URL, "--rate-limit", "0") // the test polls
	key := keyOf(t, watching)
	c := createCheck(t, watching, key, "other-server")
	url := watching.url + "/ping/" + c.UUID
	watched := start(t, dbtest.SQLite(t).URL, "--heartbeat-url", url, "--heartbeat-every", "1s")
	if !eventually(patience, func() bool {
		call(t, watching, key, http.MethodGet, "/api/v3/checks/"+c.UUID, "", &c)
		return c.NPings > 0
	}) {
		t.Error("no heartbeat has come")
	}
	if c.Status != "up" {
		t.Errorf("the check is %s, want up", c.Status)
	}
	watching.kill()
	waitForLog(t, watched, "a heartbeat was not sent")
	if strings.Contains(watched.stderr.String(), c.UUID) {
		t.Errorf("the log has the ping URL:\n%s", watched.stderr.String())
	}
	get(t, watched.url+"/readyz", http.StatusOK)
}

func TestShutdownDelay(t *testing.T) {
	p := start(t, dbtest.SQLite(t).URL, "--shutdown-delay", "1h")
	c := createCheck(t, p, keyOf(t, p), "job")
	p.cmd.Process.Signal(syscall.SIGTERM)
	waitForLog(t, p, "msg=stopping")
	if !eventually(patience, func() bool {
		status, _, err := request{method: http.MethodGet, url: p.url + "/readyz"}.do()
		return err == nil && status == http.StatusServiceUnavailable
	}) {
		t.Error("the server is ready while it shuts down")
	}
	if got := get(t, p.url+"/readyz", http.StatusServiceUnavailable); got != "server: is shutting down\n" {
		t.Errorf("readyz: %q", got)
	}
	get(t, p.url+"/livez", http.StatusOK)
	get(t, p.url+"/ping/"+c.UUID, http.StatusOK)
}
