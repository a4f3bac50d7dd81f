package manage

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/declare"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// write adds the checks that are missing to the file, and says what it did. It changes no other byte.
func (c *discoverCmd) write(d *discovery) (said string, err error) {
	data, err := console.ReadStart(c.Write, declare.MaxFile+1, fileWait, func() (*os.File, error) { return os.Open(c.Write) })
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		if data, err = emptyFile(c.Project); err != nil {
			return "", err
		}
	}
	doc, err := parseAny(c.Write, data)
	if err != nil {
		return "", err
	}
	project, err := chosen(doc, c.Project)
	if err != nil {
		return "", console.Usagef("%s: %w", c.Write, err)
	}
	items, err := d.missing(project)
	if err != nil {
		return "", err
	}
	if len(items) == 0 {
		return c.Write + " has all of these checks already, and was not changed.", nil
	}
	changed, err := addItems(data, project.Name, items)
	if err != nil {
		return "", fmt.Errorf("%s: %w", c.Write, err)
	}
	if after, err := parseAny(c.Write, changed); err != nil || countChecks(after) != countChecks(doc)+len(items) {
		return "", fmt.Errorf("%s: its form is unusual, so no checks can be added without a risk; nothing was changed: write them to another file", c.Write)
	}
	if err := replaceFile(c.Write, changed); err != nil {
		return "", err
	}
	return fmt.Sprintf("Added %s to %s. Next: rollcall apply -f %s", prose.Count(len(items), "check"), c.Write, console.ShellQuote(c.Write)), nil
}

// missing returns the lines of the checks that a project lacks.
func (d *discovery) missing(project declare.Project) (items [][]string, err error) {
	sources := make(map[string]string)
	for _, job := range d.Jobs {
		sources[job.Slug] = job.Source
	}
	for _, spec := range d.specs() {
		if slices.ContainsFunc(project.Checks, func(have declare.Check) bool { return *have.Slug == *spec.Slug }) {
			continue
		}
		item, err := checkItem(spec, sources[*spec.Slug])
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

// emptyFile is a file without checks.
func emptyFile(project string) ([]byte, error) {
	var out bytes.Buffer
	err := declare.Document{Projects: []declare.Project{{Name: project, Checks: []declare.Check{}}}}.Write(&out)
	return out.Bytes(), err
}

// parseAny parses a file of checks without reading what its settings name.
func parseAny(name string, data []byte) (declare.Document, error) {
	unread := func(string) (string, error) { return "unread", nil }
	return declare.Parse(data, &declare.Config{Name: name, Types: standard.Kinds(), Env: unread, File: unread})
}

// chosen returns the project of a file that gets the checks.
func chosen(doc declare.Document, name string) (declare.Project, error) {
	if len(doc.Projects) == 1 && (name == "" || doc.Projects[0].Name == "" || doc.Projects[0].Name == name) {
		return doc.Projects[0], nil
	}
	if name == "" {
		return declare.Project{}, fmt.Errorf("the file has %s; choose one with --project", prose.Count(len(doc.Projects), "project"))
	}
	i := slices.IndexFunc(doc.Projects, func(p declare.Project) bool { return p.Name == name })
	if i < 0 {
		return declare.Project{}, fmt.Errorf("the file has no project %q", name)
	}
	return doc.Projects[i], nil
}

func countChecks(doc declare.Document) (n int) {
	for _, p := range doc.Projects {
		n += len(p.Checks)
	}
	return n
}

// checkItem returns the lines of a check in a list, below a comment with its source.
func checkItem(spec checks.Spec, source string) ([]string, error) {
	spec.Channels = new("*")
	var out bytes.Buffer
	doc := declare.Document{Projects: []declare.Project{{Checks: []declare.Check{{Spec: spec}}}}}
	if err := doc.Write(&out); err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")[1:]
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, "  ")
	}
	comment := "# " + strings.Join(strings.Fields(console.Printable(strings.ToValidUTF8(source, "\uFFFD"))), " ")
	return append([]string{comment}, lines...), nil
}

// errForm says that checks are not written one below the other.
var errForm = errors.New("its checks stand in brackets or braces; write one below the other, or use another file")

