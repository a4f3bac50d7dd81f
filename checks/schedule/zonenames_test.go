package schedule

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata"
)

// TestZoneNames holds the tables to the data: every name exists, and an old one
// has the offsets of the current one since 1970.
func TestZoneNames(t *testing.T) {
	count := 0
	for name := range strings.FieldsSeq(currentZones) {
		loc, err := LoadLocation(name)
		if err != nil || loc.String() != name {
			t.Errorf("LoadLocation(%q) = %v, %v", name, loc, err)
		}
		count++
	}
	if count < 400 {
		t.Errorf("only %d zones", count)
	}
	for line := range strings.Lines(strings.TrimSpace(renamedZones)) {
		names := strings.Fields(line)
		if len(names) != 2 || !hasWord(currentZones, names[1]) || hasWord(currentZones, names[0]) {
			t.Errorf("bad line %q", line)
			continue
		}
		loc, err := LoadLocation(names[0])
		if err != nil || loc.String() != names[1] {
			t.Errorf("LoadLocation(%q) = %v, %v, want %s", names[0], loc, err, names[1])
			continue
		}
		sameSince1970(t, names[0], loc)
	}
}

func sameSince1970(t *testing.T, old string, current *time.Location) {
	t.Helper()
	loc, err := time.LoadLocation(old)
	if err != nil {
		t.Logf("these data do not have %s any more", old)
		return
	}
	for u := int64(0); u < 2145916800; u += 12 * 3600 {
		at := time.Unix(u, 0)
		_, want := at.In(loc).Zone()
		if _, got := at.In(current).Zone(); got != want {
			t.Errorf("%s and %s differ at %v", old, current, at.UTC())
			return
		}
	}
}
