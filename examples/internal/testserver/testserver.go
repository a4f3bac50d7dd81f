// Package testserver gives tests of the examples a server to talk to, and programs to run.
package testserver

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/examples/internal/program"
	"github.com/rollcall-dev/rollcall/server"
)

// Site is a running server with one check.
type Site struct {
	URL     string
	Check   checks.Check
	PingURL string

	t   *testing.T
	mon *monitor.Monitor
}

// Start starts a server that ends with the test.
func Start(t *testing.T) *Site {
	t.Helper()
	s := &Site{t: t}
	var err error
	if s.mon, err = monitor.New(dbtest.SQLite(t).Open(t), nil); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewUnstartedServer(nil)
	s.URL = "http://" + web.Listener.Addr().String()
	srv, err := server.New(s.mon, &server.Config{BaseURL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	web.Config.Handler = srv
	web.Start()
	t.Cleanup(web.Close)
	project, err := s.mon.OpenProject(t.Context(), "jobs")
	if err != nil {
		t.Fatal(err)
	}
	c, err := project.Create(t.Context(), checks.Spec{Slug: new("backup")})
	if err != nil {
		t.Fatal(err)
	}
	s.Check = *c.Check
	s.PingURL = s.URL + "/ping/" + s.Check.ID.String()
	return s
}

// Pings returns the pings since the last call, oldest first, each as its kind and, if it has a body, a colon and the
// trimmed body.
func (s *Site) Pings() []string {
	s.t.Helper()
	list, err := checks.Collect(s.mon.Project(s.Check.ProjectID).Pings(s.t.Context(), s.Check.ID, checks.PingQuery{}))
	if err != nil {
		s.t.Fatal(err)
	}
	var texts []string
	for _, ping := range list {
		if ping.N <= s.Check.NPings {
			break
		}
		text := string(ping.Kind)
		if ping.BodySize > 0 {
			body, err := s.mon.Project(s.Check.ProjectID).PingBody(s.t.Context(), s.Check.ID, ping.N)
			if err != nil {
				s.t.Fatal(err)
			}
			text += ": " + strings.TrimSpace(string(body))
		}
		texts = append([]string{text}, texts...)
	}
	s.Check.NPings += int64(len(texts))
	return texts
}

// Job returns a directory for PATH with a program "backup". It prints a line, and exits with 3 if $FAIL is set.
func Job(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	script := "#!/bin/sh\necho 12 files\nif [ -n \"$FAIL\" ]; then echo disk full >&2; exit 3; fi\n"
	if err := os.WriteFile(filepath.Join(dir, "backup"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Rollcall builds the rollcall binary into a directory.
func Rollcall(t *testing.T, dir string) {
	t.Helper()
	if _, err := program.Build(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
}

// Require returns the path of a program. If the program is not installed, the test is skipped, or fails with
// ROLLCALL_TEST_REQUIRE=all.
func Require(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil && os.Getenv("ROLLCALL_TEST_REQUIRE") == "all" {
		t.Fatal(err)
	}
	if err != nil {
		t.Skip(err)
	}
	return path
}
