package checks_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestJSON writes a check as JSON and reads it again: nothing is lost, and all names have one style.
func TestJSON(t *testing.T) {
	now := time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC)
	c, err := checks.New(uuid.New(), checks.Spec{
		Name: new("job"), Slug: new("job"), Tags: []string{"a", "b"}, Desc: new("d"), Schedule: new("0 3 * * *"), TZ: new("Europe/Riga"),
		MaxRuntime: new(time.Hour), ManualResume: new(true), StartKW: new("begin"), SuccessKW: new("done"), FailureKW: new("error"),
		FilterSubject: new(true), FilterBody: new(true), FilterHTTPBody: new(true), FilterDefaultFail: new(true), Methods: new("POST"),
		AlertAfter: new(2), RepeatEvery: new(time.Hour), QuietHours: new("22:00-06:00"), RecordOnly: new(true), After: new("first"),
	}, now)
	if err != nil {
		t.Fatal(err)
	}
	c.Channels = []uuid.UUID{uuid.New()}
	for _, kind := range []pings.Kind{pings.Start, pings.Failure} {
		now = now.Add(time.Minute)
		if c, _, _, err = c.Ping(pings.Signal{Kind: kind}, now); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var got checks.Check
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c, got, cmpopts.IgnoreUnexported(checks.Check{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("read again (-want +got):\n%s", diff)
	}
	var names map[string]any
	if err := json.Unmarshal(text, &names); err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !regexp.MustCompile(`^[a-z_]+$`).MatchString(name) {
			t.Errorf("the name %q", name)
		}
	}
	if len(names) < 30 {
		t.Errorf("%d names: %s", len(names), text)
	}
}