// addItems adds items to the list of checks of a project, behind the last one.
func addItems(data []byte, project string, items [][]string) ([]byte, error) {
	var root yaml.Node
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err == nil {
		err = loader.Load(&root)
	}
	if err != nil || len(root.Content) == 0 {
		return nil, errForm
	}
	owner := projectNode(root.Content[0], project)
	if owner == nil || owner.Style&yaml.FlowStyle != 0 {
		return nil, errForm
	}
	f := &fileLines{lines: strings.Split(strings.TrimRight(string(data), "\n"), "\n")}
	key, list := entryOf(owner, "checks")
	switch {
	case list == nil:
		at := f.end(owner.Line, owner.Column-1, false)
		f.insert(at, owner.Column-1, append([][]string{{"checks:"}}, indented(items)...))
	case list.Kind == yaml.SequenceNode && len(list.Content) == 0 && list.Style&yaml.FlowStyle != 0:
		line := f.lines[key.Line-1]
		head, ok := strings.CutSuffix(strings.TrimRight(line, " \t\r"), "[]")
		if !ok {
			return nil, errForm
		}
		f.lines[key.Line-1] = strings.TrimRight(head, " ")
		f.insert(key.Line, key.Column-1, indented(items))
	case list.Kind == yaml.SequenceNode && list.Style&yaml.FlowStyle == 0:
		f.insert(f.end(list.Line, list.Column-1, true), list.Column-1, items)
	default:
		return nil, errForm
	}
	return []byte(strings.Join(f.lines, "\n") + "\n"), nil
}

// indented moves items to the right.
func indented(items [][]string) [][]string {
	out := make([][]string, len(items))
	for i, item := range items {
		for _, line := range item {
			out[i] = append(out[i], "  "+line)
		}
	}
	return out
}

// projectNode returns the mapping that has the checks of a project.
func projectNode(root *yaml.Node, name string) *yaml.Node {
	_, projects := entryOf(root, "projects")
	if projects == nil {
		return root
	}
	for _, p := range projects.Content {
		if _, value := entryOf(p, "name"); value != nil && value.Value == name {
			return p
		}
	}
	return nil
}

// entryOf returns a key of a mapping with its value, or nil.
func entryOf(n *yaml.Node, name string) (key, value *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i], n.Content[i+1]
		}
	}
	return nil, nil
}

// fileLines are the lines of a file in YAML.
type fileLines struct{ lines []string }

// end returns the index behind the last line of a block that begins at a line, counted from 1. Its lines are indented as the first one
// or more; those of a list at the same indentation begin with a hyphen.
func (f *fileLines) end(first, indent int, list bool) int {
	end := first
	for i := first; i < len(f.lines); i++ {
		line := strings.TrimRight(f.lines[i], " \t\r")
		if line == "" {
			continue
		}
		left := len(line) - len(strings.TrimLeft(line, " "))
		inside := left > indent || left == indent && (!list || line[left:] == "-" || strings.HasPrefix(line[left:], "- "))
		if !inside || line == "---" || line == "..." {
			break
		}
		end = i + 1
	}
	return end
}

// insert inserts lines in front of an index.
func (f *fileLines) insert(at, indent int, items [][]string) {
	ending := ""
	if len(f.lines) > 0 && strings.HasSuffix(f.lines[0], "\r") {
		ending = "\r"
	}
	var lines []string
	for _, item := range items {
		for _, line := range item {
			lines = append(lines, strings.Repeat(" ", indent)+line+ending)
		}
	}
	f.lines = slices.Insert(f.lines, min(at, len(f.lines)), lines...)
}

// replaceFile writes a file in one step, with the mode that it has.
func replaceFile(name string, data []byte) (err error) {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(name); err == nil {
		mode = info.Mode().Perm()
	}
	temporary, err := os.CreateTemp(filepath.Dir(name), ".rollcall-*")
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name()) // fails once it is renamed
	_, err = temporary.Write(data)
	err = cmp.Or(err, temporary.Chmod(mode), temporary.Sync(), temporary.Close())
	if err != nil {
		return err
	}
	return os.Rename(temporary.Name(), name)
}
