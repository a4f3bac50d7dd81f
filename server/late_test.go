package server_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/internal/limit"
)

// TestLateAnswers has a database that takes longer than a request may. The client gets 503, or an answer that was ready
// nevertheless, and the log has one line with the route and the time.
func TestLateAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var before, after string // operations that the database begins late, or answers late
		store := &dbtest.Hooked{Store: dbtest.Memory(t), Around: func(op string, do func() error) error {
			if op == before {
				time.Sleep(limit.AnswerTime + time.Second)
			}
			err := do()
			if op == after {
				time.Sleep(limit.AnswerTime + time.Second)
			}
			return err
		}}
		log := &lockedBuffer{}
		mon, srv := newServer(t, store, monitor.Config{}, server.Config{Logger: slog.New(slog.NewTextHandler(log, nil))})
		project, keys, err := mon.Projects().Create(t.Context(), checks.ProjectSpec{Name: "p"})
		if err != nil {
			t.Fatal(err)
		}
		check, err := mon.Project(project.ID).Create(t.Context(), checks.Spec{})
		if err != nil {
			t.Fatal(err)
		}
		badge := badges.CheckPath(check.Check.BadgeKey.String(), badges.SVG, false)
		for _, test := range []struct {
			path, before, after string
			status              int
			logged              []string
		}{
			{"/api/v3/checks/", "Checks", "", 503, []string{"a request failed", "route=/api/v3/checks ", "status=503", "context deadline exceeded"}},
			{"/api/v3/metrics/", "Checks", "", 503, []string{"a request failed", "route=/api/v3/metrics "}},
			{"/api/v3/channels/", "Channels", "", 503, []string{"a request failed", "route=/api/v3/channels "}},
			{badge, "ByBadge", "", 503, []string{"a request failed", "route=/badge "}},
			{badge, "", "ByBadge", 200, []string{"a request took too long", "route=/badge ", "status=200"}},
			{badge, "", "", 200, nil},
		} {
			time.Sleep(time.Second) // for the next line of the log
			before, after = test.before, test.after
			logged := log.String()
			w, r := httptest.NewRecorder(), httptest.NewRequest("GET", test.path, nil)
			r.Header.Set("X-Api-Key", keys.ReadWrite)
			srv.ServeHTTP(w, r)
			if w.Code != test.status || test.status == 503 && (w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), `"unavailable"`)) {
				t.Errorf("%s: status %d, %v %s", test.path, w.Code, w.Header(), w.Body)
			}
			logged = strings.TrimPrefix(log.String(), logged)
			lines := strings.Count(logged, "\n")
			if test.logged == nil {
				if lines != 0 {
					t.Errorf("%s: logged %s", test.path, logged)
				}
				continue
			}
			for _, want := range append(test.logged, "duration=51s") {
				if lines != 1 || !strings.Contains(logged, want) {
					t.Errorf("%s: the log lacks %q, or is not one line: %s", test.path, want, logged)
				}
			}
		}
	})
}

// stuck is an answer of which the client takes nothing.
type stuck struct{ *httptest.ResponseRecorder }

func (stuck) Write([]byte) (int, error) {
	time.Sleep(2 * time.Minute)
	return 0, http.ErrHandlerTimeout
}

// TestUnsentAnswer: an answer that could not be sent in time is in the log.
func TestUnsentAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &lockedBuffer{}
		_, srv := newServer(t, dbtest.Memory(t), monitor.Config{}, server.Config{Logger: slog.New(slog.NewTextHandler(log, nil))})
		srv.ServeHTTP(stuck{httptest.NewRecorder()}, httptest.NewRequest("GET", "/readyz", nil))
		if got := log.String(); !strings.Contains(got, "a request took too long") || !strings.Contains(got, "route=/readyz") || !strings.Contains(got, "bytes=0 duration=2m0s") {
			t.Errorf("the log has %q", got)
		}
	})
}
