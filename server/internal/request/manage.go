package request

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
)

// Channel is what a request that creates or replaces a channel says. A nil field is absent.
type Channel struct {
	Kind, Name        *string
	Settings, Sources map[string]string
	// Unique are the fields that identify an existing channel to replace.
	Unique []string
}

// Channel reads the fields of a request that creates or replaces a channel, under the rules of [Body.Create].
func (b Body) Channel() (Channel, error) {
	r := reader{body: b}
	c := Channel{Kind: r.text("kind"), Name: r.text("name"), Settings: r.textMap("settings"), Sources: r.textMap("sources")}
	r.text("api_key")
	c.Unique = r.texts("unique")
	for _, name := range slices.Sorted(maps.Keys(c.Sources)) {
		if c.Settings[name] == "" {
			r.refuse("sources", "has %q, which settings lacks", name)
		}
	}
	if len(c.Unique) > 0 && !slices.Equal(c.Unique, []string{"name"}) {
		r.refuse("unique", `may only be ["name"]`)
	}
	return c, r.err
}

// Project is what a request that creates or changes a project says. A nil field is absent.
type Project struct {
	Name, Account, Plan *string
	MaxChecks           *int64
	StormChecks         *int
	StormWindow         *time.Duration
}

// Project reads the fields of a request that creates or changes a project, under the rules of [Body.Create].
func (b Body) Project() (Project, error) {
	r := reader{body: b}
	stormChecks, stormWindow := checks.StormSettings()
	p := Project{
		Name: r.text("name"), Account: r.text("account"), Plan: r.text("plan"),
		MaxChecks: r.number(checks.Setting{Name: "max_checks", Max: math.MaxInt32}),
	}
	if n := r.number(stormChecks); n != nil {
		p.StormChecks = new(int(*n))
	}
	if n := r.number(stormWindow); n != nil {
		p.StormWindow = new(time.Duration(*n) * time.Second)
	}
	r.text("api_key")
	return p, r.err
}

// Escalation reads the steps of an escalation policy, under the rules of [Body.Create]. A step without a time follows at once.
func (b Body) Escalation() (steps []checks.NamedStep, err error) {
	r := reader{body: b}
	r.text("api_key")
	raw := r.field("steps")
	var items []map[string]json.RawMessage
	if r.err == nil && (raw == nil || raw[0] != '[' || json.Unmarshal(raw, &items) != nil) {
		r.refuse("steps", "is not a list of objects")
	}
	for i, fields := range items {
		step := reader{body: Body{fields}}
		after := step.number(checks.Setting{Name: "after", Max: math.MaxInt32})
		names := step.texts("channels")
		if refused, ok := errors.AsType[*checks.FieldError](step.err); ok {
			r.refuse("steps", "has a step %d where %s", i+1, refused)
		}
		if after == nil {
			after = new(int64)
		}
		steps = append(steps, checks.NamedStep{After: time.Duration(*after) * time.Second, Channels: names})
	}
	return steps, r.err
}

// StatusPage is what a request that creates or replaces a status page says.
type StatusPage struct {
	checks.StatusPage
	// ByName are the Names by UUIDs and slugs of checks.
	ByName map[string]string
}

// StatusPage reads the fields of a request that creates or replaces a status page, under the rules of [Body.Create].
func (b Body) StatusPage() (StatusPage, error) {
	r := reader{body: b}
	text := func(field string) string {
		if text := r.text(field); text != nil {
			return *text
		}
		return ""
	}
	var p StatusPage
	p.Slug, p.Title, p.Description, p.Tags = text("slug"), text("title"), text("description"), strings.Fields(text("tags"))
	if p.ByName = r.textMap("names"); len(p.ByName) > checks.MaxStatusPageNames { // each slug is a query
		r.refuse("names", "has %d items, the maximum is %d", len(p.ByName), checks.MaxStatusPageNames)
	}
	if n := r.number(checks.MinOutageSetting()); n != nil {
		p.MinOutage = time.Duration(*n) * time.Second
	}
	r.text("api_key")
	return p, r.err
}

// textMap reads an object whose values are strings.
func (r *reader) textMap(field string) map[string]string {
	raw := r.field(field)
	if raw == nil {
		return nil
	}
	var items map[string]json.RawMessage
	if raw[0] != '{' || json.Unmarshal(raw, &items) != nil {
		r.refuse(field, "is not an object")
		return nil
	}
	texts := make(map[string]string, len(items))
	for _, name := range slices.Sorted(maps.Keys(items)) {
		if items[name][0] != '"' {
			r.refuse(field, "has a value that is not a string")
			return nil
		}
		text := r.unquote(field, items[name])
		if text == nil {
			return nil
		}
		texts[name] = *text
	}
	return texts
}

// Window is what a request that adds a maintenance window or a snooze says. A nil field is absent, and so is a zero time or duration.
type Window struct {
	Kind gate.WindowKind
	// Checks has UUIDs and slugs.
	Checks                   []string
	Tags, Schedule, TZ, Note *string
	Start, End               time.Time
	Duration                 time.Duration
}

// Window reads the fields of a request that adds a window, under the rules of [Body.Create].
func (b Body) Window() (Window, error) {
	r := reader{body: b}
	w := Window{
		Checks: r.texts("checks"), Tags: r.text("tags"), Start: r.instant("start"), End: r.instant("end"),
		Schedule: r.text("schedule"), TZ: r.text("tz"), Note: r.text("note"),
	}
	if text := r.text("kind"); text != nil {
		w.Kind = gate.WindowKind(*text)
	}
	if n := r.number(checks.Setting{Name: "duration", Min: 1, Max: int64(gate.MaxWindow / time.Second)}); n != nil {
		w.Duration = time.Duration(*n) * time.Second
	}
	r.text("api_key")
	return w, r.err
}

// maxInstant bounds a timestamp in characters.
const maxInstant = 40

// instant reads a timestamp with an offset.
func (r *reader) instant(field string) time.Time {
	text := r.text(field)
	if text == nil {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, *text)
	if err != nil || len(*text) > maxInstant {
		r.refuse(field, "is not a time such as 2026-03-15T12:00:00+00:00: %s", shorten(strconv.Quote(*text)))
	}
	return t.UTC()
}
