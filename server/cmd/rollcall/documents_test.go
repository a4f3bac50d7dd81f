package main

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// root is the directory of the module.
const root = "../../.."

// documents returns the Markdown files of the module with their texts.
func documents(t *testing.T) map[string]string {
	t.Helper()
	texts := make(map[string]string)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "testdata") {
			return fs.SkipDir
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		texts[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"README.md", "CHANGELOG.md", "client/README.md", "checks/README.md", "server/README.md"} {
		if texts[filepath.Join(root, name)] == "" {
			t.Errorf("%s is missing", name)
		}
	}
	return texts
}

var (
	fence   = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	dropped = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// anchors returns the anchors that GitHub gives to the headings of a document.
func anchors(text string) map[string]bool {
	all := make(map[string]bool)
	for _, found := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		all[anchor(found[1])] = true
	}
	return all
}

func anchor(heading string) string {
	return strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}

// TestDocumentLinks follows the links of all documents to files and to headings.
func TestDocumentLinks(t *testing.T) {
	texts := documents(t)
	for path, text := range texts {
		for _, found := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			target, anchor, _ := strings.Cut(found[1], "#")
			file := path
			if target != "" {
				file = filepath.Join(filepath.Dir(path), target)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s: %s: %v", path, found[1], err)
			} else if anchor != "" && !anchors(texts[file])[anchor] {
				t.Errorf("%s: %s: no such heading", path, found[1])
			}
		}
	}
}

// TestDocumentContents looks up the headings of manuals in their contents: server/README.md lists the questions of the
// manuals beside it, and a document with a list of its own headings lists all that follow it, down to the level of its first indented
// entry.
func TestDocumentContents(t *testing.T) {
	texts := documents(t)
	for _, name := range []string{
		"INSTALL.md", "CONFIGURE.md", "ALERTS.md", "OPERATE.md", "UPGRADE.md", "DATABASES.md", "BACKUP.md", "LIMITS.md", "INTEGRATE.md", "PEOPLE.md",
	} {
		for _, found := range headings(texts[filepath.Join(root, "server", name)], 2) {
			if to := "](" + name + "#" + anchor(found) + ")"; !strings.Contains(texts[filepath.Join(root, "server", "README.md")], to) {
				t.Errorf("server/README.md does not list %q of %s", found, name)
			}
		}
	}
	entry := regexp.MustCompile(`(?m)^( *)- \[.*\]\(#.*\)$`)
	for path, text := range texts {
		entries := entry.FindAllStringSubmatchIndex(text, -1)
		if len(entries) < 3 {
			continue
		}
		levels, listed := 2, text[:entries[len(entries)-1][1]]
		if strings.Contains(listed, "\n  - [") {
			levels = 3
		}
		for _, found := range headings(text[len(listed):], levels) {
			if !strings.Contains(listed, "](#"+anchor(found)+")") {
				t.Errorf("the contents of %s lack %q", path, found)
			}
		}
	}
}

// headings returns the texts of the headings of a document from the second to the given level.
func headings(text string, level int) (all []string) {
	for _, found := range regexp.MustCompile(`(?m)^(#{2,6}) (.*)$`).FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		if len(found[1]) <= level {
			all = append(all, found[2])
		}
	}
	return all
}

// TestDocumentPackages compares the table of packages in the manual for programs with the packages that can be imported.
func TestDocumentPackages(t *testing.T) {
	_, section, _ := strings.Cut(documents(t)[filepath.Join(root, "checks", "README.md")], "\n## Which packages do I need?\n")
	section, _, _ = strings.Cut(section, "\n## ")
	listed := make(map[string]bool)
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*?) \\|").FindAllStringSubmatch(section, -1) {
		directory := "" // of the first name of the row, for names without one
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			full := name[1]
			if strings.Contains(full, "/") {
				directory = filepath.ToSlash(filepath.Dir(full))
			} else if _, err := os.Stat(filepath.Join(root, full)); err != nil {
				full = directory + "/" + full
			}
			listed[full] = true
		}
	}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name := strings.TrimPrefix(filepath.ToSlash(path), root+"/")
		switch {
		case err != nil || !entry.IsDir() || path == root:
			return err
		case strings.HasPrefix(entry.Name(), ".") || slices.Contains([]string{"internal", "testdata", "cmd", "examples"}, entry.Name()):
			return fs.SkipDir
		}
		sources, err := filepath.Glob(filepath.Join(path, "*.go"))
		if len(sources) > 0 && !listed[name] {
			t.Errorf("the table lacks %s", name)
		}
		delete(listed, name)
		return err
	})
	if err != nil || len(listed) > 0 {
		t.Errorf("the table has %v, which do not exist; %v", listed, err)
	}
}

