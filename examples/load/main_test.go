package main

import (
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks/storetest/dbtest"
)

// TestMain makes the test program the servers that the tests start, too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "child" {
		main()
		return
	}
	dbtest.Main(m)
}

// measured runs the program and returns what it prints, which must have lines of these forms.
func measured(t *testing.T, args []string, forms ...string) {
	t.Helper()
	var out strings.Builder
	if err := run(t.Context(), append(args, "--duration=200ms"), &out); err != nil {
		t.Fatal(err)
	}
	for _, form := range forms {
		if !regexp.MustCompile("(?m)^" + form + "$").MatchString(out.String()) {
			t.Errorf("no line is of the form %q in\n%s", form, out.String())
		}
	}
}

func TestLoad(t *testing.T) {
	chart := filepath.Join(t.TempDir(), "latency.svg")
	pings := []string{
		`SQLite, 70 checks in 7 projects, .*`, ` +2( +\d+){2} +\d+\.\d\d( +\d\S*s){4} +\d+\.\d +\d+`,
		`median: \d+ pings/s of \d+, ratio \d\.\d\d; p50 .*`, `a ping: server .* pings a batch`,
	}
	measured(t, []string{"--checks=70", "--projects=7", "--connections=8", "--rounds=2", "--svg=" + chart}, pings...)
	text, err := os.ReadFile(chart)
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for d := xml.NewDecoder(strings.NewReader(string(text))); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("the chart is not XML: %v\n%s", err, text)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "polyline" {
			lines++
		}
	}
	if lines != 4 {
		t.Errorf("the chart has %d lines, want p50, p90, p99 and max", lines)
	}
	measured(t, []string{"--checks=3", "--connections=4", "--rounds=1", "--new-connections", "--body=20000"}, `median: [1-9].*`)
	measured(t, []string{"--checks=3", "--connections=4", "--rounds=1", "--rate=100"}, `median: \d\d?\d? pings/s of .*`)
	measured(t, []string{"--checks=30", "--reads", "--connections=2"}, `one check .*`, `badge of a check .*`, `badge of a project .*`, `list of checks .*`)
}

func TestOverdue(t *testing.T) {
	measured(t, []string{"--checks=2000", "--overdue=1500"}, `start-up: .*`, `idle watcher: .*`, `1500 checks that were overdue at once are down after .*`)
}

// TestPostgreSQL takes the server of the tests, and makes one of its own as a user does.
func TestPostgreSQL(t *testing.T) {
	db := dbtest.PostgreSQL(t)
	for _, database := range []string{db.URL, "postgres"} {
		measured(t, []string{"--database=" + database, "--checks=20", "--projects=3", "--connections=4", "--rounds=1"}, `PostgreSQL, 20 checks in 3 .*`, `median: .*`)
	}
	measured(t, []string{"--database=" + dbtest.PostgreSQL(t).URL, "--checks=100", "--overdue=60"}, `60 checks .*`)
	for _, flags := range [][]string{{"--servers=3"}, {"--servers=2", "--scatter"}} {
		args := []string{"--database=" + dbtest.PostgreSQL(t).URL, "--checks=20", "--connections=6", "--rounds=2"}
		measured(t, append(args, flags...), ` +2 .* \d+\.\d\d`, `median: \d+\.\d\d times the pings of one server`)
	}
}

func TestRefused(t *testing.T) {
	for _, args := range [][]string{
		{"--checks=0"}, {"--connections=0"}, {"--overdue=2000"}, {"--database=mysql://x"}, {"--duration=1ns"}, {"--projects=5", "--checks=4"},
		{"--rate=-3"}, {"--unknown"}, {"--servers=0"}, {"--servers=17"}, {"--servers=2", "--reads"},
	} {
		if err := run(t.Context(), args, io.Discard); err == nil {
			t.Errorf("%v is accepted", args)
		}
	}
}

func TestQuantile(t *testing.T) {
	o := outcome{}
	if got := o.quantile(0.5); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
	for i := range 100 {
		o.latencies = append(o.latencies, time.Duration(i+1))
	}
	for share, want := range map[float64]time.Duration{0: 1, 0.5: 51, 0.99: 100, 1: 100} {
		if got := o.quantile(share); got != want {
			t.Errorf("quantile %v: %d, want %d", share, got, want)
		}
	}
}

func TestComplete(t *testing.T) {
	for answer, want := range map[string]bool{
		"": false, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nO": false, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK": true,
		"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n": true, "HTTP/1.1 200 OK\r\n\r\n": false,
		"HTTP/1.1 503 x\r\nDate: y\r\nContent-Length: 1\r\nX: z\r\n\r\nn": true,
	} {
		if got := complete([]byte(answer)); got != want {
			t.Errorf("%q: %v", answer, got)
		}
	}
	if err := statusError([]byte("HTTP/1.1 503 Service Unavailable\r\n\r\n")); err == nil {
		t.Error("503 is no error")
	}
}
