package healthchecks_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/client/healthchecks"
)

// answering is a server that gives one answer to everything, without a network.
type answering struct {
	status int
	body   string
}

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(a.body)), Request: r}, nil
}

// Whatever another server answers: no panic, and the checks that are read have different identifiers and periods that
// are whole seconds or none.
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
		source, err := healthchecks.New("https://hc.example.org", "key", &healthchecks.Config{
			HTTPClient: &http.Client{Transport: answering{status, body}}, Tries: 1, Wait: func(context.Context, time.Duration) {},
		})
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
			_ = c.Validate(time.Unix(0, 0)) // refused here or later, but without a panic
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
