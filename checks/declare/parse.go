package declare

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
)

// MaxFile is how long a file may be, in bytes.
const MaxFile = 10 << 20

// maxName is how many characters the name of a project, an account or a channel may have.
const maxName = 100

// Config says how a file is read. The zero value of a field stands for its default.
type Config struct {
	// Name is the name of the file in errors. Default: "checks.yaml".
	Name string
	// Now decides whether a schedule has a time yet to come. Default: the current time.
	Now time.Time
	// Kinds are the kinds of channels that there are. Default: [channels.Kinds].
	Kinds []channels.KindInfo
	// Env returns the value of an environment variable, as [os.LookupEnv] does. Default: none is set.
	Env func(name string) (string, bool)
	// File returns the value in a file, for settings that name one. Its error must not show the content. Default: no
	// file can be read.
	File func(path string) (string, error)
}

// parser reads a file.
type parser struct {
	report
	config Config
}

// Parse reads a file. The error is [Errors].
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
	if c.Kinds == nil {
		c.Kinds = channels.Kinds()
	}
	p := &parser{report: report{file: c.Name}, config: c}
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
		p.add(position(root), "the file is not a mapping with the key projects, or checks")
		return doc
	}
	top := *root
	top.Content = nil
	for i := 0; i+1 < len(root.Content); i += 2 { // without what only holds anchors
		if !strings.HasPrefix(root.Content[i].Value, "x-") {
			top.Content = append(top.Content, root.Content[i], root.Content[i+1])
		}
	}
	var single Project
	found := p.object(&top, "the file", append([]key{{"projects", func(n *yaml.Node) { doc.Projects = p.projects(n) }}}, p.lists(&single)...))
	_, many := found["projects"]
	_, hasChannels := found["channels"]
	_, hasChecks := found["checks"]
	switch {
	case many && (hasChannels || hasChecks):
		p.add(found.of("projects"), "projects cannot stand beside checks and channels at the top of the file")
	case many:
	case hasChannels || hasChecks:
		single.places = found
		doc.Projects = []Project{single}
	default:
		p.add(position(root), "the file has neither projects nor checks")
	}
	return doc
}

// lists are the keys that stand in a project, and at the top of a file about one project.
func (p *parser) lists(project *Project) []key {
	return []key{
		{"channels", func(n *yaml.Node) { project.Channels = p.channels(n) }},
		{"checks", func(n *yaml.Node) { project.Checks = p.checks(n) }},
	}
}

func (p *parser) projects(n *yaml.Node) []Project {
	items, _ := p.sequence(n, "projects")
	seen := make(map[string]Position)
	list := make([]Project, 0, len(items))
	for _, item := range items {
		if len(p.list) == maxErrors {
			break
		}
		project := p.project(item)
		p.unique(seen, "project", project.Name, project.places.of("name"))
		list = append(list, project)
	}
	return list
}

// unique reports a name that another entry has.
func (p *parser) unique(seen map[string]Position, what, name string, at Position) {
	if name == "" {
		return // reported before
	}
	if first, twice := seen[name]; twice {
		p.add(at, "the %s %q is there already, in line %d", what, shorten(name), first.Line)
		return
	}
	seen[name] = at
}

