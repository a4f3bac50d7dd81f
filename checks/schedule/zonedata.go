package schedule

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// zoneinfo is a release of the IANA time zone database, compiled, under the current names of its zones. The comment of the
// archive has the release and its date. The database is in the public domain.
//
//go:generate go run zonegen.go
//go:embed zoneinfo.zip
var zoneinfo []byte

// ZoneData names a release of the IANA time zone database.
type ZoneData struct {
	// Version is the release, such as "2026f". A later release has a greater text.
	Version string
	// Released is when it was published, or an estimate: for data of the system, the time of its file tzdata.zi.
	Released time.Time
	// Source is where the data are: "embedded" or a path.
	Source string
}

// String returns the release with its source: "2026f (embedded)".
func (d ZoneData) String() string { return d.Version + " (" + d.Source + ")" }

// outdated is the age beyond which data are old: governments announce changes some months ahead, and each year has some.
const outdated = 365 * 24 * time.Hour

// Outdated reports whether the data are older than a year. A release of one year is so at the end of the next one, whatever
// Released says.
func (d ZoneData) Outdated(now time.Time) bool {
	if year, err := time.Parse("2006", d.Version[:min(4, len(d.Version))]); err == nil && now.Year() > year.Year()+1 {
		return true
	}
	return now.Sub(d.Released) > outdated
}

// zoneFiles are the files of a release.
type zoneFiles struct {
	ZoneData
	files fs.FS
}

// zoneFilesInUse are those that LoadLocation reads: nil before its first call.
var (
	zoneFilesInUse atomic.Pointer[zoneFiles]
	zonesChosen    sync.Mutex
	zonesGiven     string // the path of UseZoneinfo
)

var embeddedZones = sync.OnceValue(func() *zoneFiles {
	r, err := zip.NewReader(bytes.NewReader(zoneinfo), int64(len(zoneinfo)))
	if err != nil {
		panic("checks/schedule: the embedded zoneinfo.zip is damaged: " + err.Error())
	}
	version, date, _ := strings.Cut(r.Comment, " ")
	released, _ := time.Parse(time.DateOnly, date)
	return &zoneFiles{ZoneData: ZoneData{Version: version, Released: released, Source: "embedded"}, files: r}
})

// systemZones lists where systems keep the database.
var systemZones = []string{"/usr/share/zoneinfo", "/usr/share/lib/zoneinfo", "/usr/lib/locale/TZ", "/etc/zoneinfo"}

// Zoneinfo returns the release of the time zone data in use: the newer one of that embedded here and that of the system, or
// the one that [UseZoneinfo] has set.
func Zoneinfo() ZoneData { return currentZones().ZoneData }

func currentZones() *zoneFiles {
	if z := zoneFilesInUse.Load(); z != nil {
		return z
	}
	RefreshZoneinfo()
	return zoneFilesInUse.Load()
}

// RefreshZoneinfo looks for newer data of the system, such as an update of its package brings, and reports whether the release
// in use has changed. A schedule that was parsed before keeps its data.
// A monitor calls RefreshZoneinfo every hour and parses the schedules of its checks again.
func RefreshZoneinfo() (changed bool) {
	zonesChosen.Lock()
	defer zonesChosen.Unlock()
	before, found := zoneFilesInUse.Load(), embeddedZones()
	if zonesGiven != "" {
		given, err := openZones(zonesGiven)
		if err != nil {
			return false // what was read before stays
		}
		found = given
	} else {
		for _, dir := range systemZones {
			if system, err := openZones(dir); err == nil && system.Version > found.Version {
				found = system
			}
		}
	}
	if before != nil && before.ZoneData == found.ZoneData {
		return false
	}
	zoneFilesInUse.Store(found)
	return before != nil
}

