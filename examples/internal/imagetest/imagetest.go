// Package imagetest helps the tests of files that run the image of Rollcall: what the image has, and a real server with the
// environment and arguments of a file.
package imagetest

import (
	"io"
	"maps"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/rollcall-dev/rollcall/examples/internal/program"
)

// root is the top of the repository, seen from an example.
const root = "../../"

// find returns the first group of a regular expression in a file of the repository, or "".
func find(t *testing.T, file, expr string) string {
	t.Helper()
	content, err := os.ReadFile(root + file)
	if err != nil {
		t.Fatal(err)
	}
	if match := regexp.MustCompile(expr).FindStringSubmatch(string(content)); match != nil {
		return match[1]
	}
	return ""
}

// Port returns the port that a server in the image listens on.
func Port(t *testing.T) string {
	t.Helper()
	port := find(t, ".release/image/image.go", `"ROLLCALL_LISTEN=:(\d+)"`)
	if port == "" {
		t.Fatal("the image has no port")
	}
	return port
}

// CheckImage fails the test unless an image is that of the newest release in the changelog. Before the first release, it must be
// one that the reader builds.
func CheckImage(t *testing.T, image string) {
	t.Helper()
	version := find(t, "CHANGELOG.md", `(?m)^## \[?v?(\d+\.\d+\.\d+)`)
	switch want := "ghcr.io/rollcall-dev/rollcall:" + version; {
	case version == "" && path.Base(image) != "rollcall:dev":
		t.Errorf("image %s, want rollcall:dev until there is a release", image)
	case version != "" && image != want:
		t.Errorf("image %s, want %s", image, want)
	}
}

// CheckVariables fails the test if a file in this directory names a variable of Rollcall that serve does not know.
func CheckVariables(t *testing.T) {
	t.Helper()
	binary, err := program.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	help, err := program.Command(t.Context(), binary, "serve", "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	variable := regexp.MustCompile(`\bROLLCALL_[A-Z0-9_]+`)
	known := variable.FindAllString(string(help), -1)
	files, err := filepath.Glob("*.*")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		if filepath.Ext(file) == ".go" {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range variable.FindAllString(string(content), -1) {
			if found++; !slices.Contains(known, name) {
				t.Errorf("%s: serve does not know %s", file, name)
			}
		}
	}
	if found < 5 {
		t.Errorf("only %d variables", found)
	}
}

// Serve runs a server with the environment and the arguments of a container until the test ends, on a free port, and
// returns its URL.
func Serve(t *testing.T, env map[string]string, args []string) string {
	t.Helper()
	if len(args) == 0 || args[0] != "serve" {
		t.Fatalf("arguments %q, want serve first", args)
	}
	binary, err := program.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	s := &program.Server{Path: binary, Args: args[1:], Env: list, Log: os.Stderr}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s.Greeting().URL
}

// Healthy fails the test unless a GET of the URL gets 200.
func Healthy(t *testing.T, url string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusOK {
		t.Errorf("%s: status %d: %s", url, answer.StatusCode, body)
	}
}