func (p *parser) project(n *yaml.Node) Project {
	var project Project
	keys := append([]key{
		{"name", func(n *yaml.Node) { project.Name = p.name(n, "name") }},
		{"account", func(n *yaml.Node) { project.Account = p.name(n, "account") }},
		{"plan", func(n *yaml.Node) {
			if text := p.text(n, "plan"); text != nil {
				project.Plan = checks.Plan(*text)
				if project.Plan != checks.Free && project.Plan != checks.Paid {
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
	}, p.lists(&project)...)
	project.places = p.object(n, "a project", keys)
	p.require(project.places, "a project", "name")
	return project
}

// require reports a key that is not there.
func (p *parser) require(found places, what, key string) {
	if _, ok := found[key]; !ok {
		p.add(found.of(""), "%s has no %s", what, key)
	}
}

// name reads the name of a project, an account or a channel.
func (p *parser) name(n *yaml.Node, field string) string {
	text := p.text(n, field)
	if text == nil {
		return ""
	}
	length := utf8.RuneCountInString(*text)
	switch {
	case length == 0:
		p.add(position(n), "%s is empty", field)
	case length > maxName:
		p.add(position(n), "%s is too long: %d characters, the maximum is %d", field, length, maxName)
	case strings.ContainsFunc(*text, func(r rune) bool { return r < ' ' || r == 0x7f }):
		p.add(position(n), "%s has a control character", field)
	default:
		return *text
	}
	return ""
}

func (p *parser) channels(n *yaml.Node) []Channel {
	items, _ := p.sequence(n, "channels")
	seen := make(map[string]Position)
	list := make([]Channel, 0, len(items))
	for _, item := range items {
		if len(p.list) == maxErrors {
			break
		}
		channel := p.channel(item)
		p.unique(seen, "channel", channel.Name, channel.places.of("name"))
		list = append(list, channel)
	}
	return list
}

func (p *parser) channel(n *yaml.Node) Channel {
	c := Channel{Settings: make(map[string]Setting)}
	before := len(p.list)
	at := make(places)
	c.places = p.object(n, "a channel", []key{
		{"name", func(n *yaml.Node) { c.Name = p.name(n, "name") }},
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
	if len(p.list) > before {
		return c
	}
	// Secrets that are left out may be there already; NewPlan looks for them.
	_, err := channels.Validate(withoutRequiredSecrets(p.config.Kinds), c.Kind, c.values())
	if wrong, ok := errors.AsType[*channels.SettingError](err); ok {
		place, known := at[wrong.Setting]
		if !known {
			place = c.places.of("settings")
		}
		p.add(place, "%v", err)
	} else if err != nil {
		p.add(c.places.of("kind"), "%v", err)
	}
	return c
}

// values returns the settings as package channels takes them.
func (c Channel) values() map[string]string {
	values := make(map[string]string, len(c.Settings))
	for name, s := range c.Settings {
		values[name] = s.Value
	}
	return values
}

// withoutRequiredSecrets returns the kinds with all secret settings optional, and without the rules that join settings.
func withoutRequiredSecrets(kinds []channels.KindInfo) []channels.KindInfo {
	kinds = slices.Clone(kinds)
	for i := range kinds {
		kinds[i].Check = nil // It may ask for a secret.
		kinds[i].Settings = slices.Clone(kinds[i].Settings)
		for j := range kinds[i].Settings {
			s := &kinds[i].Settings[j]
			s.Required = s.Required && !s.Secret
		}
	}
	return kinds
}

// setting reads the value of a setting: a text, or where the text is.
func (p *parser) setting(e entry) Setting {
	switch {
	case e.value.ShortTag() == "!!null":
		p.add(e.at, "%s has no value", shorten(e.key))
		return Setting{}
	case e.value.Kind == yaml.ScalarNode:
		return Setting{Value: e.value.Value} // also of what looks like a number, as a phone number does
	}
	var s Setting
	found := p.object(e.value, "the value of "+shorten(e.key), []key{
		{"env", func(n *yaml.Node) { s = p.lookup(n, "env", "$", "environment variable", p.env) }},
		{"file", func(n *yaml.Node) { s = p.lookup(n, "file", "file ", "file", p.readFile) }},
	})
	if len(found) != 2 && e.value.Kind == yaml.MappingNode {
		p.add(position(e.value), "the value of %s has one of the keys env and file", shorten(e.key))
	}
	return s
}

func (p *parser) lookup(n *yaml.Node, field, prefix, what string, read func(string) (string, error)) Setting {
	name := p.text(n, field)
	if name == nil {
		return Setting{}
	}
	value, err := read(*name)
	if err != nil {
		p.add(position(n), "the %s %q %v", what, shorten(*name), err)
	}
	return Setting{Value: value, Source: prefix + *name}
}

func (p *parser) env(name string) (string, error) {
	if p.config.Env == nil {
		return "", errors.New("cannot be read here")
	}
	if value, ok := p.config.Env(name); ok && value != "" {
		return value, nil
	}
	return "", errors.New("is not set")
}

func (p *parser) readFile(path string) (string, error) {
	if p.config.File == nil {
		return "", errors.New("cannot be read here")
	}
	value, err := p.config.File(path)
	if err != nil {
		return "", fmt.Errorf("cannot be read: %w", err)
	}
	return value, nil
}
