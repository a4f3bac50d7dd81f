package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
)

// maxAttackMemory is the resident memory, in kB, that a server may need while clients without a key attack it.
const maxAttackMemory = 150_000

// TestMemoryUnderAttack sends large requests without a valid key, and all but the last byte of each. The server must
// stay small and answer pings meanwhile.
func TestMemoryUnderAttack(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector needs memory of its own")
	}
	const (
		connections = 200
		megabyte    = 1_000_000
		post        = "POST /api/v3/checks/ HTTP/1.1\r\nHost: x\r\n"
		unknownPing = "POST /ping/00000000-0000-4000-8000-000000000000 HTTP/1.1\r\nHost: x\r\n"
	)
	unknownKey := strings.Repeat("k", 32)
	large := `{"name":"` + strings.Repeat("x", megabyte) + `"}`
	inChunks := "Transfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x\r\n", megabyte) + large[:megabyte]
	var manyFields strings.Builder
	for i := range 6_000 {
		fmt.Fprintf(&manyFields, `"%x":0,`, i)
	}
	length := fmt.Sprintf("Content-Length: %d\r\n", megabyte)
	// The collector runs often, so that the peak is of what the server needs, and not of garbage on a busy machine.
	p, err := startProcess(append(cleanEnv(), "GOGC=50"), t.TempDir(), "--database", dbtest.SQLite(t).URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	ping := createCheck(t, p, keyOf(t, p), "attacked").UUID
	t.Logf("before: %d kB", peakMemory(t, p))
	for _, attack := range []struct{ name, request string }{
		{"no key", post + length + "\r\n" + large[:megabyte-1]},
		{"no key, in chunks", post + inChunks},
		{"unknown key in the header", post + "X-Api-Key: " + unknownKey + "\r\n" + length + "\r\n" + large[:megabyte-1]},
		{"unknown key in the body", post + length + "\r\n" + `{"api_key":"` + unknownKey + `",` + large[1:megabyte-50]},
		{"many fields", post + "Content-Length: 65000\r\n\r\n{" + manyFields.String() + strings.Repeat(" ", 65_000-2-manyFields.Len()) + "0"},
		{"ping of no check", unknownPing + length + "\r\n" + large[:megabyte-1]},
		{"ping of no check, the last byte missing", unknownPing + "Content-Length: 100000\r\n\r\n" + large[:99_999]},
		{"ping of no check, in chunks", unknownPing + inChunks[:100_000]},
	} {
		hold := holdOpen(t, p, "127.0.0.1", connections, attack.request)
		took := make([]time.Duration, 5)
		for i := range took {
			began := time.Now()
			if status, body, err := (request{method: http.MethodGet, url: p.url + "/ping/" + ping}).do(); err != nil || status != 200 {
				t.Fatalf("%s: a ping got %d %s %v", attack.name, status, body, err)
			}
			took[i] = time.Since(began)
		}
		slices.Sort(took)
		if median := took[len(took)/2]; median > 30*time.Second { // the connections are held for a minute
			t.Errorf("%s: a ping took %v", attack.name, median)
		}
		memory := peakMemory(t, p)
		if memory > maxAttackMemory {
			t.Errorf("%s: the server needed %d kB, want at most %d", attack.name, memory, maxAttackMemory)
		}
		t.Logf("%s: %d kB so far, pings took %v", attack.name, memory, took)
		hold()
	}
}

// holdOpen sends a text over many connections from an address, and returns the function that closes them.
func holdOpen(t *testing.T, p *process, from string, connections int, text string) (end func()) {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: patience}
	conns := make([]net.Conn, connections)
	var all sync.WaitGroup
	for i := range conns {
		all.Go(func() {
			conn, err := dialer.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
			if err != nil {
				t.Error(err)
				return
			}
			_ = conn.SetDeadline(time.Now().Add(patience))
			_, _ = io.WriteString(conn, text) // the server need not read all of it
			conns[i] = conn
		})
	}
	all.Wait()
	return func() {
		for _, conn := range conns {
			if conn != nil {
				conn.Close()
			}
		}
	}
}

