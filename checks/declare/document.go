package declare

import (
	"fmt"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
)

// Document is what a file says. [Parse] reads one from a file, [Export] describes what exists, and a program may
// compose one itself.
type Document struct {
	// File is the name of the file, for errors.
	File string
	// Projects are the projects, each name once. A project without a name stands for the one that [Options] names, and
	// must be alone.
	Projects []Project
}

// Project is a project with its channels and checks.
type Project struct {
	// Name is the name of the project, 1 to 100 characters.
	Name string
	// Account, Plan and MaxChecks are those of [checks.Project]. A plan creates the project with them, and cannot change
	// them later: another value than the project has is an error. The zero values accept what the project has.
	Account   string
	Plan      checks.Plan
	MaxChecks *int
	// Channels are the channels, each name once. Nil leaves the channels of the project alone.
	Channels []Channel
	// Checks are the checks, each slug once. Nil leaves the checks of the project alone.
	Checks []Check

	places  places
	remarks []string // what an export had to leave out
}

// Only returns the document reduced to the project with a name. A single project without a name gets that name. The
// error is [checks.ErrNotFound] if there is no such project.
func (d Document) Only(name string) (Document, error) {
	for _, project := range d.Projects {
		if project.Name == name || project.Name == "" {
			project.Name = name
			return Document{File: d.File, Projects: []Project{project}}, nil
		}
	}
	return Document{}, fmt.Errorf("project %q in %s: %w", name, d.File, checks.ErrNotFound)
}

// Channel is an integration (API-V3.md section 2.4).
type Channel struct {
	// Name is the name of the channel, 1 to 100 characters.
	Name string
	Kind channels.Kind
	// Settings are the settings by name. A missing setting that is secret by its kind keeps its value.
	Settings map[string]Setting

	places  places
	remarks []string
}

// values returns the settings as package channels takes them.
func (c Channel) values() map[string]string {
	values := make(map[string]string, len(c.Settings))
	for name, s := range c.Settings {
		values[name] = s.Value
	}
	return values
}

// sources returns the sources of the settings that have one.
func (c Channel) sources() map[string]string {
	sources := make(map[string]string)
	for name, s := range c.Settings {
		if s.Source != "" {
			sources[name] = s.Source
		}
	}
	return sources
}

// The beginnings of a [Setting.Source].
const (
	envSource  = "$"
	fileSource = "file "
)

// Setting is the value of a setting of a channel.
type Setting struct {
	// Value is the value. It is never shown if it has a Source, or if the setting is secret by its kind.
	Value string `json:"-"`
	// Source says where the value came from, as in "$ROLLCALL_PAGER" or "file pager.key". It is "" for a value in the
	// file itself.
	Source string
}

// String returns the value, or its source in parentheses.
func (s Setting) String() string {
	if s.Source != "" {
		return "(" + s.Source + ")"
	}
	return s.Value
}

// GoString returns the text of [Setting.String].
func (s Setting) GoString() string { return s.String() }

// Check is a check. Its slug is required, and Spec.ID has no effect. A nil setting means its default, and nil Channels
// mean none.
type Check struct {
	checks.Spec

	places places
}

// places are the positions of an entry, under "", and of its keys.
type places map[string]Position

// of returns the position of a key, or of the entry if it has no such key.
func (p places) of(key string) Position {
	if at, ok := p[key]; ok {
		return at
	}
	return p[""]
}
