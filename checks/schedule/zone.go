package schedule

import (
	"cmp"
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/channels/prose"
)

// zoneNames lists the names in the embedded release of the IANA time zone database. Each line has the current name of a zone,
// then its old names. A country that shares its data with a neighbour has its own line.
//
//go:embed zones.txt
var zoneNames string

// currentNames maps each name to the current one.
var currentNames = sync.OnceValue(func() map[string]string {
	names := make(map[string]string)
	for line := range strings.Lines(zoneNames) {
		all := strings.Fields(line)
		for _, name := range all {
			names[name] = all[0]
		}
	}
	return names
})

// Zones returns the current names of the time zones that [LoadLocation] knows, sorted, with UTC first. Old names and those
// of fixed offsets, such as Etc/GMT+3, are not among them.
func Zones() []string {
	names := []string{"UTC"}
	for line := range strings.Lines(zoneNames) {
		if name := strings.Fields(line)[0]; strings.Contains(name, "/") && !strings.HasPrefix(name, "Etc/") {
			names = append(names, name)
		}
	}
	slices.Sort(names[1:])
	return names
}

// LoadLocation returns the time zone with the given name in the IANA database, for a schedule. Case matters. For an old
// name such as Europe/Kiev or US/Eastern it returns the zone under its current name: store what [time.Location.String]
// returns.
//
// The error is an [*Error] whose Field is "tz". LoadLocation refuses names that do not identify one zone of the database:
// the empty name, "Local", "localtime", "Factory", paths, and names that begin with "posix" or "right/".
//
// Each call reads the data again, which takes some 10 to 30 µs. [Zoneinfo] says which data.
func LoadLocation(name string) (*time.Location, error) {
	if name == "UTC" {
		return time.UTC, nil
	}
	if current, listed := currentNames()[name]; listed {
		if loc, err := currentZones().load(current); err == nil {
			return loc, nil
		}
	} else if !isZoneName(name) || similarZone(name) != "" {
		// On a file system that ignores case, time.LoadLocation would find a similar name.
		return nil, notZone(name)
	}
	// An unlisted zone may be newer than the list.
	loc, err := currentZones().load(name)
	if err != nil {
		return nil, notZone(name)
	}
	return loc, nil
}

var zoneName = regexp.MustCompile(`^[A-Z][\w+-]*(/[A-Z][\w+-]*)*$`)

// isZoneName reports whether a name has the form of a zone name: words that begin with a capital, separated by slashes.
// Local and Factory are not zones, and SystemV/… is no longer in the database.
func isZoneName(name string) bool {
	return zoneName.MatchString(name) && name != "Local" && name != "Factory" && !strings.HasPrefix(name, "SystemV/")
}

// notZone returns the error of an unknown name, with a suggestion if a zone has a similar name.
func notZone(name string) *Error {
	reason := quote(name) + " is not a time zone of the IANA database"
	if name == "" {
		reason = "the name of the time zone is empty"
	} else if advice := zoneAdvice(name); advice != "" {
		reason += advice
	} else if similar := cmp.Or(similarZone(name), prose.Similar(name, zoneWords)); similar != "" {
		reason += "; did you mean " + cmp.Or(similarZone(similar), similar) + "?"
	}
	return &Error{Field: "tz", Reason: reason, Offset: -1}
}

// similarZone returns the zone whose name, or whose current name without the region, differs from the given one only in
// case and blanks. GMT-13 is not similar to Etc/GMT-13, which is 26 hours away.
func similarZone(name string) (similar string) {
	name = strings.ReplaceAll(name, " ", "_")
	for line := range strings.Lines(zoneNames) {
		current, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		for known := range strings.FieldsSeq(line) {
			if strings.EqualFold(known, name) {
				return current
			}
		}
		if !strings.HasPrefix(current, "Etc/") && strings.EqualFold(current[strings.LastIndexByte(current, '/')+1:], name) {
			similar = current
		}
	}
	return similar
}

// zoneWords yields the names of all zones, and those without their regions.
func zoneWords(yield func(string) bool) {
	for _, name := range Zones() {
		if !yield(name) || !yield(name[strings.LastIndexByte(name, '/')+1:]) {
			return
		}
	}
}
