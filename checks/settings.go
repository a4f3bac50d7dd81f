package checks

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/schedule"
)

// Bounds of the periods of a check.
const (
	MinPeriod = time.Minute
	MaxPeriod = 365 * 24 * time.Hour
)

// Bounds of the texts of a check, in characters.
const (
	MaxName       = 100
	MaxSlug       = 100
	maxTags       = 500
	maxDesc       = 10_000
	maxKeywords   = 200
	maxSchedule   = 100
	maxZone       = 100
	maxQuietHours = 200
	maxSelection  = 100_000 // of channels, enough for MaxChannels with the longest names
	maxAfter      = MaxParents * (MaxSlug + 1)
)

// Bounds of what a project has.
const (
	MaxChannels = 500
	// MaxWindows bounds the maintenance windows and snoozes of a project that have not ended, and MaxKeySnoozes those by its ping key,
	// which do not count as others.
	MaxWindows, MaxKeySnoozes = 200, 100
	MaxSettings               = 2_000_000 // bytes of the settings of all channels together, with their sources
	MaxKeys                   = 1_000     // API keys
)

// maxSource bounds the source of a setting of a channel, in characters.
const maxSource = 1_000

// MaxParents bounds the checks that a check follows.
const MaxParents = 10

// maxAlertAfter bounds the failures that it can take to alert.
const maxAlertAfter = 100

// Settings are what a user sets of a check. The integrations are not among them: their form differs between a request
// and a stored check.
type Settings struct {
	Name string `json:"name,omitzero"`
	// Slug names the check in ping addresses: a–z, 0–9, hyphen and underscore. It is "" for none, and need not be
	// unique.
	Slug string `json:"slug,omitzero"`
	// Tags are the tags as they were given. The API writes them with one blank between two. If a client of the API sent
	// other white space, or a tag twice, that is kept here; [Settings.TagList] is without it.
	Tags []string `json:"tags,omitempty"`
	Desc string   `json:"desc,omitzero"`

	// Timeout is the expected time between two pings of a Simple check. A Cron check keeps the value and ignores it.
	Timeout time.Duration `json:"timeout,omitzero"`
	// Grace is how late an expected ping may be before the check is down.
	Grace time.Duration `json:"grace,omitzero"`
	// MaxRuntime is how long each run may take after its start before the check is down; 0 means that the newest run may take
	// as long as Grace.
	MaxRuntime time.Duration `json:"max_runtime,omitzero"`
	// Schedule is the cron or OnCalendar expression of a Cron check, "" for a Simple check.
	Schedule string `json:"schedule,omitzero"`
	// TZ is the IANA time zone of Schedule and QuietHours; "" means UTC. A check without either keeps the value and
	// ignores it.
	TZ string `json:"tz,omitzero"`

	// ManualResume makes a paused check ignore pings until it is resumed.
	ManualResume bool `json:"manual_resume,omitzero"`
	// Methods are the HTTP methods of pings that count: "" for HEAD, GET and POST, or "POST".
	Methods string `json:"methods,omitzero"`

	// StartKW, SuccessKW and FailureKW are comma-separated, case-sensitive keywords.
	StartKW   string `json:"start_kw,omitzero"`
	SuccessKW string `json:"success_kw,omitzero"`
	FailureKW string `json:"failure_kw,omitzero"`
	// FilterSubject and FilterBody look for keywords in the subject and the text of an e-mail.
	FilterSubject bool `json:"filter_subject,omitzero"`
	FilterBody    bool `json:"filter_body,omitzero"`
	// FilterHTTPBody looks for keywords in the first 10,000 bytes of the body of an HTTP ping.
	FilterHTTPBody bool `json:"filter_http_body,omitzero"`
	// FilterDefaultFail makes a ping without a keyword a failure where a filter applies; otherwise it is ignored.
	FilterDefaultFail bool `json:"filter_default_fail,omitzero"`

	// AlertAfter is how many failures in a row raise the alert that the check is down; 0 and 1 both mean the first.
	// Failures are fail signals, expected pings that did not arrive, and runs that did not end in time. Alert rules
	// change neither the state nor its transitions.
	AlertAfter int `json:"alert_after,omitzero"`
	// RepeatEvery is the time between reminders while the check is down, 0 for none.
	RepeatEvery time.Duration `json:"repeat_every,omitzero"`
	// QuietHours are the windows that hold alerts back, in the form of package quiet; "" for none. At the end of a
	// window one alert sums up what was held back.
	QuietHours string `json:"quiet_hours,omitzero"`
	// RecordOnly makes the check raise no alert. Its state, its transitions and its log are those of any other check.
	RecordOnly bool `json:"record_only,omitzero"`
	// After names the checks of the same project that the check follows, its parents, as slugs or IDs with a comma between
	// two; "" for none. While one of them is down or late, the alert that this check is down waits, and for the grace time of
	// this check after that; see [gate.Parent]. One about whose outage nobody knows makes none wait. [Settings.Parents] lists them.
	After string `json:"after,omitzero"`
}

