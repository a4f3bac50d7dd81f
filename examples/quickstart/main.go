// Command quickstart records the quick start of README.md as an animated picture: it starts a server, types the commands in a
// shell and draws what they print.
//
//	go run -C examples ./quickstart -o ../.github/quickstart.svg
//
// What differs from run to run, such as keys and times, is replaced, so that the same commands make the same picture. The test
// fails if the picture is not current.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/examples/internal/program"
)

func main() {
	readme := flag.String("readme", "../README.md", "the `file` with the quick start")
	out := flag.String("o", "../.github/quickstart.svg", "the `file` to write")
	flag.Parse()
	picture, err := record(context.Background(), *readme)
	if err == nil {
		err = os.WriteFile(*out, picture, 0o644) //nolint:gosec // a picture for everyone
	}
	if err != nil {
		log.Fatal(err)
	}
}

// A step is a command and what it printed.
type step struct {
	command string // may have several lines
	output  []string
}

// record runs the quick start and returns its picture.
func record(ctx context.Context, readme string) ([]byte, error) {
	blocks, err := quickStart(readme)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "quickstart-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path, err := program.Build(ctx, dir)
	if err != nil {
		return nil, err
	}
	install, serve, _ := strings.Cut(strings.TrimSpace(blocks[0].text), "\n")
	words := strings.Fields(serve)
	server := &program.Server{Path: path, Args: append(words[2:], "--database", "sqlite:"+filepath.Join(dir, "rollcall.db")), Log: os.Stderr}
	if err := server.Start(ctx); err != nil {
		return nil, err
	}
	defer server.Kill()
	s := shell{dir, server.Greeting()}
	steps := []step{{command: install}, {serve, s.greeting()}, {command: "# in a second terminal\n" + strings.TrimSpace(blocks[1].text)}}
	for i, b := range blocks[2:] {
		if b.language != "sh" {
			continue
		}
		want := ""
		if next := i + 3; next < len(blocks) && blocks[next].language == "text" {
			want = strings.TrimSpace(blocks[next].text)
		}
		output, err := s.run(ctx, b.text, want)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step{strings.TrimSpace(b.text), output})
	}
	return draw(steps), nil
}

// A block is one of the code blocks of the quick start.
type block struct{ language, text string }

// quickStart returns the blocks for a shell and those with output: first the start of the server, then the keys to export.
func quickStart(readme string) (blocks []block, err error) {
	text, err := os.ReadFile(readme)
	if err != nil {
		return nil, err
	}
	_, section, _ := strings.Cut(string(text), "\n## Quick start\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, found := range regexp.MustCompile("(?s)```(sh|text)\n(.*?)```").FindAllStringSubmatch(section, -1) {
		blocks = append(blocks, block{found[1], found[2]})
	}
	if len(blocks) < 4 || !strings.Contains(blocks[0].text, "\nrollcall serve") {
		return nil, fmt.Errorf("%s: no quick start", readme)
	}
	return blocks, nil
}

// shell runs commands beside a server.
type shell struct {
	dir string
	program.Greeting
}

// greeting returns what the server prints first, as far as it is of use.
func (s shell) greeting() []string {
	return s.lines(fmt.Sprintf("Created the project \"default\". Its keys cannot be shown again:\n\n  API key             %s\n  API key, read-only  %s\n  ping key            %s\n",
		s.Key, s.ReadOnlyKey, s.PingKey))
}

// patience bounds how long an alert may take. Only a broken server takes that long.
const patience = 2 * time.Minute

// run runs a script in a shell and returns what it printed. With want it repeats the script until it prints that.
func (s shell) run(ctx context.Context, script, want string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		// Everything of one run stays in its directory.
		local := strings.NewReplacer("http://localhost:8000", s.URL, "/tmp/", s.dir+"/").Replace(script)
		command := program.Command(ctx, "sh", "-e", "-c", local)
		command.Dir = s.dir
		command.Env = append(command.Env, "PATH="+s.dir+":"+os.Getenv("PATH"), "API_KEY="+s.Key, "PING_KEY="+s.PingKey, "TZ=UTC")
		out, err := command.Output()
		switch text := string(out); {
		case err == nil && (want == "" || strings.TrimSpace(text) == want):
			return s.lines(text), nil
		case ctx.Err() != nil:
			return nil, fmt.Errorf("%s: %w, printed %q, want %q", script, errors.Join(err, ctx.Err()), text, want)
		case want == "":
			var failed *exec.ExitError
			if errors.As(err, &failed) {
				err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(failed.Stderr))
			}
			return nil, fmt.Errorf("%s: %w", script, err)
		}
		time.Sleep(100 * time.Millisecond) // until the alert has left
	}
}

var (
	identifier = regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
	key        = regexp.MustCompile(`\b(rc[rw]_)\w{28}\b`)
	date       = regexp.MustCompile(`\b\d{4}-\d\d-\d\d([ T])\d\d:\d\d(:\d\d)?`)
	clock      = regexp.MustCompile(`\b\d\d:\d\d(:\d\d)?\b`)
	ago        = regexp.MustCompile(`\b\d+ ?s(econds?)? ago|\bin (\d+ (s|seconds?|minutes?)|1 min(ute)?( \d+ s)?)\b`)
)

// lines returns the lines of an output without what differs from run to run.
func (s shell) lines(text string) []string {
	text = strings.NewReplacer(s.URL, "http://localhost:8000", s.dir, "/tmp").Replace(text)
	text = strings.ReplaceAll(text, s.PingKey, "jn7plfwgqheaam2mq42g2d")
	text = key.ReplaceAllString(text, "${1}fswb2fmmxjvwpks636eo75q7zaud")
	text = identifier.ReplaceAllString(text, "5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f")
	text = date.ReplaceAllString(text, "2026-12-02${1}09:41$2")
	text = clock.ReplaceAllStringFunc(text, func(found string) string { return "09:41:07"[:len(found)] })
	text = ago.ReplaceAllString(text, "in a minute")
	return strings.Split(strings.TrimRight(text, "\n"), "\n")
}
