package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// model returns the model of the command line.
func model(t *testing.T) *kong.Application {
	t.Helper()
	parser, err := kong.New(newCLI(), options(io.Discard, io.Discard, console.ExitOK)...)
	if err != nil {
		t.Fatal(err)
	}
	return parser.Model
}

// generated returns the files that generate writes, by their paths.
func generated(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	var stderr strings.Builder
	if status := run([]string{"generate", dir}, io.Discard, &stderr); status != console.ExitOK {
		t.Fatalf("status %d: %s", status, stderr.String())
	}
	files := make(map[string]string)
	for _, pattern := range []string{"*", "*/*"} {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			content, err := os.ReadFile(path)
			if err != nil {
				continue // a directory
			}
			files[strings.TrimPrefix(path, dir+"/")] = string(content)
		}
	}
	return files
}

// visit calls f for every command, hidden or below a hidden one, or not.
func visit(node *kong.Node, hidden bool, f func(node *kong.Node, hidden bool)) {
	hidden = hidden || node.Hidden
	f(node, hidden)
	for _, child := range node.Children {
		visit(child, hidden, f)
	}
}

// TestGenerateNamesEverything looks up every command and flag in the pages and in the completions. Hidden commands must be
// missing.
func TestGenerateNamesEverything(t *testing.T) {
	files, root := generated(t), model(t)
	visit(root.Node, false, func(node *kong.Node, hidden bool) {
		words := strings.Fields(node.FullPath())
		page := files["man/"+strings.Join(words[:min(len(words), 2)], "-")+".1"]
		if hidden {
			if page != "" {
				t.Errorf("%s is hidden, and generated", node.FullPath())
			}
			return
		}
		if !strings.Contains(page, bold(node.FullPath())) && node.Leaf() {
			t.Errorf("the synopsis of %s is missing", node.FullPath())
		}
		completed := strings.Join(completions(root.Node, append(words[1:], "-"), noNames), "\n") + "\n"
		for _, flag := range visibleFlags(node) {
			if !strings.Contains(page, ".TP\n"+bold("--"+flag.Name)) && !strings.Contains(page, ", "+bold("--"+flag.Name)) {
				t.Errorf("the page lacks %s --%s", node.FullPath(), flag.Name)
			}
			if !strings.Contains(completed, "--"+flag.Name+"\t"+summary(flag.Help)+"\n") {
				t.Errorf("the completion lacks %s --%s: %s", node.FullPath(), flag.Name, completed)
			}
		}
	})
}

