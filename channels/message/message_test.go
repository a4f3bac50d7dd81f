package message_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/message"
	"github.com/rollcall-dev/rollcall/channels/prose"
)

func at(hour, minute int) time.Time {
	return time.Date(2026, time.March, 15, hour, minute, 0, 0, time.UTC)
}

func down() channels.Notification {
	return channels.Notification{
		ID:       "n1",
		Incident: "i1",
		Check: channels.Check{
			ID:      uuid.MustParse("5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f"),
			Name:    "nightly backup",
			Slug:    "backup",
			Tags:    []string{"prod", "db"},
			Project: "backups",
			Timing:  "0 3 * * * (Europe/Riga), 1 hour of grace",
			URL:     "https://rollcall.example.org/api/v3/checks/5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f",
		},
		Status: channels.Down,
		At:     at(4, 0),
		Ping:   channels.Ping{At: at(3, 0), Kind: "start", Body: []byte("the beginning of the output")},
		Reason: "the run did not end in time",
	}
}

func up() channels.Notification {
	n := down()
	n.Status, n.At, n.DownFor, n.Reason = channels.Up, at(6, 5), 2*time.Hour+5*time.Minute+9*time.Second, "success was signalled"
	n.Ping = channels.Ping{At: at(6, 5), Kind: "success", ExitStatus: new(0)}
	return n
}

func with(n channels.Notification, change func(*channels.Notification)) channels.Notification {
	change(&n)
	return n
}

