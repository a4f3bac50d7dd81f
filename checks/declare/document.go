package declare

import (
	"fmt"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
)

// Document is what a file says. [Parse] makes one of a file, and [Export] of what is there; a program may make one
// itself.
type Document struct {
	// File is the name of the file, for errors.
	File string
	// Projects are the projects, each name once. One without a name stands for the project that [Options] names, and
	// has no others beside it.
	Projects []Project
}

// Project is a project with its channels and checks.
type Project struct {
	// Name is the name of the project, 1 to 100 characters.
	Name string
	// Account, Plan and MaxChecks are those of [checks.Project]. They are used when the project is made. They cannot
	// be changed later: a value that is given and is not the one that is there is an error.
	Account   string
	Plan      checks.Plan
	MaxChecks *int
	// Channels are the channels, each name once. Nil says nothing about channels.
	Channels []Channel
	// Checks are the checks, each slug once. Nil says nothing about checks.
	Checks []Check

	places  places
	remarks []string // what an export had to leave out, for comments
}

// Only returns the document with the one project that has this name. In a document about one project without a name,
// the project gets it. The error is [checks.ErrNotFound] when there is none.
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
	// Settings are the settings by name. A setting that is secret by its kind and not given stays as it is.
	Settings map[string]Setting

	places  places
	remarks []string
}

// Setting is the value of a setting of a channel.
type Setting struct {
	// Value is the value. It is never shown when Source is set, or when the setting is secret by its kind.
	Value string `json:"-"`
	// Source says where the value came from, as in "$PAGER_TOKEN", or is "" when it stands in the file itself.
	Source string
}

// String returns the value or, where that may be secret, its source.
func (s Setting) String() string {
	if s.Source != "" {
		return "(" + s.Source + ")"
	}
	return s.Value
}

// GoString returns the text of [Setting.String].
func (s Setting) GoString() string { return s.String() }

// Check is a check. Its slug is required, and Spec.ID is not looked at. A setting that is nil has its default; no
// Channels means none.
type Check struct {
	checks.Spec

	places places
}

// places are the positions of an entry (under "") and of its keys.
type places map[string]Position

// of returns the position of a key, or else that of the entry.
func (p places) of(key string) Position {
	if at, ok := p[key]; ok {
		return at
	}
	return p[""]
}
