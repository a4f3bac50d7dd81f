package declare

import (
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
)

// Document is the content of a file. [Parse] reads one, [Export] returns an existing project for one, and a program can
// build one itself.
type Document struct {
	// File is the name of the file, for errors.
	File string
	// Projects are the projects, with unique names. The only project may have no name; [Options].Project names it then.
	Projects []Project
}

// Project is a project with its channels, checks, status pages and maintenance.
type Project struct {
	// Name is the name of the project, 1 to 100 characters.
	Name string
	// Account, Plan and MaxChecks are those of [checks.Project]. A plan sets them when it creates the project and cannot
	// change them later: [NewPlan] fails if they differ. The zero values match any project.
	Account   string
	Plan      string
	MaxChecks *int
	// StormChecks and StormWindow are those of [checks.ProjectUpdate]. Nil leaves the setting of the project alone.
	StormChecks *int
	StormWindow *time.Duration
	// Channels are the channels, with unique names. Nil leaves the channels of the project alone.
	Channels []Channel
	// Escalation is the escalation policy. Nil leaves that of the project alone, and an empty list removes it.
	Escalation []Step
	// Checks are the checks, with unique slugs. Nil leaves the checks of the project alone.
	Checks []Check
	// StatusPages are the status pages, with slugs that are unique in the installation. Nil leaves the status pages of the
	// project alone.
	StatusPages []StatusPage
	// Maintenance are the maintenance windows, with unique names. Nil leaves those of the project alone.
	Maintenance []Maintenance

	places  places
	remarks []string // what [Export] left out
}

// projectLists are the lists of a project in a file, in the order in which they are written and planned.
var projectLists = []projectList{
	{"channels", (*parser).channels, func(p Project) *yaml.Node { return given(p.Channels, Channel.node) }, (*Project).exportChannels, (*projectPlanner).channels},
	{"escalation", (*parser).escalation, func(p Project) *yaml.Node { return given(p.Escalation, Step.node) }, (*Project).exportEscalation, (*projectPlanner).escalation},
	{"checks", (*parser).checks, func(p Project) *yaml.Node { return given(p.Checks, Check.node) }, (*Project).exportChecks, (*projectPlanner).checks},
	{"status_pages", (*parser).statusPages, func(p Project) *yaml.Node { return given(p.StatusPages, StatusPage.node) }, (*Project).exportStatusPages,
		(*projectPlanner).statusPages},
	{"maintenance", (*parser).maintenance, func(p Project) *yaml.Node { return given(p.Maintenance, Maintenance.node) }, (*Project).exportMaintenance,
		(*projectPlanner).maintenance},
}

// projectList is a list of a project. A list of nil leaves the project alone, and has no node.
type projectList struct {
	key    string
	parse  func(p *parser, n *yaml.Node, to *Project)
	node   func(p Project) *yaml.Node
	export func(p *Project, from State)
	plan   func(p *projectPlanner)
}

// listKeys lists the keys of projectLists: "a, b and c" with the word "and".
func listKeys(word string) string {
	keys := make([]string, len(projectLists))
	for i, l := range projectLists {
		keys[i] = l.key
	}
	last := len(keys) - 1
	return strings.Join(keys[:last], ", ") + " " + word + " " + keys[last]
}

// Only returns a document with only the named project. If the document's project has no name, it gets this one. The
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

// Channel is an integration.
type Channel struct {
	// Name is the name of the channel, 1 to 100 characters.
	Name string
	Kind channels.Kind
	// Settings are the settings by name. A missing secret setting keeps its value.
	Settings map[string]Setting

	places  places
	remarks []string
}

// values returns the values of the settings by name.
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

// Prefixes of [Setting.Source].
const (
	envSource  = "$"
	fileSource = "file "
)

// Setting is the value of a setting of a channel.
type Setting struct {
	// Value is the value. Plans and exports hide it if it has a Source, or if the kind marks the setting as secret.
	Value string `json:"-"`
	// Source says where the value came from, such as "$ROLLCALL_PAGER" or "file pager.key". It is "" for a value in the
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

// Check is a check. Its slug is required, and Spec.ID has no effect. A nil setting stands for its default; nil Channels
// stand for none.
type Check struct {
	checks.Spec

	places places
}

// places maps the keys of an entry to their positions, and "" to the position of the entry itself.
type places map[string]Position

// of returns the position of a key, or of the entry if it has no such key.
func (p places) of(key string) Position {
	if at, ok := p[key]; ok {
		return at
	}
	return p[""]
}
