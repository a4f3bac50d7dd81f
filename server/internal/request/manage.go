package request

import (
	"encoding/json"
	"maps"
	"math"
	"slices"

	"github.com/rollcall-dev/rollcall/checks"
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

// Project is what a request that creates or renames a project says. A nil field is absent.
type Project struct {
	Name, Account, Plan *string
	MaxChecks           *int64
}

// Project reads the fields of a request that creates or renames a project, under the rules of [Body.Create].
func (b Body) Project() (Project, error) {
	r := reader{body: b}
	p := Project{
		Name: r.text("name"), Account: r.text("account"), Plan: r.text("plan"),
		MaxChecks: r.number(checks.Setting{Name: "max_checks", Max: math.MaxInt32}),
	}
	r.text("api_key")
	return p, r.err
}

// Texts reads the fields of a request that has only texts, under the rules of [Body.Create]. A field that is absent is "".
func (b Body) Texts(fields ...string) (map[string]string, error) {
	r := reader{body: b}
	texts := make(map[string]string, len(fields))
	for _, field := range fields {
		if text := r.text(field); text != nil {
			texts[field] = *text
		}
	}
	r.text("api_key")
	return texts, r.err
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
