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
	"path/filepath"
	"regexp"
	"strings"
	"text/tabwriter"
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
	s := &shell{dir: dir, Greeting: server.Greeting()}
	steps, before := []step{{command: install}, {serve, s.greeting()}}, "# in a second terminal\n"
	for i, b := range blocks[1:] {
		if b.language != "sh" {
			continue
		}
		want := ""
		if next := i + 2; next < len(blocks) && blocks[next].language == "text" {
			want = strings.TrimSpace(blocks[next].text)
		}
		output, err := s.run(ctx, b.text, want)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step{before + strings.ReplaceAll(strings.TrimSpace(b.text), "UUID", exampleID), output})
		before = ""
	}
	return draw(steps), nil
}

// A block is one of the code blocks of the quick start.
type block struct{ language, text string }

// quickStart returns the blocks for a shell and those with output, first the start of the server.
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
	id string // of the check, once it is created
}

// greeting returns what the server prints first, as far as it is of use.
func (s *shell) greeting() []string {
	return s.lines(fmt.Sprintf("Created the project \"default\". Its keys cannot be shown again:\n\n  API key             %s\n  API key, read-only  %s\n  ping key            %s\n",
		s.Key, s.ReadOnlyKey, s.PingKey))
}

// patience bounds how long an alert may take. Only a broken server takes that long.
const patience = 2 * time.Minute

// run runs a script in a shell and returns what it printed. With want it repeats the script until it prints that.
func (s *shell) run(ctx context.Context, script, want string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		// Everything of one run stays in its directory.
		local := strings.NewReplacer("http://localhost:8000", s.URL, "/tmp/", s.dir+"/", "UUID", s.id).Replace(script)
		command := program.Command(ctx, "sh", "-e", "-c", local)
		command.Dir = s.dir
		command.Env = append(command.Env, "PATH="+s.dir+":"+os.Getenv("PATH"), "TZ=UTC")
		out, err := command.CombinedOutput()
		if s.id == "" {
			s.id = identifier.FindString(pingURL.FindString(string(out)))
		}
		switch text := string(out); {
		case err == nil && (want == "" || strings.TrimSpace(text) == want):
			return s.lines(text), nil
		case ctx.Err() != nil:
			return nil, fmt.Errorf("%s: %w, printed %q, want %q", script, errors.Join(err, ctx.Err()), text, want)
		case want == "":
			return nil, fmt.Errorf("%s: %w, printed %q", script, err, text)
		}
		time.Sleep(100 * time.Millisecond) // until the alert has left
	}
}

// exampleID stands for all identifiers.
const exampleID = "5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f"

var (
	identifier = regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
	pingURL    = regexp.MustCompile(`/ping/\S{36}\n`)
	address    = regexp.MustCompile(`http://(?:localhost|127\.0\.0\.1):\d+`)
	key        = regexp.MustCompile(`\b(rc[rw]_)\w{28}\b`)
	date       = regexp.MustCompile(`\b\d{4}-\d\d-\d\d([ T])\d\d:\d\d(:\d\d)?`)
	clock      = regexp.MustCompile(`\b\d\d:\d\d(:\d\d)?\b`)
	ago        = regexp.MustCompile(`\b[\d.]+ m?s ago\b|\bnow\b`)
	until      = regexp.MustCompile(`\bin \d+ (s|min)\b( \d+ s\b)?`)
	column     = regexp.MustCompile(` {2,}`)
)

// lines returns the lines of an output without what differs from run to run.
func (s *shell) lines(text string) []string {
	text = strings.NewReplacer(s.dir+"/rollcall", "/usr/local/bin/rollcall", s.dir, "/tmp").Replace(text)
	text = strings.ReplaceAll(text, s.PingKey, "jn7plfwgqheaam2mq42g2d")
	text = address.ReplaceAllString(text, "http://localhost:8000")
	text = key.ReplaceAllString(text, "${1}fswb2fmmxjvwpks636eo75q7zaud")
	text = identifier.ReplaceAllString(text, exampleID)
	text = date.ReplaceAllString(text, "2026-12-02${1}09:41$2")
	text = clock.ReplaceAllStringFunc(text, func(found string) string { return "09:41:07"[:len(found)] })
	text = until.ReplaceAllString(ago.ReplaceAllString(text, "1 s ago"), "in 1 min")
	if strings.HasPrefix(text, "STATE ") { // the columns of a table, which those had made wider
		var table bytes.Buffer
		columns := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
		fmt.Fprint(columns, column.ReplaceAllString(text, "\t"))
		_ = columns.Flush() // a buffer takes everything
		text = table.String()
	}
	return strings.Split(strings.TrimRight(text, "\n"), "\n")
}
