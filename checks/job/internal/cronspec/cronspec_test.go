package cronspec_test

import (
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks/job/internal/cronspec"
)

// TestZone names locations, among them the local one.
func TestZone(t *testing.T) {
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		tz       string
		location *time.Location
		want     string
	}{
		{"x", nil, "UTC"}, {"x", time.UTC, "UTC"}, {"x", tokyo, "Asia/Tokyo"},
		{"Europe/Berlin", time.Local, "Europe/Berlin"}, {":Europe/Berlin", time.Local, "Europe/Berlin"}, {"", time.Local, "UTC"},
		{"Mars/Olympus", time.Local, ""}, {"/etc/localtime", time.Local, ""}, {"../x", time.Local, ""},
	} {
		t.Setenv("TZ", test.tz)
		if zone, err := cronspec.Zone(test.location); zone != test.want || (err == nil) != (test.want != "") {
			t.Errorf("TZ=%s: %q, %v, want %q", test.tz, zone, err, test.want)
		}
	}
}
