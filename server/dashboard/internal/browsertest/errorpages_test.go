package browsertest_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/browsertest"
	"github.com/rollcall-dev/rollcall/server/people"
)

// counter counts the requests that a server gets from the first clear on, without those for assets.
type counter struct {
	mu   sync.Mutex
	seen map[string]int
	// refuse answers a request instead of the server, if it returns a status.
	refuse func(r *http.Request) int
}

func (c *counter) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		if c.seen != nil && !strings.HasPrefix(r.URL.Path, "/assets/") {
			c.seen[r.URL.RequestURI()]++
		}
		refuse := c.refuse
		c.mu.Unlock()
		if refuse != nil {
			if status := refuse(r); status != 0 {
				w.Header().Set("Retry-After", "1")
				http.Error(w, http.StatusText(status), status)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// clear forgets what was counted and returns it.
func (c *counter) clear() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.seen
	c.seen = map[string]int{}
	return before
}

// hasty lets the timers of a page end at once, so that a test sees what the page would do in the next minutes.
const hasty = "const realTimeout = window.setTimeout; window.setTimeout = (f) => realTimeout(f, 0); window.setInterval = (f) => realTimeout(f, 0)"

// rests fails the test unless the page that a browser shows was requested once since counted was cleared, and has asked for nothing
// since. It changes the project and then lets the page wait for answers that take longer than its own would.
func (s *site) rests(page *browsertest.Page) {
	s.Helper()
	s.create(checks.Spec{Name: new("another")})
	browsertest.Eval[any](page, "(async () => { for (let i = 0; i < 30; i++) await fetch('/push.js') })()")
	seen := s.counted.clear()
	delete(seen, "/push.js")
	for path, n := range seen {
		if path != page.Path() || n != 1 {
			s.Errorf("%s: %d requests of %s", page.Path(), n, path)
		}
	}
}

// TestErrorPagesRest opens pages that are refused: they are requested once.
func TestErrorPagesRest(t *testing.T) {
	t.Parallel()
	s := newTown(t)
	c := s.create(checks.Spec{Name: new("backup")})
	s.person("bob@example.org", people.Viewer)
	page := s.as("bob@example.org")
	page.Tolerate("status of 403", "status of 404")
	page.Go(s.path(""))
	page.BeforeScripts(hasty)
	check := "/checks/" + c.UniqueKey()
	for path, title := range map[string]string{
		s.path("checks/new"): "Not allowed", check + "/edit": "Not allowed", s.path("members"): "Not allowed", s.path("keys"): "Not allowed",
		s.path("integrations/new"): "Not allowed", check + "/pings/7": "Page not found", check + "/nothing": "Page not found", "/people": "Not allowed",
	} {
		page.Go("about:blank")
		s.counted.clear()
		page.Go(path)
		page.WaitText("h1", title)
		s.rests(page)
	}
}

// TestRoleTakenAway: the page of an editor who becomes a viewer is loaded once more, and then rests.
func TestRoleTakenAway(t *testing.T) {
	t.Parallel()
	s := newTown(t)
	bob := s.person("bob@example.org", people.Editor)
	page := s.as("bob@example.org")
	page.Tolerate("status of 401", "status of 403")
	s.ping(s.create(checks.Spec{Name: new("backup")}).ID, pings.Failure)
	page.Go(s.path("checks/new"))
	page.Wait("document.title.startsWith('1 down')") // as the stream says
	page.BeforeScripts(hasty)
	s.counted.clear()
	s.must(s.people.SetRole(t.Context(), bob.ID, s.project.ID, people.Viewer))
	page.WaitText("h1", "Not allowed")
	if n := s.counted.clear()[s.path("checks/new")]; n > 3 { // by the refresh, by the end of the stream, and as a page
		t.Errorf("the page was requested %d times until it showed that it is not allowed", n)
	}
	s.create(checks.Spec{Name: new("one more")})
	browsertest.Eval[any](page, "(async () => { for (let i = 0; i < 30; i++) await fetch('/push.js') })()")
	if seen := s.counted.clear(); len(seen) != 1 {
		t.Errorf("the page asks on: %v", seen)
	}
}

// TestServerRefuses: a page that the server cannot answer keeps what it shows and says so. It recovers by itself.
func TestServerRefuses(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusBadGateway} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			c := s.create(checks.Spec{Name: new("backup"), Timeout: new(time.Hour)})
			page := s.browser(s.keys.ReadWrite)
			page.Tolerate(fmt.Sprint("status of ", status))
			page.WaitText(state(c), "new")
			stay(page)
			s.counted.mu.Lock()
			s.counted.refuse = func(r *http.Request) int {
				if r.URL.Path == s.path("") {
					return status
				}
				return 0
			}
			s.counted.mu.Unlock()
			s.create(checks.Spec{Name: new("another")})
			page.WaitText("#offline:not([hidden])", "Connection lost")
			s.counted.mu.Lock()
			s.counted.refuse = nil
			s.counted.mu.Unlock()
			page.WaitText("#rows", "another")
			page.Wait("document.querySelector('#offline').hidden")
			stayed(t, page)
		})
	}
}
