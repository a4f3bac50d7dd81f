package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// repositoryOf makes a repository with a program and one commit of 2026-01-02.
func repositoryOf(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod": "module example.org/program\n\ngo 1.26.0\n", "main.go": "package main\n\nfunc main() {}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const date = "2026-01-02T03:04:05Z"
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-q", "-m", "first"}, {"tag", "v1.2.3"}} {
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return dir
}

// build builds the program of a repository for this machine.
func build(t *testing.T, dir string, env ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=true", "-o", path)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), append([]string{"CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off"}, env...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

func TestReadRelease(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("an image needs a program for linux")
	}
	dir := repositoryOf(t)
	path := build(t, dir)
	r, err := readRelease([]string{path}, "")
	if err != nil {
		t.Fatal(err)
	}
	if r.version != "v1.2.3" || len(r.commit) != 40 || !r.date.Equal(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)) {
		t.Errorf("release %+v", r)
	}
	want := v1.Platform{OS: "linux", Architecture: runtime.GOARCH, Variant: map[string]string{"arm64": "v8", "arm": "v7"}[runtime.GOARCH]}
	if diff := cmp.Diff(want, r.binaries[0].platform); diff != "" {
		t.Errorf("platform (-want +got):\n%s", diff)
	}
	if r, err = readRelease([]string{path}, "86400"); err != nil || !r.date.Equal(time.Unix(86400, 0)) {
		t.Errorf("with SOURCE_DATE_EPOCH: %v, %v", r, err)
	}

	if err := os.WriteFile(filepath.Join(dir, "new.go"), []byte("package main\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dirty := build(t, dir)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		paths []string
		epoch string
		want  string
	}{
		{[]string{path, dirty}, "", "v1.2.3 of commit"},
		{[]string{path, path}, "", "are both for linux/"},
		{[]string{path}, "yesterday", "SOURCE_DATE_EPOCH"},
		{[]string{filepath.Join(dir, "go.mod")}, "", "go.mod"},
		{[]string{self}, "", "build it"},
	} {
		if _, err := readRelease(test.paths, test.epoch); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: %v, want an error with %q", test.paths, err, test.want)
		}
	}
}

func TestTag(t *testing.T) {
	for version, want := range map[string]string{
		"v0.1.0": "0.1.0", "v0.1.0-rc.1": "0.1.0-rc.1", "v0.1.1-0.20260102030405-0123456789ab+dirty": "0.1.1-0.20260102030405-0123456789ab-dirty",
	} {
		if got := (&release{version: version}).tag(); got != want {
			t.Errorf("%s: tag %s, want %s", version, got, want)
		}
	}
}
