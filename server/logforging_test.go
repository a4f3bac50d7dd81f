package server_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"unicode"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/server"
)

// forged is a smuggled log line that also colours a terminal.
const forged = "x\r\ntime=2026-03-15T12:00:00Z level=ERROR msg=forged\n{\"level\":\"ERROR\",\"msg\":\"forged\"}\x1b[31m\x1b]0;title\a\u009b31m\u202e\u2028"

// logged returns a site like this one on another store, which logs everything as text and as JSON.
func (s *site) logged(db monitor.Store) (site *site, text, document *lockedBuffer) {
	s.Helper()
	text, document = &lockedBuffer{}, &lockedBuffer{}
	all := &slog.HandlerOptions{Level: slog.LevelDebug}
	logger := slog.New(slog.NewMultiHandler(slog.NewTextHandler(text, all), slog.NewJSONHandler(document, all)))
	site = s.another(db, monitor.Config{Logger: logger}, server.Config{Logger: logger, AccessLog: true})
	site.client = http.DefaultClient // the requests are not as documented
	return site, text, document
}

// tryEverything sends requests with keys and forged lines in every place.
func (s *site) tryEverything(id string) {
	s.Helper()
	escaped := strings.NewReplacer("\r", "%0D", "\n", "%0A", "\x1b", "%1B", "\a", "%07", " ", "%20", "\"", "%22", "{", "%7B", "}", "%7D").Replace(forged)
	badge := s.signer.Path(s.project.BadgeKey, "a", badges.SVG, true)
	for _, path := range []string{
		"/api/v3/checks/", "/api/v3/checks/" + id, "/api/v3/checks/" + s.keys.ReadWrite, "/api/v3/checks/" + escaped, "/ping/" + id, "/ping/" + s.project.PingKey + "/job",
		"/ping/" + s.project.PingKey + "/new?create=1", "/ping/" + s.project.PingKey + "/" + escaped, "/" + s.keys.ReadWrite, "/" + escaped, badge,
		"/badge/" + s.keys.ReadWrite + "/" + escaped + ".svg", "/api/v3/metrics", "/api/v3/badges?x=" + s.keys.ReadWrite + escaped,
	} {
		for _, method := range []string{"GET", "POST", "DELETE"} {
			for _, key := range []string{s.keys.ReadWrite, s.keys.ReadOnly, ""} {
				s.send(method, path, object{"api_key": s.keys.ReadWrite, "name": forged[:90], "tags": forged, "slug": forged}, "X-Api-Key", key,
					"User-Agent", "x\t\u009b31m\u202e"+s.keys.ReadWrite, "Referer", "https://x/"+s.keys.ReadOnly, "Authorization", "Bearer "+s.keys.ReadOnly)
			}
		}
	}
	s.raw("GET /api/v3/checks/ HTTP/1.1\r\nHost: x\r\nX-Api-Key: " + s.keys.ReadWrite + "\r\nX\x1b[31m: y\r\n\r\n")
	s.raw("G\x1b[31mET /" + s.keys.ReadWrite + " HTTP/1.1\r\nHost: x\r\n\r\n")
}

// TestLogs: whatever is requested and whatever fails, the server writes each line of the log, no character acts on a
// terminal, and no key is in it.
func TestLogs(t *testing.T) {
	each(t, nil, func(s *site) {
		id := s.create(object{"slug": "job", "name": forged[:90], "tags": "a " + forged, "desc": forged})["uuid"].(string)
		lines, hidden := 0, 0
		for _, db := range []monitor.Store{
			s.store, outage(s.store, errors.New("the database says "+forged)), outage(s.store, fmt.Errorf("%w: %s", checks.ErrUnavailable, forged)), outage(s.store, nil),
			&dbtest.Hooked{Store: s.store, Around: func(op string, do func() error) error {
				if op == "Update" {
					panic(forged)
				}
				return do()
			}},
		} {
			site, text, document := s.logged(db)
			site.tryEverything(id)
			lines += site.checkLog(text.String(), document.String())
			hidden += strings.Count(text.String(), "path=/ping/(key)/new")
		}
		if lines < 100 || hidden == 0 {
			s.Errorf("the log has %d lines, %d of them with a redacted key; want 100 and 1 at least", lines, hidden)
		}
	})
}

// checkLog compares the log as text with the log as JSON, and returns the number of lines.
func (s *site) checkLog(text, document string) int {
	s.Helper()
	for name, secret := range map[string]string{
		"the API key": s.keys.ReadWrite, "the read-only key": s.keys.ReadOnly, "the ping key": s.project.PingKey, "the badge key": s.project.BadgeKey,
	} {
		for _, log := range []string{text, document} {
			if at := strings.Index(log, secret); at >= 0 {
				s.Errorf("the log has %s: %.300s", name, log[max(0, at-150):])
			}
		}
	}
	documents := strings.SplitAfter(document, "\n")
	lines := strings.SplitAfter(text, "\n")
	s.equal("lines as text and as JSON", len(lines), len(documents))
	for i, line := range lines[:len(lines)-1] {
		if !strings.HasPrefix(line, "time=") || strings.ContainsFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool { return !unicode.IsPrint(r) }) {
			s.Errorf("line %d is not the server's: %q", i, line)
		}
		var entry struct {
			Level, Msg string
			Rollcall   struct{ Component string }
		}
		if err := json.Unmarshal([]byte(documents[i]), &entry); err != nil || entry.Msg == "forged" || entry.Level == "" || entry.Rollcall.Component != "http" {
			s.Errorf("line %d as JSON is not the server's, error %v: %q", i, err, documents[i])
		}
		if strings.ContainsFunc(strings.TrimSuffix(documents[i], "\n"), func(r rune) bool { return r < ' ' }) {
			s.Errorf("line %d has a control character: %q", i, documents[i])
		}
	}
	return len(lines) - 1
}
