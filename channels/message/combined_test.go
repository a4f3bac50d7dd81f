package message_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/message"
)

// storm returns a combined notification about checks, every third of which failed on a full disk.
func storm(checks int) channels.Notification {
	var list []channels.Notification
	for i := range checks {
		n := down()
		n.Check.ID, n.Check.Name, n.At, n.Reason = uuid.New(), fmt.Sprintf("check %d", i), n.At.Add(time.Duration(i)*time.Second), "a run was missed"
		if i%3 == 2 {
			n.Reason, n.Cause = "the job reported a failure", "disk <full>"
		}
		list = append(list, n)
	}
	return channels.Combine("g1", "https://rollcall.example.org/p/1", list)
}

func TestCombined(t *testing.T) {
	n := storm(7)
	title, text := message.Render(n, nil, 0)
	want := `DOWN: 7 checks of backups
Down since 2026-03-15 04:00:00 UTC, the last since 2026-03-15 04:00:06 UTC.
a run was missed (5): check 0, check 1, check 3, check 4, check 6
the job reported a failure: disk <full> (2): check 2, check 5
https://rollcall.example.org/p/1`
	if diff := cmp.Diff(want, title+"\n"+text); diff != "" {
		t.Error(diff)
	}
	const short = "Down since 2026-03-15 04:00:00 UTC, the last since 2026-03-15 04:00:06 UTC: check 0, check 1, check 2, check 3, check 4, check 5, check 6."
	if diff := cmp.Diff(short, message.Short(n)); diff != "" {
		t.Error(diff)
	}
	_, text = message.Render(storm(60), nil, 0)
	if !strings.Contains(text, "a run was missed (40): check 0, ") || !strings.Contains(text, "check 28 and 20 more\n") {
		t.Error(text)
	}
	for i := range n.Combined {
		n.Combined[i].Status, n.Combined[i].Reason, n.Combined[i].Cause = channels.Up, "the job reported success", ""
	}
	n = channels.Combine("g2", "", n.Combined)
	title, text = message.Render(n, nil, 0)
	want = `UP: 7 checks of backups
Up since 2026-03-15 04:00:00 UTC, the last since 2026-03-15 04:00:06 UTC.
the job reported success (7): check 0, check 1, check 2, check 3, check 4, check 5, check 6`
	if diff := cmp.Diff(want, title+"\n"+text); diff != "" {
		t.Error(diff)
	}
}

// TestCombinedRecovered has checks of which one, and then all have recovered before the message could be sent.
func TestCombinedRecovered(t *testing.T) {
	n := storm(2)
	n.Combined[1].Over = at(4, 5)
	n = channels.Combine("g", "", n.Combined)
	if title, text := message.Render(n, nil, 0); title != "DOWN: 2 checks of backups" || !strings.Contains(text, "check 1 (up again)") {
		t.Error(title, text)
	}
	n.Combined[0].Over = at(4, 1)
	n = channels.Combine("g", "", n.Combined)
	if title, text := message.Render(n, nil, 0); title != "Was DOWN: 2 checks of backups" || !strings.Contains(text, "up again since 2026-03-15 04:05:00 UTC.") {
		t.Error(title, text)
	}
}

// TestCombinedLimits has many checks with many reasons and long names, in texts of every length.
func TestCombinedLimits(t *testing.T) {
	n := storm(1000)
	for i := range n.Combined {
		n.Combined[i].Check.Name = strings.Repeat("<", i%101)
		n.Combined[i].Reason = fmt.Sprintf("reason %d", i%30)
	}
	n = channels.Combine("g", n.Check.URL, n.Combined)
	escape := func(s string) string { return strings.ReplaceAll(s, "<", "&lt;") }
	for limit := 200; limit < 4000; limit += 31 {
		title, text := message.Render(n, escape, limit)
		if len(title)+1+len(text) > limit || !strings.HasPrefix(text, "Down since 2026-03-15 04:00:00 UTC") || !strings.HasSuffix(text, n.Check.URL) {
			t.Fatalf("limit %d: %d bytes: %s\n%s", limit, len(title)+1+len(text), title, text)
		}
	}
	_, text := message.Render(n, escape, 0)
	if lines := strings.Count(text, "\n") + 1; lines != 10 || !strings.Contains(text, "\nother reasons (") {
		t.Errorf("%d lines: %s", lines, text)
	}
	if short := message.Short(n); len([]rune(short)) > 400 || !strings.HasSuffix(short, "more.") {
		t.Error(short)
	}
}
