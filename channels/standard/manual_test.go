package standard_test

import (
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/standard"
)

var update = flag.Bool("update", false, "write the pictures of server/notify")

// TestManual checks the pages of server/notify, one a kind: each says in the words of the kind where the token comes from, its
// command has settings that the kind accepts, and its picture shows what the kind sends.
func TestManual(t *testing.T) {
	const dir = "../../server/notify"
	pages, err := filepath.Glob(dir + "/*.md")
	if err != nil || len(pages) < 10 {
		t.Fatal(pages, err)
	}
	index, err := os.ReadFile(dir + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range pages {
		kind, _ := strings.CutSuffix(filepath.Base(path), ".md")
		if kind == "README" {
			continue
		}
		t.Run(kind, func(t *testing.T) {
			i := slices.IndexFunc(standard.Kinds(), func(k channels.Type) bool { return string(k.Kind) == kind })
			if i < 0 {
				t.Fatal("no such kind")
			}
			if !strings.Contains(string(index), "]("+kind+".md)") {
				t.Error("the index lacks this page")
			}
			checkPage(t, path, standard.Kinds()[i])
		})
	}
}

var (
	example = regexp.MustCompile("(?s)\n```json\n.*?\n```\n")
	image   = regexp.MustCompile(`!\[[^\]]*\]\(\w+\.svg\)`)
	setting = regexp.MustCompile(`--set '?(\w+)=([^\s']+)`)
)

func checkPage(t *testing.T, path string, kind channels.Type) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := string(content)
	if !strings.Contains(strings.Join(strings.Fields(page), " "), kind.Setup) {
		t.Errorf("the page does not say where the token comes from: %s", kind.Setup)
	}
	settings := make(map[string]string)
	_, command, created := strings.Cut(page, "\nrollcall channel create --kind "+string(kind.Kind)+" ")
	command, _, _ = strings.Cut(command, "```")
	for _, found := range setting.FindAllStringSubmatch(command, -1) {
		settings[found[1]] = found[2]
	}
	if !created || !strings.Contains(page, "\nrollcall channel test ") {
		t.Error("no command to create an integration, or none to test it")
	}
	found := image.FindStringIndex(page)
	if found == nil {
		t.Fatal("no picture of what arrives")
	}
	settings, err = channels.Validate(standard.Kinds(), kind.Kind, settings, nil)
	if err != nil {
		t.Fatal(err)
	}
	alerts := outage(t)
	picture, alt := picture(t, kind.Kind, settings, alerts)
	file := strings.TrimSuffix(path, ".md") + ".svg"
	want := page[:found[0]] + fmt.Sprintf("![%s](%s)", alt, filepath.Base(file)) + page[found[1]:]
	if document := example.FindStringIndex(want); document != nil { // for those who write a receiver
		want = want[:document[0]] + "\n```json\n" + indented(requests(t, kind.Kind, settings, alerts[:1])[0].body) + "\n```\n" + want[document[1]:]
	}
	checkPicture(t, picture)
	current(t, file, picture)
	current(t, path, want)
}

// checkPicture checks that a picture is XML, and small.
func checkPicture(t *testing.T, picture string) {
	t.Helper()
	if len(picture) > 6000 {
		t.Errorf("the picture has %d bytes", len(picture))
	}
	for decoder := xml.NewDecoder(strings.NewReader(picture)); ; {
		if _, err := decoder.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// current checks that a file has a content, or writes it.
func current(t *testing.T, path, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil { //nolint:gosec // for everyone
			t.Error(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s is not what the kind sends; go test ./channels/standard -run TestManual -update (-want +got), %v:\n%s", path, err, cmp.Diff(want, string(got)))
	}
}