func TestTitle(t *testing.T) {
	tests := []struct {
		name string
		n    channels.Notification
		want string
	}{
		{"down", down(), "DOWN: nightly backup"},
		{"up", up(), "UP: nightly backup"},
		{"reminder", with(down(), func(n *channels.Notification) { n.Reminder = 2 }), "Still DOWN (reminder 2): nightly backup"},
		{"over", with(down(), func(n *channels.Notification) { n.Over = at(5, 0) }), "Was DOWN: nightly backup"},
		{"closed", with(up(), func(n *channels.Notification) { n.Closed = true }), "CLOSED: nightly backup"},
		{"test", with(down(), func(n *channels.Notification) { n.Test = true }), "[TEST] DOWN: nightly backup"},
		{"slug", with(down(), func(n *channels.Notification) { n.Check.Name = " \n" }), "DOWN: backup"},
		{"no name", with(up(), func(n *channels.Notification) { n.Check.Name, n.Check.Slug = "", "" }),
			"UP: 5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f"},
		{"lines", with(down(), func(n *channels.Notification) { n.Check.Name = "a\r\nb\u202ec\x00\t d\xff" }), "DOWN: a bc d"},
		{"long", with(down(), func(n *channels.Notification) { n.Check.Name = strings.Repeat("ž", 150) }),
			"DOWN: " + strings.Repeat("ž", 100) + "…"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, message.Title(tt.n)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestText(t *testing.T) {
	const tail = "Expected: 0 3 * * * (Europe/Riga), 1 hour of grace\nProject: backups\nTags: prod db\n"
	const url = "https://rollcall.example.org/api/v3/checks/5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f"
	const first = "Down since 2026-03-15 04:00:00 UTC: the run did not end in time.\nLast ping: start at 2026-03-15 03:00:00 UTC\n"
	tests := []struct {
		name string
		n    channels.Notification
		want string
	}{
		{"down", down(), first + tail + url},
		{"up", up(), "Up since 2026-03-15 06:05:00 UTC, after 2 hours 5 minutes: success was signalled.\n" +
			"Last ping: success at 2026-03-15 06:05:00 UTC, exit status 0\n" + tail + url},
		{"cause", with(down(), func(n *channels.Notification) { n.Cause = "tar: disk full" }),
			strings.Replace(first, "time.", "time: tar: disk full.", 1) + tail + url},
		{"over", with(down(), func(n *channels.Notification) { n.Over = at(4, 30) }),
			strings.Replace(first, "time.", "time; up again since 2026-03-15 04:30:00 UTC.", 1) + tail + url},
		{"test", with(down(), func(n *channels.Notification) { n.Test = true }),
			"This is a test of the integration. The check and everything below are made up.\n" + first + tail + url},
		{"least", channels.Notification{Status: channels.Down, At: at(4, 0)},
			"Down since 2026-03-15 04:00:00 UTC.\nLast ping: none"},
		{"failure", channels.Notification{Status: channels.Down, At: at(4, 0), Ping: channels.Ping{At: at(4, 0), Kind: "fail", ExitStatus: new(3)}},
			"Down since 2026-03-15 04:00:00 UTC.\nLast ping: failure at 2026-03-15 04:00:00 UTC, exit status 3"},
		{"earlier", channels.Notification{Status: channels.Up, At: at(6, 0), Earlier: []channels.Change{
			{Status: channels.Down, At: at(1, 0), Reason: "no ping in time"}, {Status: channels.Up, At: at(2, 0)}}},
			"Up since 2026-03-15 06:00:00 UTC.\nLast ping: none\nNot reported before:\n" +
				"down since 2026-03-15 01:00:00 UTC: no ping in time\nup since 2026-03-15 02:00:00 UTC"},
		{"verdict", with(down(), func(n *channels.Notification) { n.Verdict = "Down since 15 Mar 06:00 Europe/Riga.\nIt failed." }),
			"Down since 15 Mar 06:00 Europe/Riga. It failed.\nLast ping: start at 2026-03-15 03:00:00 UTC\n" + tail + url},
		{"zone", channels.Notification{Check: channels.Check{TZ: "America/New_York"}, Status: channels.Up, At: at(6, 0),
			Ping: channels.Ping{At: at(6, 0), Kind: "success"}, Earlier: []channels.Change{{Status: channels.Down, At: at(5, 0)}}},
			"Up since 2026-03-15 02:00:00 America/New_York.\nLast ping: success at 2026-03-15 02:00:00 America/New_York\n" +
				"Not reported before:\ndown since 2026-03-15 01:00:00 America/New_York"},
		{"duration", channels.Notification{Status: channels.Down, At: at(4, 0),
			Ping: channels.Ping{At: at(4, 0), Kind: "fail", ExitStatus: new(3), Duration: 41*time.Second + 20*time.Millisecond}},
			"Down since 2026-03-15 04:00:00 UTC.\nLast ping: failure at 2026-03-15 04:00:00 UTC, exit status 3, took 41 s"},
		{"description", channels.Notification{Status: channels.Down, At: at(4, 0), Check: channels.Check{Desc: "\n\n See the *runbook*:\nhttps://example.org"}},
			"Down since 2026-03-15 04:00:00 UTC.\nLast ping: none\nDescription: See the *runbook*:"},
		{"output", with(down(), func(n *channels.Notification) { n.Check.Desc, n.Ping.End = "d", []byte("one\n\n  two \n") }),
			first + tail + "Description: d\nBody of the last ping:\n> one\n>   two\n\n" + url},
		{"output without URL", channels.Notification{Status: channels.Down, At: at(4, 0), Ping: channels.Ping{At: at(4, 0), Kind: "log", End: []byte("one")}},
			"Down since 2026-03-15 04:00:00 UTC.\nLast ping: log at 2026-03-15 04:00:00 UTC\nBody of the last ping:\n> one"},
		{"acknowledge", with(down(), func(n *channels.Notification) { n.AckURL = "https://rollcall.example.org/acknowledge/x" }),
			first + tail + url + "\nI have it: https://rollcall.example.org/acknowledge/x"},
		{"odd URL", channels.Notification{Status: channels.Down, At: at(4, 0), Check: channels.Check{URL: strings.Repeat("x", 501)}},
			"Down since 2026-03-15 04:00:00 UTC.\nLast ping: none"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, message.Text(tt.n)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestManyEarlier(t *testing.T) {
	n := channels.Notification{Status: channels.Down, At: at(9, 0)}
	for i := range 100 {
		n.Earlier = append(n.Earlier, channels.Change{Status: channels.Up, At: at(0, i), Reason: strings.Repeat("x", 999)})
	}
	text := message.Text(n)
	if !strings.Contains(text, "the last 5 of 100:\nup since 2026-03-15 01:35:00 UTC") || strings.Count(text, "\n") != 7 {
		t.Error(text)
	}
	if len(text) > 2000 {
		t.Errorf("%d bytes", len(text))
	}
}

func TestDowntime(t *testing.T) {
	tests := map[time.Duration]string{
		time.Millisecond:         "less than a second",
		time.Second:              "1 second",
		59 * time.Second:         "59 seconds",
		61 * time.Second:         "1 minute 1 second",
		time.Hour:                "1 hour",
		time.Hour + time.Second:  "1 hour",
		25 * time.Hour:           "1 day 1 hour",
		72*time.Hour + 2:         "3 days",
		1000*24*time.Hour + 3600: "1000 days",
	}
	for downFor, want := range tests {
		n := channels.Notification{Status: channels.Up, At: at(4, 0), DownFor: downFor}
		if diff := cmp.Diff("Up since 2026-03-15 04:00:00 UTC, after "+want+".", message.Short(n)); diff != "" {
			t.Error(diff)
		}
	}
}

// TestRender checks that Render escapes all text from users and nothing else.
func TestRender(t *testing.T) {
	n := down()
	n.Check.Name, n.Check.Project, n.Check.Tags, n.Check.Timing, n.Reason, n.Ping.Kind = "1*", "2*", []string{"3*"}, "4*", "5*", "6*"
	n.Earlier = []channels.Change{{Status: channels.Up, At: at(1, 0), Reason: "7*"}}
	n.Check.URL, n.Check.Desc, n.Ping.End = "https://example.org/8*", "9*", []byte("a*\nb*")
	title, text := message.Render(n, func(s string) string { return strings.ReplaceAll(s, "*", `\*`) }, 0)
	want := "DOWN: 1\\*\nDown since 2026-03-15 04:00:00 UTC: 5\\*.\nLast ping: 6\\* at 2026-03-15 03:00:00 UTC\n" +
		"Expected: 4\\*\nProject: 2\\*\nTags: 3\\*\nDescription: 9\\*\nNot reported before:\nup since 2026-03-15 01:00:00 UTC: 7\\*\n" +
		"Body of the last ping:\n> a\\*\n> b\\*\n\nhttps://example.org/8*"
	if diff := cmp.Diff(want, title+"\n"+text); diff != "" {
		t.Error(diff)
	}
	n.Verdict = "9*"
	if _, text := message.Render(n, func(s string) string { return strings.ReplaceAll(s, "*", `\*`) }, 0); !strings.HasPrefix(text, "9\\*\n") {
		t.Error(text)
	}
}

func FuzzRender(f *testing.F) {
	f.Add("name", "reason", "a b", 10)
	f.Add("\n\u2028x\u202e", "\xff\x00", " \t", 0)
	f.Add("\x1b[31m@everyone\x1b[0m", "<!channel>\r\n> x", "a\n\nb\n", 300)
	f.Fuzz(func(t *testing.T, name, reason, tags string, limit int) {
		n := down()
		n.Check.Name, n.Reason, n.Check.Tags, n.Check.Project, n.Check.Desc = name, reason, []string{tags}, name, reason
		n.Check.URL, n.Verdict, n.Ping.End, n.Ping.Duration = reason, tags, []byte(name+reason+tags), time.Second
		n.Earlier = []channels.Change{{Status: channels.Up, Reason: reason}}
		title, text := message.Title(n), message.Text(n)
		if !utf8.ValidString(title) || strings.ContainsFunc(title, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("title %q", title)
		}
		if strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
			t.Errorf("text %q", text)
		}
		lines := 0
		for line := range strings.SplitSeq(text, "\n") {
			if !strings.HasPrefix(line, "> ") {
				lines++
			}
		}
		if lines > 11 || utf8.RuneCountInString(title) > 150 || utf8.RuneCountInString(text) > 4000 {
			t.Errorf("too long: %q %q", title, text)
		}
		limit = 200 + max(0, limit%2000)
		title, text = message.Render(n, strings.ToUpper, limit)
		if len(title)+1+len(text) > limit || !utf8.ValidString(title+text) {
			t.Errorf("limit %d: %d bytes: %q %q", limit, len(title)+1+len(text), title, text)
		}
		if cut := prose.Cut(text, limit/2); len(cut) > limit/2 || !utf8.ValidString(cut) {
			t.Errorf("Cut(%q, %d) = %q", text, limit/2, cut)
		}
	})
}

func Example() {
	n := channels.Notification{
		Check:  channels.Check{Name: "nightly backup", Project: "backups", Timing: "every day, 1 hour of grace"},
		Status: channels.Down,
		At:     time.Date(2026, time.March, 15, 4, 0, 0, 0, time.UTC),
		Ping:   channels.Ping{At: time.Date(2026, time.March, 14, 2, 59, 0, 0, time.UTC), Kind: "success"},
		Reason: "the expected ping did not arrive in time",
	}
	fmt.Println(message.Title(n))
	fmt.Println(message.Text(n))
	// Output:
	// DOWN: nightly backup
	// Down since 2026-03-15 04:00:00 UTC: the expected ping did not arrive in time.
	// Last ping: success at 2026-03-14 02:59:00 UTC
	// Expected: every day, 1 hour of grace
	// Project: backups
}
