package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/installation"
)

// If several servers start at once on an empty database, exactly one creates a project and prints its keys.
func TestFirstStartOfSeveral(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		const servers = 4
		var processes [servers]*process
		var errs [servers]error
		var wg sync.WaitGroup
		dir := t.TempDir()
		for i := range servers {
			wg.Go(func() {
				if processes[i], errs[i] = startProcess(cleanEnv(), dir, "--database", db.URL); errs[i] == nil {
					t.Cleanup(processes[i].kill)
				}
			})
		}
		wg.Wait()
		greetings := 0
		for i, p := range processes {
			if errs[i] != nil {
				t.Fatal(errs[i])
			}
			if strings.Contains(p.stdout.String(), "API key") {
				greetings++
			}
		}
		if greetings != 1 {
			t.Errorf("%d servers have shown keys, want 1", greetings)
		}
		for _, p := range processes {
			state, err := p.stop(syscall.SIGTERM)
			if err != nil || state.ExitCode() != 0 {
				t.Errorf("a server ended with %v, %v:\n%s", state, err, p.stderr.String())
			}
		}
	})
}

// slowPing is a ping in progress: the server has accepted it, and waits for the rest of its body.
type slowPing struct {
	net.Conn
	answers *bufio.Reader
}

// sendSlowPing creates a check and begins a ping.
func sendSlowPing(t *testing.T, p *process) *slowPing {
	t.Helper()
	c := createCheck(t, p, keyOf(t, p), "slow")
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience))
	path := "/ping/" + c.UUID + "/fail"
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n", path)
	ping := &slowPing{conn, bufio.NewReader(conn)}
	// The server asks for the body once its handler reads it.
	if line, err := ping.answers.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("answer %q, %v", line, err)
	}
	fmt.Fprint(conn, "bo")
	return ping
}

// waitForLog waits until a server logs a text.
func waitForLog(t *testing.T, p *process, text string) {
	t.Helper()
	if !eventually(patience, func() bool { return strings.Contains(p.stderr.String(), text) }) {
		t.Fatalf("the server has not logged %q:\n%s", text, p.stderr.String())
	}
}

// TestShutdownFinishesRequests ends a server while a ping arrives. The ping is answered, and the alert about it is sent before
// the server exits.
func TestShutdownFinishesRequests(t *testing.T) {
	db := dbtest.SQLite(t)
	p := start(t, db.URL, "--shutdown-timeout", patience.String(), "--stop-timeout", patience.String(), "--allow-private-networks")
	var alerts atomic.Int64
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { alerts.Add(1) }))
	defer receiver.Close()
	ping := sendSlowPing(t, p)
	mon, err := monitor.New(db.Open(t), &monitor.Config{Channels: standard.Kinds(), DeliveredElsewhere: true})
	if err != nil {
		t.Fatal(err)
	}
	project, err := mon.OpenProject(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	hook, err := project.CreateChannel(t.Context(), channels.Channel{Kind: channels.Webhook, Name: "hook", Settings: map[string]string{"url_down": receiver.URL}})
	if err != nil {
		t.Fatal(err)
	}
	slow, err := project.CheckBySlug(t.Context(), "slow")
	if err == nil {
		_, err = project.Update(t.Context(), slow.ID, checks.Spec{Channels: new(hook.ID.String())})
	}
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Process.Signal(syscall.SIGTERM)
	waitForLog(t, p, "msg=stopping")
	if !eventually(patience, func() bool {
		conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
		if err == nil {
			conn.Close()
		}
		return err != nil
	}) {
		t.Fatal("the server still accepts connections")
	}
	fmt.Fprint(ping, "dy")
	ping.answers.ReadString('\n') // the end of 100 Continue
	res, err := http.ReadResponse(ping.answers, nil)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("the accepted request got status %d", res.StatusCode)
	}
	if state, err := p.wait(); err != nil || state.ExitCode() != 0 {
		t.Errorf("the server ended with %v, %v:\n%s", state, err, p.stderr.String())
	}
	if n := alerts.Load(); n != 1 {
		t.Errorf("%d alerts were sent", n)
	}
}

func TestShutdownTimeout(t *testing.T) {
	p := start(t, dbtest.SQLite(t).URL, "--shutdown-timeout", "50ms")
	ping := sendSlowPing(t, p)
	state, err := p.stop(syscall.SIGTERM)
	if err != nil || state.ExitCode() != 0 {
		t.Errorf("the server ended with %v, %v:\n%s", state, err, p.stderr.String())
	}
	waitForLog(t, p, "requests were cut off")
	if rest, err := ping.answers.ReadString(0); strings.Contains(rest, "200 OK") {
		t.Errorf("the cut-off request got %q, %v", rest, err)
	}
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	p := start(t, dbtest.SQLite(t).URL, "--shutdown-timeout", "1h")
	sendSlowPing(t, p)
	p.cmd.Process.Signal(syscall.SIGTERM)
	waitForLog(t, p, "msg=stopping")
	state, err := p.stop(syscall.SIGTERM)
	if err != nil || state.ExitCode() == 0 {
		t.Errorf("the server ended with %v, %v", state, err)
	}
}