// Defaults returns the settings of a new check for which none are given: a Simple check with a Timeout of 24 hours and a
// Grace of 1 hour, in UTC.
func Defaults() Settings {
	return Settings{Timeout: 24 * time.Hour, Grace: time.Hour, TZ: "UTC"}
}

// IsCron reports whether the settings are those of a Cron check; otherwise they are those of a Simple check.
func (s Settings) IsCron() bool { return s.Schedule != "" }

// UsesTZ reports whether TZ has an effect.
func (s Settings) UsesTZ() bool { return s.IsCron() || s.QuietHours != "" }

// timing holds the settings that decide deadlines.
type timing struct {
	timeout, grace, runLimit time.Duration
	schedule, tz             string
}

// timing returns the settings that decide deadlines, without those that have no effect.
func (s Settings) timing() timing {
	if s.IsCron() {
		return timing{grace: s.Grace, runLimit: s.RunLimit(), schedule: s.Schedule, tz: s.TZ}
	}
	return timing{grace: s.Grace, runLimit: s.RunLimit(), timeout: s.Timeout}
}

// RunLimit returns how long a run may take after its start.
func (s Settings) RunLimit() time.Duration { return cmp.Or(s.MaxRuntime, s.Grace) }

// Parents returns the slugs or IDs of the checks that the check follows.
func (s Settings) Parents() []string { return parents(s.After) }

// PublicAfter returns After for those who may not send pings: a check's ID is its ping address, so its [UniqueKey] stands in its place.
func (s Settings) PublicAfter() string {
	list := s.Parents()
	for i, name := range list {
		if id, ok := parentID(name); ok {
			list[i] = UniqueKey(id)
		}
	}
	return strings.Join(list, ",")
}

// parents splits a list of checks at commas and white space. A name that comes twice is listed once, and an ID in its usual form.
func parents(text string) []string {
	list := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	for i, name := range list {
		if id, ok := parentID(name); ok {
			list[i] = id.String()
		}
	}
	return distinct(list)
}

// parentID returns the ID that an item of After is. A slug may look like one of the other forms that uuid.Parse knows.
func parentID(name string) (uuid.UUID, bool) {
	id, err := uuid.Parse(name)
	return id, err == nil && len(name) == len(uuid.UUID{}.String())
}

// splitTags returns the tags of a text in the form of the API, which has one blank between two tags; further blanks become
// empty items. It returns nil for the empty text.
func splitTags(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, " ")
}

// TagList returns the tags in order, each once. White space of any kind separates tags.
func (s Settings) TagList() []string {
	var tags []string
	for _, item := range s.Tags {
		for tag := range strings.FieldsSeq(item) {
			tags = append(tags, tag)
		}
	}
	return distinct(tags)
}

// distinct returns the tags in order, each once. It reuses the list.
func distinct(tags []string) []string {
	if len(tags) < 2 {
		return tags
	}
	seen := make(map[string]struct{}, len(tags))
	return slices.DeleteFunc(tags, func(tag string) bool {
		_, again := seen[tag]
		seen[tag] = struct{}{}
		return again
	})
}

// HasTags reports whether all of the given tags are among the settings' tags.
func (s Settings) HasTags(tags []string) bool {
	if len(tags) == 0 {
		return true
	}
	own := s.TagList()
	return !slices.ContainsFunc(tags, func(tag string) bool { return !slices.Contains(own, tag) })
}

