package schedule

import (
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"
)

// TestZoneNames compares the list with the data: every name is listed once and exists, and an old one has had the
// offsets of the current one since 1970.
func TestZoneNames(t *testing.T) {
	all := strings.Fields(zoneNames)
	slices.Sort(all)
	if len(all) < 500 || len(slices.Compact(all)) != len(strings.Fields(zoneNames)) {
		t.Errorf("%d names, some of them twice", len(all))
	}
	for line := range strings.Lines(zoneNames) {
		names := strings.Fields(line)
		for _, name := range names {
			loc, err := LoadLocation(name)
			if err != nil || loc.String() != names[0] {
				t.Errorf("LoadLocation(%q) = %v, %v, want %s", name, loc, err, names[0])
			} else if name != names[0] {
				sameSince1970(t, name, loc)
			}
		}
	}
}

func sameSince1970(t *testing.T, old string, current *time.Location) {
	t.Helper()
	loc, err := time.LoadLocation(old)
	if err != nil {
		t.Logf("the data of this machine do not have %s", old)
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

func TestZones(t *testing.T) {
	zones := Zones()
	if zones[0] != "UTC" || !slices.IsSorted(zones[1:]) || !slices.Contains(zones, "Europe/Riga") || !slices.Contains(zones, "America/Argentina/Ushuaia") {
		t.Errorf("Zones() = %q", zones)
	}
	for _, name := range zones {
		if loc, err := LoadLocation(name); err != nil || loc.String() != name {
			t.Errorf("LoadLocation(%q) = %v, %v", name, loc, err)
		}
		if strings.HasPrefix(name, "Etc/") || name == "EST" {
			t.Errorf("%s is not a place", name)
		}
	}
}