// TestDocumentComponents compares the components of log lines that the operators' manual lists with those in the code.
func TestDocumentComponents(t *testing.T) {
	_, section, _ := strings.Cut(documents(t)[filepath.Join(root, "server", "OPERATE.md")], "\n| component | writes about |\n")
	section, _, _ = strings.Cut(section, "\n\n")
	listed := map[string]bool{"job": true} // only in programs that run their jobs themselves
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*?) \\|").FindAllStringSubmatch(section, -1) {
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			listed[name[1]] = true
		}
	}
	found := make(map[string]bool)
	used := regexp.MustCompile(`(?:\blogger\(|\bcomponent\(\w+(?:\.\w+)*, |slog\.Group\("rollcall", "component", )"(\w+)"`)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "examples") {
			return fs.SkipDir
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, name := range used.FindAllStringSubmatch(string(text), -1) {
			if found[name[1]] = true; !listed[name[1]] {
				t.Errorf("%s: the component %s is not listed", path, name[1])
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range listed {
		if !found[name] {
			t.Errorf("no code has the component %s", name)
		}
	}
}

// TestDocumentSections looks up the sections of server/API.md that code and documents cite. Nothing cites the
// specification itself, which is not in the repository. What pkg.go.dev shows calls them sections of the API, with a link
// in the package comment, because a path leads nowhere there.
func TestDocumentSections(t *testing.T) {
	rules, err := os.ReadFile(filepath.Join(root, "server", "API.md"))
	if err != nil {
		t.Fatal(err)
	}
	sections := make(map[string]bool)
	for _, found := range regexp.MustCompile(`(?m)^#+ ([\d.]*\d)\.? `).FindAllStringSubmatch(string(rules), -1) {
		sections[found[1]] = true
	}
	lineBreak := regexp.MustCompile(`\n[\t ]*(//|#)? *`)
	const list = `sections? [\d.]*\d(?:(?:,| and) [\d.]*\d)*`
	citation := regexp.MustCompile(`server/API\.md ` + list + `|\b` + list + ` of the \[?API\b|\[API\] \(` + list)
	number := regexp.MustCompile(`[\d.]*\d`)
	cited := 0
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "testdata") {
			return fs.SkipDir
		}
		if !slices.Contains([]string{".go", ".md", ".yaml", ".html", ".tmpl", ".sh"}, filepath.Ext(path)) {
			return nil
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "API-V3"+".md") {
			t.Errorf("%s cites the specification", path)
		}
		for _, found := range citation.FindAllString(lineBreak.ReplaceAllString(string(text), " "), -1) {
			for _, section := range number.FindAllString(found, -1) {
				if cited++; !sections[section] {
					t.Errorf("%s cites section %s of server/API.md, which is missing", path, section)
				}
			}
		}
		for _, doc := range publishedDocs(t, path) {
			if strings.Contains(strings.ReplaceAll(doc, published, ""), "server/API.md") {
				t.Errorf("%s: pkg.go.dev would show a path that leads nowhere in %q", path, doc)
			}
			if strings.Contains(doc, "[API]") && !strings.Contains(doc, "\n[API]: "+published+"\n") {
				t.Errorf("%s: no link for [API] in %q", path, doc)
			}
		}
		return err
	})
	if err != nil || cited < 80 {
		t.Errorf("%d citations, %v", cited, err)
	}
}

// published is the address of the short form of the specification.
const published = "https://github.com/rollcall-dev/rollcall/blob/main/server/API.md"

