package healthchecks_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/server/internal/healthchecks"
)

// Whatever a server sends, nothing panics, and the checks that can be read have different identifiers and periods of
// whole seconds.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		current, old, "", "null", "{}", `[]`, `{"checks": null}`, `{"checks": [{}]}`, `{"checks": [{"uuid": "` + first + `"}, {"uuid": "` + first + `"}]}`,
		`{"checks": [{"uuid": "` + first + `", "timeout": 1e400}]}`, `{"checks": [{"uuid": "` + first + `", "grace": 1.5, "timeout": -0}]}`,
		`{"checks": [{"ping_url": "https://h/../` + first + `?x#y"}]}`, `{"channels": [{"id": 5}]}`, `{"error": "` + strings.Repeat("ä", 150) + `"}`, "\xff",
	} {
		f.Add(200, seed)
		f.Add(401, seed)
	}
	f.Fuzz(func(t *testing.T, status int, body string) {
		if status < 200 || status > 999 {
			t.Skip()
		}
		transport := inMemory(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		})
		source, err := healthchecks.New("https://hc.example.org", "hcw_0000000000000000000000000000", &client.Config{HTTPClient: &http.Client{Transport: transport}, Tries: 1})
		if err != nil {
			t.Fatal(err)
		}
		list, err := source.Checks(t.Context())
		if err != nil && !strings.HasPrefix(err.Error(), "healthchecks: ") {
			t.Errorf("%d %q: %v", status, body, err)
		}
		seen := map[uuid.UUID]bool{}
		for _, c := range list {
			if seen[c.ID] || c.ID == uuid.Nil {
				t.Errorf("%q: identifier %v", body, c.ID)
			}
			seen[c.ID] = true
			_ = c.Validate(time.Unix(0, 0)) // must not panic
			for _, period := range []*time.Duration{c.Timeout, c.Grace} {
				if period != nil && *period%time.Second != 0 {
					t.Errorf("%q: a period of %v", body, *period)
				}
			}
		}
		if _, err := source.Channels(t.Context()); err != nil && len(err.Error()) > 2000 {
			t.Errorf("%d: an error of %d bytes", status, len(err.Error()))
		}
	})
}