// TestManPages runs the pages through groff and mandoc, which must have nothing to say.
func TestManPages(t *testing.T) {
	groff, mandoc := need(t, "groff", "groff-base"), need(t, "mandoc", "mandoc")
	release := &debug.BuildInfo{Main: debug.Module{Version: "v0.1.0"}, Settings: []debug.BuildSetting{{Key: "vcs.time", Value: "2026-11-22T23:58:59Z"}}}
	dir := t.TempDir()
	for _, page := range manPages(model(t), release) {
		path := filepath.Join(dir, page.name+".1")
		if err := os.WriteFile(path, []byte(page.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, command := range [][]string{{groff, "-man", "-ww", "-z", "-Tutf8", path}, {mandoc, "-Tlint", path}} {
			if out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%v: %s", err, out)
			}
		}
	}
	text, err := exec.CommandContext(t.Context(), mandoc, "-Tascii", "-Owidth=78", filepath.Join(dir, "rollcall-serve.1")).Output()
	if err != nil {
		t.Fatal(err)
	}
	plain := regexp.MustCompile(".\b").ReplaceAllString(string(text), "") // a character over itself is bold
	for _, want := range []string{
		"SYNOPSIS\n       rollcall serve [options]\n",
		"--database=URL\n              The database: sqlite:PATH, or postgres://USER:PASSWORD@HOST/NAME\n              for PostgreSQL 15 or later.  Without it, commands use\n" +
			"              rollcall.db in this directory, or else the database of the\n              service that is installed on this machine.\n" +
			"              Default: sqlite:rollcall.db\n              Environment: ROLLCALL_DATABASE, or a file named by\n              ROLLCALL_DATABASE_FILE\n",
		"/etc/rollcall/rollcall.env\n", "EXIT STATUS\n", "EXAMPLES\n           rollcall serve\n", "SEE ALSO\n       rollcall(1), rollcall-migrate(1)", "2026-11-22",
	} {
		if !strings.Contains(plain, want) {
			t.Errorf("rollcall-serve.1 lacks %q", want)
		}
	}
	if t.Failed() {
		t.Logf("%s", plain)
	}
}

// TestSettingsFile sets all lines of the file. The server must have its defaults then.
func TestSettingsFile(t *testing.T) {
	serve := func() serveCmd {
		c := newCLI()
		parser, err := kong.New(c, options(io.Discard, io.Discard, console.ExitOK)...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parser.Parse([]string{"serve"}); err != nil {
			t.Fatal(err)
		}
		return c.Serve
	}
	defaults := serve()
	// Such a line means the same to systemd, to a shell and to container tools: no quotes, backslashes, $ or spaces.
	line := regexp.MustCompile(`^#(ROLLCALL_[A-Z0-9_]+)=([A-Za-z0-9:/.,_-]*)$`)
	set := make(map[string]int)
	for text := range strings.Lines(generated(t)["rollcall.env"]) {
		text = strings.TrimSuffix(text, "\n")
		if text == "" || strings.HasPrefix(text, "# ") || text == "#" || strings.HasPrefix(text, "## ") {
			continue
		}
		parts := line.FindStringSubmatch(text)
		if parts == nil {
			t.Errorf("what is %q?", text)
			continue
		}
		set[parts[1]]++
		if parts[2] != "" {
			t.Setenv(parts[1], parts[2])
		}
	}
	if got := serve(); !reflect.DeepEqual(got, defaults) {
		t.Errorf("the lines set %+v, want %+v", got, defaults)
	}
	flags := 0
	for _, flag := range append(model(t).Flags, findCommand(model(t).Node, "serve").Flags...) {
		if len(flag.Envs) == 0 {
			continue
		}
		flags++
		want, files := 1, 0
		if flag.Name == "database" {
			want = 2 // it must be emptied for its file
		}
		if isSecret(flag) {
			files = 1
		}
		if set[flag.Envs[0]] != want || set[flag.Envs[0]+fileSuffix] != files {
			t.Errorf("%s is there %d times, its file %d times", flag.Envs[0], set[flag.Envs[0]], set[flag.Envs[0]+fileSuffix])
		}
	}
	if flags < 50 {
		t.Errorf("only %d settings", flags)
	}
}

func TestVersion(t *testing.T) {
	settings := func(pairs ...string) (all []debug.BuildSetting) {
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, debug.BuildSetting{Key: pairs[i], Value: pairs[i+1]})
		}
		return all
	}
	const commit = "dc87f951b00c3f2e9a7d6c5b4a39281706f5e4d3"
	for _, test := range []struct {
		info debug.BuildInfo
		want string
	}{
		{debug.BuildInfo{}, "(unknown)"},
		{debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: "(devel)"}}, "(devel) (go1.26.8)"},
		{ // go install of a version
			debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: "v0.1.0"}, Settings: settings("GOARCH", "arm64", "GOOS", "linux")},
			"v0.1.0 (go1.26.8, linux/arm64)",
		},
		{
			debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: "v0.1.0"}, Settings: settings(
				"GOARCH", "amd64", "GOOS", "freebsd", "vcs", "git", "vcs.revision", commit, "vcs.time", "2026-11-22T23:58:59Z", "vcs.modified", "false")},
			"v0.1.0 (commit dc87f951b00c, 2026-11-22, go1.26.8, freebsd/amd64)",
		},
		{ // the date is that of UTC
			debug.BuildInfo{Main: debug.Module{Version: "v0.1.0+dirty"}, Settings: settings(
				"vcs.revision", commit, "vcs.time", "2026-11-22T23:58:59-02:00", "vcs.modified", "true")},
			"v0.1.0+dirty (commit dc87f951b00c, 2026-11-23, modified)",
		},
		{ // a short revision, and a time that nobody can read
			debug.BuildInfo{Main: debug.Module{Version: "v0.1.0"}, Settings: settings("vcs.revision", "42", "vcs.time", "today")},
			"v0.1.0 (commit 42)",
		},
	} {
		if got := console.Version(&test.info); got != test.want {
			t.Errorf("version(%v) = %q, want %q", test.info, got, test.want)
		}
	}
}
