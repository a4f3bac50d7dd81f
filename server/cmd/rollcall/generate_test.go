package main

import (
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// model returns the model of the command line.
func model(t *testing.T) *kong.Application {
	t.Helper()
	parser, err := kong.New(new(cli), options(io.Discard, io.Discard, exitOK)...)
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
	if status := run([]string{"generate", dir}, io.Discard, &stderr); status != exitOK {
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

// TestGenerateNamesEverything looks up every command and flag in the pages and the scripts. Hidden ones must be missing.
func TestGenerateNamesEverything(t *testing.T) {
	files := generated(t)
	visit(model(t).Node, false, func(node *kong.Node, hidden bool) {
		words := strings.Fields(node.FullPath())
		page := files["man/"+strings.Join(words[:min(len(words), 2)], "-")+".1"]
		if found := strings.Contains(page, bold(node.FullPath())); found == hidden && node.Leaf() {
			t.Errorf("man: %s, hidden %v: found %v", node.FullPath(), hidden, found)
		}
		for _, flag := range node.Flags {
			if found := strings.Contains(page, bold("--"+flag.Name)); !found && !hidden {
				t.Errorf("man: %s --%s is missing", node.FullPath(), flag.Name)
			}
		}
		for shell, form := range map[string]string{
			"completions/rollcall.bash": "    '" + node.FullPath() + "')",
			"completions/_rollcall":     "_" + strings.NewReplacer(" ", "_", "-", "_").Replace(node.FullPath()) + "() {",
			"completions/rollcall.fish": "__rollcall_at " + node.FullPath() + "'",
		} {
			if found := strings.Contains(files[shell], form); found == hidden && (shell != "completions/rollcall.fish" || !node.Leaf()) {
				t.Errorf("%s: %s, hidden %v: found %v", shell, node.FullPath(), hidden, found)
			}
		}
	})
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
		if got := version(&test.info); got != test.want {
			t.Errorf("version(%v) = %q, want %q", test.info, got, test.want)
		}
	}
}
