package declare

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
)

// MaxFile is the maximum length of a file, in bytes.
const MaxFile = 10 << 20

// MaxChecks is the maximum number of checks in a file. A plan takes some 5 kB of memory for each.
const MaxChecks = 20_000

// Config says how [Parse] reads a file. The zero value of a field stands for its default.
type Config struct {
	// Name is the name of the file in errors. Default: "checks.yaml".
	Name string
	// Now is the time for validation: a schedule that never fires after it is refused. Default: the current time.
	Now time.Time
	// Types are the kinds of channels whose settings Parse checks, such as those of package channels/standard. Other kinds
	// pass: whether a channel of such a kind exists already is for [NewPlan] to find out. Default: none.
	Types []channels.Type
	// Env returns the value of an environment variable that a setting names. The file's author can send that value
	// anywhere, so Env should refuse variables that the author must not see. The error follows the variable's name in a
	// message, such as "is not set". By default no variable can be read.
	Env func(name string) (string, error)
	// File returns the value in a file that a setting names. Like Env, it should refuse files that the author must not
	// see; [os.Root] confines it to a directory. The error must not contain the content. By default no file can be read.
	File func(path string) (string, error)
}

// parser reads one file.
type parser struct {
	report
	config  Config
	entries int   // keys and list items read so far
	checked int   // checks so far
	pages   names // slugs of the status pages of all projects
}

// Parse reads a file. A nil config stands for the defaults. The error is always [Errors].
func Parse(data []byte, config *Config) (Document, error) {
	var c Config
	if config != nil {
		c = *config
	}
	if c.Name == "" {
		c.Name = "checks.yaml"
	}
	if c.Now.IsZero() {
		c.Now = time.Now()
	}
	p := &parser{report: report{file: c.Name}, config: c, pages: make(names)}
	if len(data) > MaxFile {
		p.add(Position{}, "the file is too long: %d bytes, the maximum is %d", len(data), MaxFile)
	} else if root := p.load(data); root != nil {
		doc := p.document(root)
		if p.err() == nil {
			return doc, nil
		}
	}
	return Document{}, p.err()
}

func (p *parser) document(root *yaml.Node) Document {
	doc := Document{File: p.file}
	root = follow(root)
	if root.Kind != yaml.MappingNode {
		p.add(position(root), "the file must be a mapping with the key projects, %s", listKeys("or"))
		return doc
	}
	top := *root
	top.Content = nil
	for i := 0; i+1 < len(root.Content); i += 2 {
		if !strings.HasPrefix(root.Content[i].Value, "x-") { // these keys only hold anchors
			top.Content = append(top.Content, root.Content[i], root.Content[i+1])
		}
	}
	var single Project
	found := p.object(&top, "the file", append([]key{{"projects", func(n *yaml.Node) { doc.Projects = p.projects(n) }}}, p.lists(&single)...))
	_, many := found["projects"]
	one := slices.ContainsFunc(p.lists(&single), func(k key) bool { _, given := found[k.name]; return given })
	switch {
	case many && one:
		p.add(found.of("projects"), "projects and top-level %s cannot be combined; move these into a project", listKeys("or"))
	case many:
	case one:
		single.places = found
		doc.Projects = []Project{single}
	default:
		p.add(position(root), "the file has none of the keys projects, %s", listKeys("and"))
	}
	return doc
}

// lists returns the keys of a project that a file for one project may have at its top level.
func (p *parser) lists(project *Project) []key {
	keys := make([]key, len(projectLists))
	for i, l := range projectLists {
		keys[i] = key{l.key, func(n *yaml.Node) { l.parse(p, n, project) }}
	}
	return keys
}

// names maps the names in a list to their positions.
type names map[string]Position

// unique reports a name that an earlier item of the list already has.
func (p *parser) unique(seen names, what, name string, at Position) {
	if name == "" {
		return // already reported
	}
	if first, twice := seen[name]; twice {
		p.add(at, "duplicate %s %q, first used in line %d", what, shorten(name), first.Line)
		return
	}
	seen[name] = at
}