// publishedDocs returns the comments of a file that pkg.go.dev shows.
func publishedDocs(t *testing.T, path string) (docs []string) {
	t.Helper()
	if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || strings.Contains(filepath.ToSlash(path), "/internal/") {
		return nil
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	ast.FileExports(file)
	ast.Inspect(file, func(n ast.Node) bool {
		if comment, ok := n.(*ast.CommentGroup); ok {
			docs = append(docs, comment.Text())
		}
		return true
	})
	return docs
}

// TestDocumentTests looks up the tests and packages that the threat model and the table of ASVS name.
func TestDocumentTests(t *testing.T) {
	texts := documents(t)
	threats := texts[filepath.Join(root, "server", "THREATS.md")] + texts[filepath.Join(root, ".github", "SECURITY.md")]
	known := make(map[string]bool)
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && entry.Name() == ".git" {
			return fs.SkipDir
		}
		switch {
		case entry.IsDir():
			known[strings.TrimPrefix(filepath.ToSlash(path), root+"/")] = true
			known[entry.Name()] = true
		case filepath.Ext(path) == ".txt":
			known[entry.Name()] = true
		case strings.HasSuffix(path, "_test.go"):
			text, err := os.ReadFile(path)
			for _, found := range declared.FindAllStringSubmatch(string(text), -1) {
				known[found[1]] = true
			}
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`((?:Test|Fuzz)\\w+|\\w+\\.txt)`|packages? `([\\w/]+)`|`(examples/[\\w/]+)`").FindAllStringSubmatch(threats, -1)
	if len(named) < 100 {
		t.Errorf("found only %d names", len(named))
	}
	for _, found := range named {
		if name := found[1] + found[2] + found[3]; !known[name] {
			t.Errorf("server/THREATS.md or .github/SECURITY.md names %s, which does not exist", name)
		}
	}
}

// asvs are the requirements of levels 1 and 2 of ASVS 5.0.0, by section.
const asvs = "1.1: 1 2; 1.2: 1 2 3 4 5 6 7 8 9; 1.3: 1 2 3 4 5 6 7 8 9 10 11; 1.4: 1 2 3; 1.5: 1 2; 2.1: 1 2 3; 2.2: 1 2 3; 2.3: 1 2 3 4; 2.4: 1; " +
	"3.2: 1 2; 3.3: 1 2 3 4; 3.4: 1 2 3 4 5 6; 3.5: 1 2 3 4 5; 3.7: 1 2; 4.1: 1 2 3; 4.2: 1; 4.3: 1 2; 4.4: 1 2 3 4; 5.1: 1; 5.2: 1 2 3; 5.3: 1 2; " +
	"5.4: 1 2 3; 6.1: 1 2 3; 6.2: 1 2 3 4 5 6 7 8 9 10 11 12; 6.3: 1 2 3 4; 6.4: 1 2 3 4; 6.5: 1 2 3 4 5; 6.6: 1 2 3; 6.8: 1 2 3 4; 7.1: 1 2 3; " +
	"7.2: 1 2 3 4; 7.3: 1 2; 7.4: 1 2 3 4 5; 7.5: 1 2; 7.6: 1 2; 8.1: 1 2; 8.2: 1 2 3; 8.3: 1; 8.4: 1; 9.1: 1 2 3; 9.2: 1 2 3 4; 10.1: 1 2; 10.2: 1 2; " +
	"10.3: 1 2 3 4; 10.4: 1 2 3 4 5 6 7 8 9 10 11; 10.5: 1 2 3 4 5; 10.6: 1 2; 10.7: 1 2 3; 11.1: 1 2; 11.2: 1 2 3; 11.3: 1 2 3; 11.4: 1 2 3 4; 11.5: 1; " +
	"11.6: 1; 12.1: 1 2 3; 12.2: 1 2; 12.3: 1 2 3 4; 13.1: 1; 13.2: 1 2 3 4 5; 13.3: 1 2; 13.4: 1 2 3 4 5; 14.1: 1 2; 14.2: 1 2 3 4; 14.3: 1 2 3; " +
	"15.1: 1 2 3; 15.2: 1 2 3; 15.3: 1 2 3 4 5 6 7; 16.1: 1; 16.2: 1 2 3 4 5; 16.3: 1 2 3 4; 16.4: 1 2 3; 16.5: 1 2 3; 17.1: 1; 17.2: 1 2 3 4; 17.3: 1 2"

// TestDocumentASVS: .github/SECURITY.md says of each requirement of ASVS, level 2, whether it is met, and names a test of those that
// are. TestDocumentTests looks the tests up.
func TestDocumentASVS(t *testing.T) {
	var all []string
	for section := range strings.SplitSeq(asvs, "; ") {
		name, numbers, _ := strings.Cut(section, ": ")
		for n := range strings.FieldsSeq(numbers) {
			all = append(all, name+"."+n)
		}
	}
	_, table, found := strings.Cut(documents(t)[filepath.Join(root, ".github", "SECURITY.md")], "\n## ASVS 5.0, level 2\n")
	if table, _, _ = strings.Cut(table, "\n## "); !found {
		t.Fatal(".github/SECURITY.md has no table of ASVS")
	}
	numbers := regexp.MustCompile(`(\d+\.\d+\.\d+)(?:–(\d+\.\d+\.\d+))?`)
	said := make(map[string]int)
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 {
			continue
		}
		for _, r := range numbers.FindAllStringSubmatch(cells[1], -1) {
			from, to := slices.Index(all, r[1]), slices.Index(all, cmp.Or(r[2], r[1]))
			if from < 0 || to < from {
				if !strings.Contains(cells[1], "(level 3)") {
					t.Errorf("%s: unknown requirement", r[0])
				}
				continue
			}
			for _, number := range all[from : to+1] {
				said[number]++
			}
		}
		switch state, test := strings.TrimSpace(cells[2]), strings.TrimSpace(cells[4]); {
		case state == "met" && test == "":
			t.Errorf("met without a test: %s", cells[1])
		case (state == "not met" || state == "not applicable") && strings.TrimSpace(cells[3]) == "":
			t.Errorf("no reason: %s", cells[1])
		case state != "met" && state != "not met" && state != "not applicable" && numbers.MatchString(cells[1]):
			t.Errorf("the state is %q: %s", state, cells[1])
		}
	}
	for _, number := range all {
		if said[number] != 1 {
			t.Errorf("%s is in the table %d times", number, said[number])
		}
	}
}

// TestDocumentFlags looks up the flags that the manuals name on the command line. Flags of other programs are listed.
func TestDocumentFlags(t *testing.T) {
	c := newCLI()
	parser, err := kong.New(c, options(io.Discard, io.Discard, console.ExitOK)...)
	if err != nil {
		t.Fatal(err)
	}
	known := make(map[string]bool)
	for _, other := range []string{
		"retry", "retry-connrefused", "data-binary", "post301", "post302", "post303", "max-redirs", // curl
		"format", "file", "clean", "if-exists", "single-transaction", "no-owner", "dbname", // pg_dump, pg_restore
		"restart", "read-only", "cap-drop", "user", // docker run
		"stored",                        // the load tool
		"now", "full", "ignore-missing", // systemctl, sha256sum
		"from-literal", "from", // kubectl
	} {
		known[other] = true
	}
	var visit func(node *kong.Node)
	visit = func(node *kong.Node) {
		for _, flag := range node.Flags {
			known[flag.Name] = true
		}
		for _, child := range node.Children {
			visit(child)
		}
	}
	visit(parser.Model.Node)
	texts := documents(t)
	for path, text := range texts {
		name := strings.TrimPrefix(filepath.ToSlash(path), root+"/")
		if strings.HasPrefix(name, "examples/") || name == ".github/CONTRIBUTING.md" || name == ".release/README.md" || name == "server/COMMANDS.md" { // flags of many programs; TestDocumentReference
			continue
		}
		if _, after, found := strings.Cut(text, "\n## Past one machine\n"); found {
			text = after // before that, PERFORMANCE.md has flags of the load tool
		}
		for _, found := range regexp.MustCompile("(?m)[ `\\[(|]--([a-z0-9]+(?:-[a-z0-9]+)*)\\b").FindAllStringSubmatch(text, -1) {
			if !known[found[1]] {
				t.Errorf("%s: rollcall has no flag --%s", name, found[1])
			}
		}
	}
}

// TestDocumentCommands parses each command of rollcall in the shell blocks of all documents, with the variables that the block
// sets before.
func TestDocumentCommands(t *testing.T) {
	names := commandNames(t)
	blocks := regexp.MustCompile("(?ms)^ *```(?:sh|crontab|bat)\n(.*?)^ *```")
	parsed := 0
	for path, text := range documents(t) {
		t.Run(strings.TrimPrefix(filepath.ToSlash(path), root+"/"), func(t *testing.T) {
			for _, block := range blocks.FindAllStringSubmatch(text, -1) {
				t.Run("", func(t *testing.T) { parsed += parseBlock(t, names, strings.ReplaceAll(block[1], "\\\n", " ")) })
			}
		})
	}
	if parsed < 60 {
		t.Errorf("found only %d commands", parsed)
	}
}

var (
	assigned    = regexp.MustCompile(`\b(ROLLCALL_[A-Z_]+)=('[^']*'|\S+)`)
	rollcallRun = regexp.MustCompile(`(?:^|[\s"\\/])rollcall(?:\.exe)? (.*)$`)
)

// parseBlock parses the commands of a block and returns how many there were. Files of secrets do not exist, so their
// variables count as those that have the value.
func parseBlock(t *testing.T, names []string, block string) (parsed int) {
	for line := range strings.Lines(block) {
		for _, set := range assigned.FindAllStringSubmatch(line, -1) {
			value := strings.Trim(set[2], "'")
			switch {
			case strings.HasSuffix(set[1], "_URL_FILE"):
				value = "https://rollcall.example.org/ping/" + uuid.NewString()
			case strings.HasSuffix(set[1], "_FILE"):
				value = strings.Repeat("a", 22)
			}
			t.Setenv(strings.TrimSuffix(set[1], "_FILE"), strings.ReplaceAll(value, "…", strings.Repeat("a", 28)))
		}
		found := rollcallRun.FindStringSubmatch(strings.TrimSpace(line))
		if found == nil {
			continue
		}
		if inner := rollcallRun.FindStringSubmatch(found[1]); inner != nil { // docker exec rollcall rollcall …
			found = inner
		}
		words := shellWords(strings.ReplaceAll(found[1], "$?", "0"))
		if len(words) == 0 || words[0] != "--database" && !slices.Contains(names, words[0]) {
			continue // a container or a service of this name
		}
		parsed++
		command := commandLine{args: words, helpTo: io.Discard, stderr: io.Discard}
		if _, _, err := command.parse(); err != nil {
			t.Errorf("rollcall %s: %v", found[1], err)
		}
		if !strings.HasPrefix(line, "export ") { // the variables were those of this command
			for _, set := range assigned.FindAllStringSubmatch(line, -1) {
				t.Setenv(strings.TrimSuffix(set[1], "_FILE"), "")
			}
		}
	}
	return parsed
}

// commandNames returns the names of the commands at the top.
func commandNames(t *testing.T) (names []string) {
	t.Helper()
	parser, err := kong.New(newCLI(), options(io.Discard, io.Discard, console.ExitOK)...)
	if err != nil {
		t.Fatal(err)
	}
	for _, child := range parser.Model.Children {
		names = append(names, child.Name)
	}
	return names
}

// shellWords splits a line into words as a shell does, up to a comment, a redirection or the end of the command.
func shellWords(line string) (words []string) {
	word, begun, quote, depth := "", false, rune(0), 0
	end := func() {
		if begun {
			words = append(words, word)
		}
		word, begun = "", false
	}
	for _, r := range line {
		switch {
		case quote == 0 && depth == 0 && (r == '#' && !begun || strings.ContainsRune("|><;&", r)):
			end()
			return words
		case quote == 0 && (r == '\'' || r == '"'):
			quote, begun = r, true
			continue
		case r == quote:
			quote = 0
			continue
		case quote == 0 && depth == 0 && (r == ' ' || r == '\t'):
			end()
			continue
		case quote == 0 && r == '(':
			depth++
		case quote == 0 && r == ')':
			depth--
		}
		word, begun = word+string(r), true
	}
	end()
	return words
}

// TestDocumentServeFlags compares the tables of flags in server/CONFIGURE.md with the flags of serve: each is there once,
// with its mark if it has a variable for a file, and with its default if it has the row for itself.
func TestDocumentServeFlags(t *testing.T) {
	c := newCLI()
	parser, err := kong.New(c, options(io.Discard, io.Discard, console.ExitOK)...)
	if err != nil {
		t.Fatal(err)
	}
	model := make(map[string]*kong.Flag)
	for _, flags := range parser.Model.Children[slices.IndexFunc(parser.Model.Children, func(n *kong.Node) bool { return n.Name == "serve" })].AllFlags(true) {
		for _, flag := range flags {
			model[flag.Name] = flag
		}
	}
	delete(model, "help")
	delete(model, "version")
	listed := make(map[string]int)
	row := regexp.MustCompile("(?m)^\\| (`--[^|]*) \\| ([^|]*) \\|")
	for _, found := range row.FindAllStringSubmatch(documents(t)[filepath.Join(root, "server", "CONFIGURE.md")], -1) {
		flags := strings.Split(found[1], ", ")
		for _, text := range flags {
			name, marked := strings.CutSuffix(text, " †")
			name = strings.Trim(name, "`-")
			flag := model[name]
			if flag == nil {
				t.Errorf("serve has no flag --%s", name)
				continue
			}
			listed[name]++
			if flag.Tag.Has("secret") != marked {
				t.Errorf("--%s: the mark of a variable that names a file is wrong", name)
			}
			if given := strings.Trim(found[2], "`"); len(flags) == 1 && flag.HasDefault && flag.Default != given {
				t.Errorf("--%s: the default is %s, the table has %s", name, flag.Default, given)
			}
		}
	}
	for name, flag := range model {
		if listed[name] != 1 && !flag.Hidden {
			t.Errorf("--%s is listed %d times", name, listed[name])
		}
	}
}

// TestDocumentKinds compares the table of kinds in server/ALERTS.md with the kinds of the server. Each is there
// once, with settings that it has, and names its required ones.
func TestDocumentKinds(t *testing.T) {
	_, section, _ := strings.Cut(documents(t)[filepath.Join(root, "server", "ALERTS.md")], "\n### Kinds of integrations\n")
	section, _, _ = strings.Cut(section, "\n##")
	code := regexp.MustCompile("`([a-z_]+\\*?)`")
	listed := make(map[string]int)
	for line := range strings.Lines(section) {
		row, found := strings.CutPrefix(line, "| `")
		if !found {
			continue
		}
		names, settings, _ := strings.Cut("`"+row, " | ")
		var all []channels.Setting // of the kinds of the row
		for _, kind := range code.FindAllStringSubmatch(names, -1) {
			listed[kind[1]]++
			i := slices.IndexFunc(standard.Kinds(), func(k channels.Type) bool { return string(k.Kind) == kind[1] })
			if i < 0 {
				t.Errorf("the kind %s does not exist", kind[1])
				continue
			}
			all = append(all, standard.Kinds()[i].Settings...)
		}
		if strings.HasPrefix(settings, "see ") {
			continue
		}
		for _, s := range all {
			if s.Required && !strings.Contains(settings, "**`"+s.Name+"`**") {
				t.Errorf("%s: the required setting %s is missing", names, s.Name)
			}
		}
		for _, name := range code.FindAllStringSubmatch(settings, -1) {
			prefix, several := strings.CutSuffix(name[1], "*")
			if listed[name[1]] == 0 && !slices.ContainsFunc(all, func(s channels.Setting) bool {
				return s.Name == name[1] || several && strings.HasPrefix(s.Name, prefix)
			}) {
				t.Errorf("%s: there is no setting %s", names, name[1])
			}
		}
	}
	for _, kind := range standard.Kinds() {
		if n := listed[string(kind.Kind)]; n != 1 {
			t.Errorf("the kind %s is listed %d times", kind.Kind, n)
		}
	}
}

// TestDocumentExamples: what a page shows of an example file is in that file, whose test runs it.
func TestDocumentExamples(t *testing.T) {
	texts := documents(t)
	for page, example := range map[string]struct{ language, file string }{
		"systemd.md": {"ini", "systemd/backup.service"}, "kubernetes.md": {"yaml", "kubernetes/cronjob.yaml"},
	} {
		file, err := os.ReadFile(filepath.Join(root, "examples", filepath.FromSlash(example.file)))
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for line := range strings.Lines(string(file)) {
			lines = append(lines, strings.TrimSpace(line))
		}
		_, block, found := strings.Cut(texts[filepath.Join(root, "server", "watch", page)], "```"+example.language+"\n")
		if block, _, _ = strings.Cut(block, "```"); !found {
			t.Errorf("server/watch/%s shows nothing of %s", page, example.file)
		}
		for line := range strings.Lines(block) {
			if line = strings.TrimSpace(line); !slices.Contains(lines, line) {
				t.Errorf("server/watch/%s: examples/%s lacks %q", page, example.file, line)
			}
		}
	}
}

// TestDocumentUnreleased: until the changelog has a release, nothing tells people to fetch one.
func TestDocumentUnreleased(t *testing.T) {
	texts := documents(t)
	if regexp.MustCompile(`(?m)^## \[?v?\d`).MatchString(texts[filepath.Join(root, "CHANGELOG.md")]) {
		t.Skip("there is a release: README.md, server/INSTALL.md, examples/compose, examples/kubernetes and doc.go may name it")
	}
	files, err := filepath.Glob(filepath.Join(root, "examples", "*", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(files, filepath.Join(root, "doc.go")) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[path] = string(text)
	}
	delete(texts, filepath.Join(root, ".release", "README.md")) // how to release
	promised := regexp.MustCompile(`ghcr\.io/\S+|rollcall-dev/rollcall\S*@\S+|rollcall-dev/rollcall/releases|rollcall_\d\S+`)
	for path, text := range texts {
		for _, found := range promised.FindAllString(text, -1) {
			t.Errorf("%s names %s, which does not exist yet", path, found)
		}
	}
	if !strings.Contains(texts[filepath.Join(root, "README.md")], "**Version 0.1.0 is not out yet.**") {
		t.Error("README.md does not say that there is no release")
	}
}

// TestReadmeQuickStart starts a server as the quick start says, and runs the commands that follow in a shell.
func TestReadmeQuickStart(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil && os.Getenv("ROLLCALL_TEST_REQUIRE") != "all" {
		t.Skip(err)
	}
	_, section, _ := strings.Cut(documents(t)[filepath.Join(root, "README.md")], "\n## Quick start\n")
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := regexp.MustCompile("(?s)```(sh|text)\n(.*?)```").FindAllStringSubmatch(section, -1)
	if len(blocks) < 8 {
		t.Fatalf("found %d blocks", len(blocks))
	}
	flags, ok := strings.CutPrefix(blocks[0][2], "go install ./server/cmd/rollcall\nrollcall serve ")
	if !ok {
		t.Fatalf("begins with %q", blocks[0][2])
	}
	p := start(t, "sqlite:rollcall.db", strings.Fields(flags)...)
	id := "UUID" // of the check, once it is created
	shell := func(script string) (string, error) {
		local := strings.NewReplacer("http://localhost:8000", p.url, "/tmp/", p.cmd.Dir+"/", "UUID", id)
		command := exec.CommandContext(t.Context(), "sh", "-e", "-c", local.Replace(script))
		command.Dir, command.Env = p.cmd.Dir, cleanEnv()
		out, err := command.CombinedOutput()
		if found := regexp.MustCompile(`/ping/(\S{36})\n`).FindStringSubmatch(string(out)); found != nil && id == "UUID" {
			id = found[1]
		}
		return string(out), err
	}
	for i, block := range blocks[1:] {
		switch next := blocks[min(i+2, len(blocks)-1)]; {
		case block[1] == "text": // the output of the block before
		case next[1] == "text":
			var out string
			var err error
			if !eventually(patience, func() bool {
				out, err = shell(block[2])
				return err == nil && strings.TrimSpace(out) == strings.TrimSpace(next[2])
			}) {
				t.Errorf("%s\n%v, printed %q, want %q", block[2], err, out, next[2])
			}
		default:
			if out, err := shell(block[2]); err != nil {
				t.Errorf("%s\n%v, printed %q", block[2], err, out)
			}
		}
	}
}
