package schedule

import (
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// LoadLocation returns the time zone of the given name in the IANA database, for
// use as the zone of a schedule (API-V3.md, 2.1, field tz). Names are
// case-sensitive, as they are there. A name that the database has given up, such
// as Europe/Kiev or US/Eastern, answers the zone under its current name:
// store what [time.Location.String] of the result says. UTC, GMT, Etc/UTC and
// names like EST5EDT stay what they are.
//
// Anything else is refused with an [*Error] whose Field is "tz": the empty name,
// "Local", "localtime", "Factory", what begins with "posix" or "right/", and
// paths.
//
// The data come from where [time.LoadLocation] takes them. A program that cannot
// count on the machine to have them imports time/tzdata, which adds about 450 kB
// to it; this package leaves that to the program. Each call reads the data anew,
// in about 10 µs; [Zones] keeps them.
func LoadLocation(name string) (*time.Location, error) {
	loc, err := loadLocation(name)
	if err != nil {
		return nil, err
	}
	return loc, nil
}

// Zones loads time zones and keeps what it has loaded. The zero value is ready
// for use; it is safe for concurrent use and must not be copied after the first.
// It holds at most one Location for each zone of the IANA database, less than 1 MB
// if all of them are asked for.
type Zones struct {
	loaded sync.Map // of *time.Location by name
}

// Load is [LoadLocation], but about 20 ns for a name that it has loaded before.
// All names of a zone, old and current, get the identical Location.
func (z *Zones) Load(name string) (*time.Location, error) {
	loc, err := z.load(name)
	if err != nil {
		return nil, err
	}
	return loc, nil
}

// Parse is the function [Parse], but takes the zones that an OnCalendar
// expression names from z.
func (z *Zones) Parse(expr string) (Schedule, error) {
	return parse(expr, z.load)
}

func (z *Zones) load(name string) (*time.Location, *Error) {
	if loc, ok := z.loaded.Load(name); ok {
		return loc.(*time.Location), nil
	}
	loc, err := loadLocation(name)
	if err != nil {
		return nil, err
	}
	kept, _ := z.loaded.LoadOrStore(loc.String(), loc)
	if loc.String() != name {
		z.loaded.Store(strings.Clone(name), kept)
	}
	return kept.(*time.Location), nil
}

func loadLocation(name string) (*time.Location, *Error) {
	if name == "UTC" {
		return time.UTC, nil
	}
	if !isZoneName(name) {
		return nil, notZone(name)
	}
	if current, ok := currentName(name); ok {
		if loc, err := time.LoadLocation(current); err == nil {
			return loc, nil
		}
		// The data are older than the new name.
	} else if !hasWord(currentZones, name) && similarZone(name) != "" {
		// Where file names ignore case, time.LoadLocation would find it.
		return nil, notZone(name)
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, notZone(name)
	}
	return loc, nil
}

// longestZoneName is more bytes than any name of the database has.
const longestZoneName = 64

// isZoneName reports whether the name is formed like those of the database:
// words that begin with a capital, between slashes. That keeps out paths,
// localtime, posixrules, posix/… and right/…. Local and Factory are formed alike
// but mean no zone; SystemV/… has not been in the database for long.
func isZoneName(name string) bool {
	if len(name) > longestZoneName || name == "Local" || name == "Factory" || strings.HasPrefix(name, "SystemV/") {
		return false
	}
	start := true
	for i := range len(name) {
		c := name[i]
		upper := c >= 'A' && c <= 'Z'
		switch {
		case start && !upper:
			return false
		case !upper && (c < 'a' || c > 'z') && !isDigit(c) && !strings.ContainsRune("_+-/", rune(c)):
			return false
		}
		start = c == '/'
	}
	return !start
}

// notZone returns the error about a name, with the name that may have been meant.
func notZone(name string) *Error {
	reason := quote(name) + " is not a time zone of the IANA database"
	if name == "" {
		reason = "the name of the time zone is empty"
	} else if similar := similarZone(name); similar != "" {
		reason += "; did you mean " + similar + "?"
	}
	return &Error{Field: "tz", Reason: reason, Offset: -1}
}

// similarZone returns the zone whose name, or whose name without the region, is
// the given one but for case and blanks.
func similarZone(name string) string {
	if name == "" || len(name) > longestZoneName || !utf8.ValidString(name) {
		return ""
	}
	name = strings.ReplaceAll(name, " ", "_")
	similar := ""
	for zone := range strings.FieldsSeq(currentZones) {
		if strings.EqualFold(zone, name) {
			return zone
		}
		if city := zone[strings.LastIndexByte(zone, '/')+1:]; strings.EqualFold(city, name) {
			similar = zone
		}
	}
	return similar
}

// currentName returns the name that has taken the place of an old one.
func currentName(old string) (string, bool) {
	_, rest, found := strings.Cut(renamedZones, "\n"+old+" ")
	if !found {
		return "", false
	}
	current, _, _ := strings.Cut(rest, "\n")
	return current, true
}

// hasWord reports whether text has the word between blanks.
func hasWord(text, word string) bool {
	for {
		i := strings.Index(text, word)
		if i < 0 {
			return false
		}
		end := i + len(word)
		if i > 0 && isBlank(text[i-1]) && end < len(text) && isBlank(text[end]) {
			return true
		}
		text = text[i+1:]
	}
}

func isBlank(c byte) bool { return c == ' ' || c == '\n' }
