package schedule

import (
	"archive/zip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// zonesOf writes a release of the database with one zone, as the data of another.
func zonesOf(t *testing.T, dir, version, name, as string) {
	t.Helper()
	f, err := embeddedZones().files.Open(as)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data := make([]byte, maxZone)
	n, _ := f.Read(data)
	for n > 0 { // Read may return less than all
		more, err := f.Read(data[n:])
		n += more
		if err != nil {
			break
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o777); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{name: string(data[:n]), "tzdata.zi": "# version " + version + "\nR x\n"} {
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// useSystem makes dir the only place of the system's data, and chooses again.
func useSystem(t *testing.T, dir string) {
	t.Helper()
	before := systemZones
	t.Cleanup(func() { systemZones = before; RefreshZoneinfo() })
	systemZones = []string{dir}
	RefreshZoneinfo()
}

func offsetIn(t *testing.T, name string, at time.Time) string {
	t.Helper()
	loc, err := LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	if loc.String() != name {
		t.Errorf("the zone is %s", loc)
	}
	return at.In(loc).Format("-07:00")
}

// TestEmbeddedZones: the rules of 2026f are known, whatever Go's last release embeds and whatever the machine has.
func TestEmbeddedZones(t *testing.T) {
	useSystem(t, t.TempDir()) // no data
	if got := Zoneinfo(); got.Source != "embedded" || got.Version < "2026f" || got.Released.Year() < 2026 {
		t.Errorf("the embedded data are %v of %v", got, got.Released)
	}
	at := time.Date(2026, time.December, 1, 9, 0, 0, 0, time.UTC)
	for name, want := range map[string]string{
		"America/Vancouver": "-07:00", "America/Edmonton": "-06:00", "America/Winnipeg": "-05:00", "America/Havana": "-04:00",
		"Europe/Riga": "+02:00",
	} {
		if got := offsetIn(t, name, at); got != want {
			t.Errorf("%s is at %s on 1 December 2026, want %s", name, got, want)
		}
	}
}

func TestNewestZones(t *testing.T) {
	dir := t.TempDir()
	zonesOf(t, dir, "2020a", "Europe/Riga", "Asia/Tokyo")
	useSystem(t, dir)
	at := time.Date(2027, time.January, 1, 0, 0, 0, 0, time.UTC)
	if got := Zoneinfo(); got.Source != "embedded" || offsetIn(t, "Europe/Riga", at) != "+02:00" {
		t.Errorf("older data of the system count: %v", got)
	}
	zonesOf(t, dir, "2099b", "Europe/Riga", "Asia/Tokyo")
	if !RefreshZoneinfo() {
		t.Error("an update of the system is not noticed")
	}
	if got := Zoneinfo(); got.Version != "2099b" || got.Source != dir || offsetIn(t, "Europe/Riga", at) != "+09:00" {
		t.Errorf("newer data of the system do not count: %v", got)
	}
	if RefreshZoneinfo() {
		t.Error("the same data count as changed")
	}
	if got := offsetIn(t, "Europe/Berlin", at); got != "+01:00" {
		t.Errorf("a zone that the system lacks is at %s", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "Europe/Riga"), []byte("TZif2damaged"), 0o666); err != nil {
		t.Fatal(err)
	}
	if got := offsetIn(t, "Europe/Riga", at); got != "+02:00" {
		t.Errorf("a damaged zone of the system is at %s", got)
	}
}

func TestUseZoneinfo(t *testing.T) {
	t.Cleanup(func() {
		if err := UseZoneinfo(""); err != nil {
			t.Error(err)
		}
	})
	dir := t.TempDir()
	zonesOf(t, dir, "2020a", "Europe/Riga", "Asia/Tokyo")
	archive := filepath.Join(t.TempDir(), "tzdata.whl")
	f, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(f)
	for _, name := range []string{"tzdata.zi", "Europe/Riga"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		entry, err := w.CreateHeader(&zip.FileHeader{Name: "tzdata/zoneinfo/" + name, Method: zip.Deflate})
		if err == nil {
			_, err = entry.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2027, time.January, 1, 0, 0, 0, 0, time.UTC)
	for _, path := range []string{dir, archive} {
		if err := UseZoneinfo(path); err != nil {
			t.Fatal(err)
		}
		if got := Zoneinfo(); got.Version != "2020a" || got.Source != path || offsetIn(t, "Europe/Riga", at) != "+09:00" {
			t.Errorf("UseZoneinfo(%s) uses %v", path, got)
		}
	}
	empty := t.TempDir()
	for path, want := range map[string]string{
		empty:                        "does not say which release",
		filepath.Join(empty, "none"): "no such file",
		"zone.go":                    "is no archive",
	} {
		if err := UseZoneinfo(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("UseZoneinfo(%s): %v, want %q", path, err, want)
		}
	}
	if got := Zoneinfo(); got.Source != archive {
		t.Errorf("a wrong path changed the data in use to %v", got)
	}
}

func TestOutdated(t *testing.T) {
	now := time.Date(2026, time.November, 28, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		version, released string
		want              bool
	}{
		{"2026f", "2026-10-28", false},
		{"2025c", "2025-12-10", false},
		{"2025b", "2025-03-22", true},
		{"2024b", "2026-10-28", true}, // installed lately
		{"2026a", "2025-11-27", true},
	} {
		released, err := time.Parse(time.DateOnly, c.released)
		if err != nil {
			t.Fatal(err)
		}
		if got := (ZoneData{Version: c.version, Released: released}).Outdated(now); got != c.want {
			t.Errorf("%s of %s is outdated: %v", c.version, c.released, got)
		}
	}
}

func TestGoneZones(t *testing.T) {
	for name, successor := range goneZones {
		_, err := LoadLocation(name)
		if err == nil || !strings.Contains(err.Error(), successor) {
			t.Errorf("LoadLocation(%q): %v, want %s named", name, err, successor)
		}
		if _, err := LoadLocation(successor); err != nil {
			t.Error(err)
		}
	}
}
