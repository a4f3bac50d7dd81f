package standard_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/message"
	"github.com/rollcall-dev/rollcall/channels/standard"
)

var update = flag.Bool("update", false, "write the messages into the pages of server/notify")

// TestManual checks the pages of server/notify, one a kind: each says in the words of the kind where the token comes from, its
// command has settings that the kind accepts, and the message that it shows is the one that the kind sends.
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
	messageBlock = regexp.MustCompile("(?s)\n```text\n(.*?)```\n")
	setting      = regexp.MustCompile(`--set '?(\w+)=([^\s']+)`)
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
	if _, err := channels.Validate(standard.Kinds(), kind.Kind, settings, nil); err != nil {
		t.Error(err)
	}
	text := shown(kind, settings)
	switch block := messageBlock.FindStringSubmatchIndex(page); {
	case block == nil:
		t.Error("no message")
	case *update:
		if err := os.WriteFile(path, []byte(page[:block[2]]+text+page[block[3]:]), 0o600); err != nil {
			t.Error(err)
		}
	case page[block[2]:block[3]] != text:
		t.Errorf("the message is not what the kind sends; go test ./channels/standard -run TestManual -update\n%s", text)
	}
}

// shown returns what an integration of the kind sends for a backup that failed.
func shown(kind channels.Type, settings map[string]string) string {
	id := func(name string) uuid.UUID { return uuid.NewSHA1(uuid.Nil, []byte(name)) }
	at, output := time.Date(2026, 12, 2, 3, 0, 41, 0, time.UTC), []byte("copying 48 files\nbackup.tar: no space left on device\n")
	n := channels.Notification{
		ID: id("alert").String(), Incident: id("incident").String(), Status: channels.Down, At: at,
		Check: channels.Check{
			ID: id("check"), Name: "backup", Slug: "backup", Project: "default", Timing: "0 3 * * * (UTC), 1 hour of grace", TZ: "UTC", NPings: 214,
			URL: fmt.Sprintf("https://rollcall.example.org/checks/%s", id("check")),
		},
		Ping:   channels.Ping{At: at, Kind: "fail", ExitStatus: new(2), Duration: 41 * time.Second, Body: output, End: output},
		Reason: "the job reported a failure, exit status 2", Cause: "backup.tar: no space left on device",
	}
	if kind.Preview != nil {
		return strings.TrimSpace(kind.Preview(channels.Channel{Kind: kind.Kind, Settings: settings}, n)) + "\n"
	}
	title, text := message.Render(n, nil, 0)
	return title + "\n" + strings.TrimSpace(text) + "\n"
}