// Losing the keys of the first project is an error.
func TestGreetingThatCannotBeShown(t *testing.T) {
	var c serveCmd
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("this system has no /dev/full")
	}
	defer full.Close()
	mon := openMonitor(t, dbtest.SQLite(t))
	if err := c.greet(t.Context(), &service{mon: mon}, full); err == nil || !strings.Contains(err.Error(), "rollcall key create makes new ones") {
		t.Errorf("error %v", err)
	}
}

func TestLocalURL(t *testing.T) {
	for _, test := range []struct{ listen, addr, want string }{
		{"127.0.0.1:8000", "127.0.0.1:8000", "http://localhost:8000"},
		{":8000", "[::]:8000", "http://localhost:8000"},
		{"0.0.0.0:80", "0.0.0.0:80", "http://localhost:80"},
		{"[::1]:0", "[::1]:4321", "http://localhost:4321"},
		{"192.0.2.1:8000", "192.0.2.1:8000", "http://192.0.2.1:8000"},
		{"[2001:db8::1]:8000", "[2001:db8::1]:8000", "http://[2001:db8::1]:8000"},
		{"box.example.org:8000", "192.0.2.1:8000", "http://box.example.org:8000"},
	} {
		addr, err := net.ResolveTCPAddr("tcp", test.addr)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, string(localURL(test.listen, addr))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.listen, diff)
		}
	}
}

// apiCheck has the fields of a check that the tests read.
type apiCheck struct {
	UUID   string `json:"uuid"`
	NPings int64  `json:"n_pings"`
	Status string `json:"status"`
}

// TestCreationFlags: the flags bound the checks that pings create.
func TestCreationFlags(t *testing.T) {
	p := start(t, dbtest.SQLite(t).URL, "--create-rate-limit", "2", "--max-created-checks", "1")
	match := regexp.MustCompile(`ping key +(\w+)`).FindStringSubmatch(p.stdout.String())
	if match == nil {
		t.Fatal(p.stdout.String())
	}
	for i, want := range []int{201, 404, 429} {
		url := fmt.Sprintf("%s/ping/%s/job-%d?create=1", p.url, match[1], i)
		if status, body, err := (request{method: http.MethodGet, url: url}).do(); status != want {
			t.Errorf("ping %d: %d %s %v, want %d", i, status, body, err, want)
		}
	}
}

// keyOf returns the key that a first start printed.
func keyOf(t *testing.T, p *process) string {
	t.Helper()
	for word := range strings.FieldsSeq(p.stdout.String()) {
		if strings.HasPrefix(word, "rcw_") {
			return word
		}
	}
	t.Fatalf("no key in %s", p.stdout.String())
	return ""
}

func createCheck(t *testing.T, p *process, key, slug string) apiCheck {
	t.Helper()
	var c apiCheck
	call(t, p, key, http.MethodPost, "/api/v3/checks/", `{"slug": "`+slug+`"}`, &c)
	return c
}

// call makes a request that must succeed and decodes its answer.
func call(t *testing.T, p *process, key, method, path, body string, answer any) {
	t.Helper()
	r := request{method: method, url: p.url + path, body: body, header: http.Header{"X-Api-Key": {key}}}
	status, text, err := r.do()
	if err != nil || status >= 300 {
		t.Fatalf("%s %s: status %d, %v\n%s", method, path, status, err, text)
	}
	if err := json.Unmarshal([]byte(text), answer); err != nil {
		t.Fatalf("%s %s: %v\n%s", method, path, err, text)
	}
}

func TestCommitMargin(t *testing.T) {
	for _, test := range []struct {
		database string
		flag     *time.Duration
		want     time.Duration
	}{
		{"postgres://db/rollcall", nil, 2 * time.Second},
		{"postgres://db/rollcall", new(time.Duration(0)), 0},
		{"sqlite:rollcall.db", nil, 0},
		{"sqlite:rollcall.db", new(5 * time.Second), 5 * time.Second},
	} {
		d, err := installation.ParseDatabase(test.database)
		if err != nil {
			t.Fatal(err)
		}
		if got := (&serveCmd{CommitMargin: test.flag}).margin(d); got != test.want {
			t.Errorf("%s: %v, want %v", test.database, got, test.want)
		}
	}
}