// atMost reports a list that is longer than a project may have it.
func (p *parser) atMost(n *yaml.Node, most int, things string) {
	if items := len(follow(n).Content); items > most {
		p.add(position(n), "a project has %d %s, the maximum is %d", items, things, most)
	}
}

// require reports a missing key.
func (p *parser) require(found places, what, key string) {
	if _, ok := found[key]; !ok {
		p.add(found.of(""), "%s has no %s", what, key)
	}
}

func (p *parser) projects(n *yaml.Node) []Project {
	seen := make(names)
	return each(p, n, "projects", func(item *yaml.Node) Project {
		project := p.project(item)
		p.unique(seen, "project", project.Name, project.places.of("name"))
		return project
	})
}

func (p *parser) project(n *yaml.Node) Project {
	var project Project
	keys := append([]key{
		{"name", func(n *yaml.Node) { project.Name = p.name(n, "name", projectName) }},
		{"account", func(n *yaml.Node) { project.Account = p.name(n, "account", checks.ValidateName) }},
		{"plan", func(n *yaml.Node) {
			if text := p.text(n, "plan"); text != nil {
				project.Plan = *text
				if project.Plan != "free" && project.Plan != "paid" {
					p.add(position(n), "plan is not free or paid: %q", shorten(*text))
				}
			}
		}},
		{"max_checks", func(n *yaml.Node) {
			limit, err := strconv.ParseUint(n.Value, 10, 31)
			if n.ShortTag() != "!!int" || err != nil {
				p.add(position(n), "max_checks is not a whole number of 0 or more")
				return
			}
			project.MaxChecks = new(int(limit))
		}},
		{"storm_checks", func(n *yaml.Node) {
			if count, ok := p.integer(n, "storm_checks").(int); ok {
				project.StormChecks = &count
				p.storm(n, checks.ProjectUpdate{StormChecks: &count})
			}
		}},
		{"storm_window", func(n *yaml.Node) {
			if window, ok := p.period(n, "storm_window").(time.Duration); ok {
				project.StormWindow = &window
				p.storm(n, checks.ProjectUpdate{StormWindow: &window})
			}
		}},
	}, p.lists(&project)...)
	project.places = p.object(n, "a project", keys)
	p.require(project.places, "a project", "name")
	return project
}

// storm reports a setting of storms that is out of its bounds.
func (p *parser) storm(n *yaml.Node, given checks.ProjectUpdate) {
	if _, err := given.Of(checks.Project{}); err != nil {
		p.add(position(n), "%v", err)
	}
}

// name reads the name of a project, an account or a channel. It returns "" and reports an error if the name is invalid.
func (p *parser) name(n *yaml.Node, field string, rule func(field, name string) error) string {
	text := p.text(n, field)
	if text == nil {
		return ""
	}
	if err := rule(field, *text); err != nil {
		p.add(position(n), "%v", err)
		return ""
	}
	return *text
}

func projectName(_, name string) error { return checks.ValidateProjectName(name) }

func (p *parser) checks(n *yaml.Node, project *Project) {
	before := p.checked
	if p.checked += len(follow(n).Content); p.checked > MaxChecks {
		if before <= MaxChecks { // say it once
			p.add(position(n), "the file has more than %d checks, the maximum: split it, for example by project", MaxChecks)
		}
		return
	}
	seen := make(names)
	project.Checks = each(p, n, "checks", func(item *yaml.Node) Check {
		check := p.check(item)
		if check.Slug != nil {
			p.unique(seen, "slug", *check.Slug, check.places.of("slug"))
		}
		return check
	})
}

func (p *parser) check(n *yaml.Node) Check {
	var c Check
	keys := make([]key, 0, len(settings))
	for _, s := range settings {
		keys = append(keys, key{s.Name, func(n *yaml.Node) { p.read(n, s, &c.Spec) }})
	}
	c.places = p.object(n, "a check", keys)
	p.require(c.places, "a check", "slug")
	if c.Slug != nil && *c.Slug == "" {
		p.add(c.places.of("slug"), "slug is empty")
	}
	return c
}

