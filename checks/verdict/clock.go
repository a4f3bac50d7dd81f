package verdict

import (
	"strings"
	"sync"
	"time"
)

// twelveHours has the zones of readers with a clock of 12 hours, by name and by themselves.
var twelveHours = struct {
	sync.Mutex
	byName map[string]*time.Location
	all    map[*time.Location]bool
}{byName: map[string]*time.Location{}, all: map[*time.Location]bool{}}

// TwelveHours returns a time zone like another one, for readers with a clock of 12 hours: [Format] and [Time] write "3:04 pm"
// in it. Zones of one name share it.
func TwelveHours(zone *time.Location) *time.Location {
	twelveHours.Lock()
	defer twelveHours.Unlock()
	if twelveHours.all[zone] {
		return zone
	}
	name := zone.String()
	if twelveHours.byName[name] == nil {
		twin := *zone
		twelveHours.byName[name], twelveHours.all[&twin] = &twin, true
	}
	return twelveHours.byName[name]
}

// HasTwelveHours reports whether a zone is one of [TwelveHours].
func HasTwelveHours(zone *time.Location) bool {
	twelveHours.Lock()
	defer twelveHours.Unlock()
	return twelveHours.all[zone]
}

// LikeClock returns a zone with the clock of another one.
func LikeClock(zone, other *time.Location) *time.Location {
	if HasTwelveHours(other) {
		return TwelveHours(zone)
	}
	return zone
}

var toTwelve = strings.NewReplacer("15:04:05", "3:04:05 pm", "15:04", "3:04 pm")

// Format is [time.Time.Format] with a layout that has the time of day as 15:04 or 15:04:05. It writes the clock of the zone
// of the time.
func Format(t time.Time, layout string) string {
	if HasTwelveHours(t.Location()) {
		layout = toTwelve.Replace(layout)
	}
	return t.Format(layout)
}
