package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
)

// TestDemo makes a short history and looks at the first page.
func TestDemo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := run(ctx, options{listen: "127.0.0.1:0", days: 3, seed: 1, now: time.Date(2026, 10, 26, 12, 24, 0, 0, time.UTC)}, in)
		in.CloseWithError(err)
		done <- err
	}()
	link, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := (&http.Client{Jar: jar}).Get(strings.TrimSpace(link))
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{">2 down</a>", "1 late", "1 paused", ">nightly-backup</a>", "Since yesterday 18:00:"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if t.Failed() {
		t.Logf("%s", page)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestUsage: what -h prints has no default that is none.
func TestUsage(t *testing.T) {
	var o options
	var usage strings.Builder
	flags := newFlags(&o)
	flags.SetOutput(&usage)
	flags.PrintDefaults()
	if strings.Contains(usage.String(), "0001-01-01") || !strings.Contains(usage.String(), "-now") {
		t.Error(usage.String())
	}
	if err := flags.Parse([]string{"-now", "2026-11-22T14:24:00Z"}); err != nil || !o.now.Equal(time.Date(2026, 11, 22, 14, 24, 0, 0, time.UTC)) {
		t.Errorf("%v, %v", o.now, err)
	}
}

// TestDeterministic makes a history twice.
func TestDeterministic(t *testing.T) {
	var first string
	for range 2 {
		s, err := newSite(t.Context(), options{database: t.TempDir() + "/demo.db", days: 2, seed: 7, now: time.Date(2026, 11, 22, 12, 24, 0, 0, time.UTC)}, "http://localhost")
		if err != nil {
			t.Fatal(err)
		}
		text, err := s.story(t.Context())
		s.close()
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = text
		}
		if text != first || len(text) < 1000 {
			t.Fatalf("the histories differ:\n%s\n%s", first, text)
		}
	}
}

// story tells the last pings of each check.
func (s *site) story(ctx context.Context) (string, error) {
	var b strings.Builder
	projects, err := s.mon.Projects().List(ctx)
	if err != nil {
		return "", err
	}
	list, err := checks.Stored(s.mon.Project(projects[0].ID).Checks(ctx, checks.Query{}))
	if err != nil {
		return "", err
	}
	for _, c := range list {
		log, err := checks.Collect(s.mon.Project(c.ProjectID).Pings(ctx, c.ID, checks.PingQuery{}))
		if err != nil {
			return "", err
		}
		fmt.Fprintln(&b, c.Name, c.ID, c.Status(s.mon.Now()))
		for _, ping := range log[:min(5, len(log))] {
			fmt.Fprintln(&b, ping.N, ping.Kind, ping.At, ping.BodySize)
		}
	}
	return b.String(), nil
}