func (p *parser) channels(n *yaml.Node, project *Project) {
	seen := make(names)
	p.atMost(n, checks.MaxChannels, "channels")
	project.Channels = each(p, n, "channels", func(item *yaml.Node) Channel {
		channel := p.channel(item)
		p.unique(seen, "channel", channel.Name, channel.places.of("name"))
		return channel
	})
}

func (p *parser) channel(n *yaml.Node) Channel {
	c := Channel{Settings: make(map[string]Setting)}
	before := len(p.list)
	at := make(places)
	c.places = p.object(n, "a channel", []key{
		{"name", func(n *yaml.Node) { c.Name = p.name(n, "name", checks.ValidateName) }},
		{"kind", func(n *yaml.Node) {
			if text := p.text(n, "kind"); text != nil {
				c.Kind = channels.Kind(*text)
			}
		}},
		{"settings", func(n *yaml.Node) {
			for _, e := range p.mapping(n, "settings") {
				at[e.key] = e.at
				c.Settings[e.key] = p.setting(e)
			}
		}},
	})
	p.require(c.places, "a channel", "name")
	p.require(c.places, "a channel", "kind")
	if len(p.list) > before || p.full() {
		return c
	}
	_, err := channels.Validate(withoutRequiredSecrets(p.config.Types), c.Kind, c.values(), nil)
	if wrong, ok := errors.AsType[*channels.SettingError](err); ok {
		place, known := at[wrong.Setting]
		if !known {
			place = c.places.of("settings")
		}
		p.add(place, "%v", err)
	}
	return c
}

// withoutRequiredSecrets returns the kinds with all secrets optional and without rules about several settings. A file may
// leave out a secret that the channel already has; only [NewPlan] can tell.
func withoutRequiredSecrets(kinds []channels.Type) []channels.Type {
	kinds = slices.Clone(kinds)
	for i := range kinds {
		kinds[i].Check = nil
		kinds[i].Settings = slices.Clone(kinds[i].Settings)
		for j := range kinds[i].Settings {
			s := &kinds[i].Settings[j]
			s.Required = s.Required && !s.Secret
		}
	}
	return kinds
}

// setting reads the value of a channel's setting: a string or its source. Numbers need no quotes, because a phone number
// looks like one.
func (p *parser) setting(e entry) Setting {
	switch {
	case e.value.ShortTag() == "!!null":
		p.add(e.at, "%s has no value", shorten(e.key))
		return Setting{}
	case e.value.Kind == yaml.ScalarNode:
		return Setting{Value: e.value.Value}
	}
	var s Setting
	found := p.object(e.value, "the value of "+shorten(e.key), []key{
		{"env", func(n *yaml.Node) { s = p.lookUp(n, "env", "environment variable", envSource, p.config.Env) }},
		{"file", func(n *yaml.Node) { s = p.lookUp(n, "file", "file", fileSource, p.config.File) }},
	})
	if len(found) != 2 && e.value.Kind == yaml.MappingNode {
		p.add(position(e.value), "the value of %s must have one of the keys env and file", shorten(e.key))
	}
	return s
}

// lookUp reads a value from the variable or file that n names.
func (p *parser) lookUp(n *yaml.Node, key, what, source string, read func(string) (string, error)) Setting {
	name := p.text(n, key)
	if name == nil {
		return Setting{}
	}
	if err := checks.ValidateSource(key, source+*name); err != nil {
		p.add(position(n), "%v", err)
		return Setting{}
	}
	value, err := "", errors.New("cannot be read here")
	if read != nil {
		value, err = read(*name)
		if err != nil && what == "file" {
			err = fmt.Errorf("cannot be read: %w", err)
		}
	}
	if err != nil {
		p.add(position(n), "the %s %q %v", what, shorten(*name), err)
	}
	return Setting{Value: value, Source: source + *name}
}