// UseZoneinfo makes [LoadLocation] read the time zone data at a path, whichever release they are: a directory such as
// /usr/share/zoneinfo, or an archive (.zip, .whl) of one, such as the package tzdata of Python. They must contain the file
// tzdata.zi or +VERSION, which names the release. A zone that is missing there is taken from the embedded data. An empty path
// returns to the default.
func UseZoneinfo(path string) error {
	if path != "" {
		if _, err := openZones(path); err != nil {
			return err
		}
	}
	zonesChosen.Lock()
	zonesGiven = path
	zonesChosen.Unlock()
	RefreshZoneinfo()
	return nil
}

// openZones reads which release is at a path.
func openZones(path string) (*zoneFiles, error) {
	z := &zoneFiles{ZoneData: ZoneData{Source: path}}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("zoneinfo: %w", err)
	case info.IsDir():
		z.files = os.DirFS(path)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("zoneinfo: %s is neither a directory nor a regular file", path)
	default:
		if z.files, err = openArchive(path); err != nil {
			return nil, fmt.Errorf("zoneinfo: %s is no archive of time zone data: %w", path, err)
		}
	}
	for _, name := range []string{"tzdata.zi", "+VERSION"} {
		if z.Version, z.Released, err = readVersion(z.files, name); err == nil {
			return z, nil
		}
	}
	return nil, fmt.Errorf("zoneinfo: %s does not say which release it is: it has no file tzdata.zi or +VERSION", path)
}

// maxZoneinfo bounds an archive of zones in bytes, and maxZone a file in it.
const maxZoneinfo, maxZone = 16 << 20, 1 << 20

// openArchive reads an archive into memory, because a file that is replaced while it is open has both releases.
func openArchive(name string) (fs.FS, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxZoneinfo+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxZoneinfo {
		return nil, errors.New("it is too large")
	}
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	for _, f := range r.File {
		if base := path.Base(f.Name); base == "tzdata.zi" || base == "+VERSION" {
			return fs.Sub(r, path.Dir(f.Name))
		}
	}
	return r, nil
}

var zoneVersion = regexp.MustCompile(`^(?:# version )?([0-9]{4}[a-z]{1,2})\s`)

// readVersion returns the release that a file names in its first line, and the time of the file.
func readVersion(files fs.FS, name string) (version string, modified time.Time, err error) {
	f, err := files.Open(name)
	if err != nil {
		return "", modified, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", modified, err
	}
	first, err := io.ReadAll(io.LimitReader(f, 64))
	if err != nil {
		return "", modified, err
	}
	found := zoneVersion.FindSubmatch(append(first, '\n'))
	if found == nil {
		return "", modified, errors.New("it has no version")
	}
	return string(found[1]), info.ModTime().UTC(), nil
}

// load reads a zone. One that the data in use lack, or have damaged, is taken from the embedded ones.
func (z *zoneFiles) load(name string) (*time.Location, error) {
	f, err := z.files.Open(name)
	if err == nil {
		defer f.Close()
		var data []byte
		if data, err = io.ReadAll(io.LimitReader(f, maxZone)); err == nil {
			var loc *time.Location
			if loc, err = time.LoadLocationFromTZData(name, data); err == nil {
				return loc, nil
			}
		}
	}
	if embedded := embeddedZones(); z != embedded {
		return embedded.load(name)
	}
	return nil, err
}

// goneZones maps names that the database has had, and removed, to zones with the same times since then.
var goneZones = map[string]string{
	"US/Pacific-New": "America/Los_Angeles", "Canada/East-Saskatchewan": "America/Regina",
	"SystemV/AST4ADT": "America/Halifax", "SystemV/EST5EDT": "America/New_York", "SystemV/CST6CDT": "America/Chicago",
	"SystemV/MST7MDT": "America/Denver", "SystemV/PST8PDT": "America/Los_Angeles", "SystemV/YST9YDT": "America/Anchorage",
	"SystemV/AST4": "America/Puerto_Rico", "SystemV/EST5": "America/Panama", "SystemV/CST6": "America/Regina",
	"SystemV/MST7": "America/Phoenix", "SystemV/PST8": "Pacific/Pitcairn", "SystemV/YST9": "Pacific/Gambier", "SystemV/HST10": "Pacific/Honolulu",
}