// Spec changes settings of a check, new or existing. A nil field leaves the setting of an existing check alone, and
// gives a new check the default.
type Spec struct {
	// ID becomes the identifier of a new check; the zero UUID stands for a random one. An update ignores it.
	ID uuid.UUID

	Name *string // up to 100 characters
	Slug *string // up to 100 of a–z, 0–9, hyphen and underscore
	Desc *string // up to 10,000 characters

	// Tags replaces all tags; an empty list that is not nil removes them. A tag has no blank. With one blank between two,
	// the tags have up to 500 characters.
	Tags []string

	Timeout *time.Duration // whole seconds, 1 minute to 365 days; makes the check a Simple check unless Schedule is set
	Grace   *time.Duration // whole seconds, 1 minute to 365 days

	MaxRuntime *time.Duration // whole seconds, 1 minute to 365 days, or 0 for the grace time

	Schedule *string // cron or OnCalendar, up to 100 characters, with a time to come; makes the check a Cron check
	TZ       *string // IANA time zone of Schedule and QuietHours, up to 100 characters

	ManualResume *bool
	Methods      *string // "" or "POST"

	// Channels selects integrations: "*" for all that exist now, "" for none, or up to 100,000 characters of identifiers or names with commas
	// between them. This package does not know the integrations of the project; its caller resolves Channels.
	Channels *string

	StartKW, SuccessKW, FailureKW *string // up to 200 characters each
	FilterSubject, FilterBody     *bool
	FilterHTTPBody                *bool
	FilterDefaultFail             *bool

	AlertAfter  *int           // failures in a row, 0 to 100
	RepeatEvery *time.Duration // whole seconds, 1 minute to 365 days, or 0 for never
	QuietHours  *string        // windows in the form of package quiet, up to 200 characters; "" for none
	RecordOnly  *bool
	// After lists up to 10 slugs or IDs of checks of the same project, with commas or blanks between them; "" for none. This
	// package does not know the other checks; its caller sees to it that there are such checks, and no circle.
	After *string
}

// fields returns a spec whose fields point to the settings.
func (s *Settings) fields() Spec {
	return Spec{
		Name: &s.Name, Slug: &s.Slug, Tags: s.Tags, Desc: &s.Desc, Timeout: &s.Timeout, Grace: &s.Grace, MaxRuntime: &s.MaxRuntime,
		Schedule: &s.Schedule, TZ: &s.TZ, ManualResume: &s.ManualResume, Methods: &s.Methods,
		StartKW: &s.StartKW, SuccessKW: &s.SuccessKW, FailureKW: &s.FailureKW,
		FilterSubject: &s.FilterSubject, FilterBody: &s.FilterBody,
		FilterHTTPBody: &s.FilterHTTPBody, FilterDefaultFail: &s.FilterDefaultFail,
		AlertAfter: &s.AlertAfter, RepeatEvery: &s.RepeatEvery, QuietHours: &s.QuietHours,
		RecordOnly: &s.RecordOnly, After: &s.After,
	}
}

