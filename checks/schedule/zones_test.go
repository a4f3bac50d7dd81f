package schedule

import (
	"slices"
	"strings"
	"testing"
)

// TestZoneNames compares the list with the embedded data: every name is listed once, and each current one exists. That an old
// one has had the offsets of the current one since 1970, zonegen.go has checked.
func TestZoneNames(t *testing.T) {
	all := strings.Fields(zoneNames)
	slices.Sort(all)
	if len(all) < 500 || len(slices.Compact(all)) != len(strings.Fields(zoneNames)) {
		t.Errorf("%d names, some of them twice", len(all))
	}
	for line := range strings.Lines(zoneNames) {
		names := strings.Fields(line)
		for _, name := range names {
			if loc, err := LoadLocation(name); err != nil || loc.String() != names[0] {
				t.Errorf("LoadLocation(%q) = %v, %v, want %s", name, loc, err, names[0])
			}
		}
		if _, err := embeddedZones().load(names[0]); err != nil {
			t.Errorf("the embedded data lack %s: %v", names[0], err)
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