// peakMemory returns the peak resident memory of a process, in kB.
func peakMemory(t *testing.T, p *process) (kB int) {
	t.Helper()
	status, err := os.Open(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	defer status.Close()
	for lines := bufio.NewScanner(status); lines.Scan(); {
		if _, err := fmt.Sscanf(lines.Text(), "VmHWM: %d kB", &kB); err == nil {
			return kB
		}
	}
	t.Fatal("no VmHWM")
	return 0
}

// TestSlowConnectionsOfOneClient: an address whose connections are slow with a header, or with a body, still gets its pings answered.
func TestSlowConnectionsOfOneClient(t *testing.T) {
	p := start(t, dbtest.SQLite(t).URL, "--max-connections", "200")
	path := "/ping/" + createCheck(t, p, keyOf(t, p), "reachable").UUID
	for name, part := range map[string]string{
		"header": "GET " + path + " HTTP/1.1\r\nHost: x\r\nX: ",
		"body":   "POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nx",
	} {
		end := holdOpen(t, p, "127.0.0.1", 150, part)
		client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
		answered := func() bool {
			answer, err := client.Get(p.url + path)
			if err != nil {
				return false
			}
			answer.Body.Close()
			return answer.StatusCode == http.StatusOK
		}
		all := func() bool {
			for range 20 {
				if !answered() {
					return false
				}
			}
			return true
		}
		if !eventually(patience, all) { // once the server has waited a second for the bodies, however long it took to accept them
			t.Errorf("%s: pings are refused", name)
		}
		end()
	}
}

// TestNamedPipes: a file that is a pipe without a writer, a device or a directory ends a command with an error. A pipe with a writer,
// as process substitution makes one, is read.
func TestNamedPipes(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"pipe", "secret", "substituted"} {
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	defer func() { // what waits for a writer
		if pipe, err := os.OpenFile("pipe", os.O_RDWR, 0); err == nil {
			pipe.Close()
		}
	}()
	channel := func(file string) string {
		return "channels: [{name: a, kind: webhook, settings: {url_down: {file: " + file + "}}}]\n"
	}
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
	write("pipe.yaml", channel("secret"))
	write("device.yaml", channel("/dev/zero"))
	write("directory.yaml", channel("."))
	write("good.yaml", "checks: [{slug: a}]\n")
	const database = "sqlite:rollcall.db"
	if _, stderr, status := rollcall("migrate", "--database", database); status != 0 {
		t.Fatal(stderr)
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"apply", "-f", "pipe.yaml"}, "secret is not a regular file"},
		{[]string{"apply", "-f", "device.yaml", "--allow-files", "/dev"}, "is not a regular file"},
		{[]string{"apply", "-f", "directory.yaml"}, "is not a regular file"},
		{[]string{"apply", "-f", "."}, "is a directory"},
		{[]string{"apply", "-f", "/dev/zero"}, "the file is too long"},
		{[]string{"channel", "create", "--kind", "email", "--name", "a", "--set", "to=@pipe"}, "pipe cannot be read within 2s"},
		{[]string{"channel", "create", "--kind", "email", "--name", "a", "--set", "to=@/dev/zero"}, "too large for a secret"},
		{[]string{"schedule", "* * * * *", "--zoneinfo", "pipe"}, "neither a directory nor a regular file"},
		{[]string{"backup", "pipe/x.db"}, "not a directory"},
		{[]string{"serve", "--listen", "127.0.0.1:0", "--smtp-listen", "127.0.0.1:0", "--smtp-tls-cert", "pipe", "--smtp-tls-key", "pipe"}, "pipe cannot be read within 2s"},
		{[]string{"serve", "--listen", "127.0.0.1:0", "--mail-host", "localhost", "--mail-from", "a@b.example", "--mail-dkim-key", "pipe", "--mail-dkim-selector", "a"}, "pipe cannot be read within 2s"},
	} {
		_, stderr, status := rollcall(append(test.args, "--database", database)...)
		if status == 0 || !strings.Contains(stderr, test.want) {
			t.Errorf("%v: status %d, %q, want %q", test.args, status, stderr, test.want)
		}
	}
	go func() {
		text, err := os.ReadFile("good.yaml")
		if err == nil {
			err = os.WriteFile("substituted", text, 0o600)
		}
		if err != nil {
			t.Error(err)
		}
	}()
	if stdout, stderr, status := rollcall("apply", "-f", "substituted", "--database", database); status != 0 || !strings.Contains(stdout, `+ check "a"`) {
		t.Errorf("a pipe with a writer: status %d, %s%s", status, stdout, stderr)
	}
}

// TestIdleConnectionsOfOneClient opens more connections than one client may have. Pings of other clients are answered
// at once, and its own soon.
func TestIdleConnectionsOfOneClient(t *testing.T) {
	p := start(t, dbtest.SQLite(t).URL, "--max-connections", "40")
	ping := p.url + "/ping/" + createCheck(t, p, keyOf(t, p), "reachable").UUID
	defer holdOpen(t, p, "127.0.0.1", 100, "")()
	for _, from := range []string{"127.0.0.2", "127.0.0.1"} {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		client := &http.Client{Timeout: patience, Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}}
		answered := func() bool {
			answer, err := client.Get(ping)
			if err != nil {
				return false
			}
			answer.Body.Close()
			return answer.StatusCode == http.StatusOK
		}
		if from == "127.0.0.2" && !answered() || !eventually(patience, answered) {
			t.Errorf("a ping from %s was not answered", from)
		}
	}
}