// settings is the table of settings. Requests and errors have this order.
var settings = []Setting{
	text(Setting{Name: "name", Example: "Nightly backup", Max: MaxName}, func(s *Spec) **string { return &s.Name }),
	text(Setting{Name: "slug", Example: "nightly-backup", Max: MaxSlug}, func(s *Spec) **string { return &s.Slug }, slugRule),
	tags(Setting{Name: "tags", Example: []string{"prod", "db"}, Max: maxTags, Separator: " "}),
	text(Setting{Name: "desc", Example: "Dumps the database.", Max: maxDesc}, func(s *Spec) **string { return &s.Desc }),
	period(Setting{Name: "timeout", Example: 90 * time.Minute}, func(s *Spec) **time.Duration { return &s.Timeout }),
	period(Setting{Name: "grace", Example: 15 * time.Minute}, func(s *Spec) **time.Duration { return &s.Grace }),
	text(Setting{Name: "schedule", Example: "0 3 * * *", Max: maxSchedule}, func(s *Spec) **string { return &s.Schedule }, scheduleRule),
	text(Setting{Name: "tz", Example: "Europe/Riga", Max: maxZone}, func(s *Spec) **string { return &s.TZ }, zoneRule),
	field(Setting{Name: "manual_resume", Example: true}, func(s *Spec) **bool { return &s.ManualResume }),
	field(Setting{Name: "methods", Example: "POST"}, func(s *Spec) **string { return &s.Methods }, methodsRule),
	text(Setting{Name: "channels", Example: "*", Max: maxSelection, Separator: ","}, func(s *Spec) **string { return &s.Channels }),
	text(Setting{Name: "start_kw", Example: "started", Max: maxKeywords}, func(s *Spec) **string { return &s.StartKW }),
	text(Setting{Name: "success_kw", Example: "completed, finished", Max: maxKeywords}, func(s *Spec) **string { return &s.SuccessKW }),
	text(Setting{Name: "failure_kw", Example: "ERROR, failed", Max: maxKeywords}, func(s *Spec) **string { return &s.FailureKW }),
	field(Setting{Name: "filter_subject", Example: true}, func(s *Spec) **bool { return &s.FilterSubject }),
	field(Setting{Name: "filter_body", Example: true}, func(s *Spec) **bool { return &s.FilterBody }),
	field(Setting{Name: "filter_http_body", Example: true}, func(s *Spec) **bool { return &s.FilterHTTPBody }),
	field(Setting{Name: "filter_default_fail", Example: true}, func(s *Spec) **bool { return &s.FilterDefaultFail }),
	period(Setting{Name: "max_runtime", Example: 2 * time.Hour, Optional: true}, func(s *Spec) **time.Duration { return &s.MaxRuntime }),
	count(Setting{Name: "alert_after", Example: 3, Max: maxAlertAfter, Optional: true}, func(s *Spec) **int { return &s.AlertAfter }),
	period(Setting{Name: "repeat_every", Example: 4 * time.Hour, Optional: true}, func(s *Spec) **time.Duration { return &s.RepeatEvery }),
	text(Setting{Name: "quiet_hours", Example: "22:00-06:00", Max: maxQuietHours, Separator: ";"}, func(s *Spec) **string { return &s.QuietHours }, quietHoursRule),
	field(Setting{Name: "record_only", Example: true}, func(s *Spec) **bool { return &s.RecordOnly }),
	text(Setting{Name: "after", Example: "nightly-dump", Max: maxAfter, Separator: ","}, func(s *Spec) **string { return &s.After }, afterRule),
}

// Spec returns the spec that gives a check these settings.
func (s Settings) Spec() Spec {
	s.TZ = cmp.Or(s.TZ, "UTC")
	spec := s.fields()
	spec.Tags = append([]string{}, s.Tags...)
	if s.IsCron() {
		spec.Timeout = nil
	} else {
		spec.Schedule = nil
	}
	return spec
}

// UniqueField is a field by which an upsert finds the check to update.
type UniqueField string

// The fields by which an upsert can find a check.
const (
	UniqueName    UniqueField = "name"
	UniqueSlug    UniqueField = "slug"
	UniqueTags    UniqueField = "tags"    // all tags, in the same order
	UniqueTimeout UniqueField = "timeout" // matches Simple checks only
	UniqueGrace   UniqueField = "grace"
)

// Validate checks every field that is set. The instant decides whether a schedule has a time to come. The error is a
// *[FieldError] for the first field that is refused, in the order of [AllSettings].
func (s Spec) Validate(now time.Time) error {
	for _, row := range settings {
		if err := row.validate(&s, now); err != nil {
			return err
		}
	}
	return nil
}

// applyTo returns a check with the validated settings. It leaves the integrations alone.
func (s Spec) applyTo(c Check) Check {
	if s.Schedule != nil { // overrides timeout (section 4.3 rule 2)
		s.Timeout = nil
	} else if s.Timeout != nil {
		s.Schedule = new("")
	}
	if s.TZ != nil {
		if zone, err := schedule.LoadLocation(*s.TZ); err == nil {
			s.TZ = new(zone.String()) // the current name of a zone that was renamed
		}
	}
	if s.Tags != nil {
		c.Tags = splitTags(strings.Join(s.Tags, " ")) // a copy, nil for none
	}
	if s.After != nil {
		s.After = new(strings.Join(parents(*s.After), ","))
	}
	s.Channels = nil
	before, fields := c.key(), c.Settings.fields()
	for _, row := range settings {
		row.assign(&fields, &s)
	}
	if c.key() != before {
		c.plan = plan{}
	}
	return c
}
