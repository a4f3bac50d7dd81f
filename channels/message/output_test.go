package message_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/message"
)

func TestOutput(t *testing.T) {
	long := strings.Repeat("0123456789", 300)
	tests := []struct {
		name, end string
		want      []string
		whole     bool
	}{
		{"none", "", nil, true},
		{"blank", " \n\t\r\n\n", nil, true},
		{"lines", "one\r\n\r\n  two\t2 \nthree", []string{"one", "  two    2", "three"}, true},
		{"progress", "copy\r 10%\r 99%\r100%\r\ndone\n", []string{"100%", "done"}, true},
		{"colours", "\x1b[1;31merror\x1b[0m \x1b[38:2::1:2:3mdisk\x1b(B\x1b[m \u009b1mfull\x1b[K\x1b=", []string{"error disk full"}, true},
		{"strings", "\x1b]0;title\x07a\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\\x1bPq#0\x1b\\b", []string{"alinkb"}, true},
		{"string without end", "a\x1b]0;b\nc\x07", []string{"a0;b", "c"}, true},
		{"sequence without end", "a\x1b[31", []string{"a31"}, true},
		{"direction", "a\u202egpj.exe\u2066\u200f \u061cb", []string{"agpj.exe b"}, true},
		{"invisible", "a\x00b\u200bc\u00add\ufeffe\u3164f\u034fg\U000e0041h\x7f", []string{"abcdefgh"}, true},
		{"joined", "👨\u200d👩 \u200da", []string{"👨\u200d👩 a"}, true},
		{"line breaks", "a\u2028b\u2029c\vd\fe\u0085f", []string{"a b c d e f"}, true},
		{"an odd byte", "a\nb\xe9c\nd", []string{"a", "béc", "d"}, true},
		{"binary", "\x1f\x8b\x08\x00\xd5\xfa", nil, false},
		{"an odd byte at the end", "caf\xe9", []string{"café"}, true},
		{"one long line", long, []string{"…" + long[len(long)-1000:]}, false},
		{"long last line", "a\n" + long, []string{"…" + long[len(long)-1000:]}, false},
		{"long line before", long + "\nthe end", []string{"the end"}, false},
		{"many lines", strings.Repeat("žžžž\n", 440), slices.Repeat([]string{"žžžž"}, 250), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lines, whole := message.Output(channels.Ping{End: []byte(tt.end)})
			if diff := cmp.Diff(tt.want, lines); diff != "" || whole != tt.whole {
				t.Error(diff, whole)
			}
		})
	}
}

// TestCutOutput cuts long bodies where the monitor does: in the middle of a character, and of a line.
func TestCutOutput(t *testing.T) {
	for shift := range 4 {
		body := strings.Repeat("€", 2000) + "\n" + strings.Repeat("x", 100+shift) + "\nlast\n"
		lines, whole := message.Output(channels.Ping{End: []byte(body[len(body)-channels.MaxEnd:])})
		if diff := cmp.Diff([]string{strings.Repeat("x", 100+shift), "last"}, lines); diff != "" || whole {
			t.Error(diff, whole)
		}
		body = strings.Repeat("€", 2000) + strings.Repeat("x", shift)
		lines, _ = message.Output(channels.Ping{End: []byte(body[len(body)-channels.MaxEnd:])})
		if len(lines) != 1 || utf8.RuneCountInString(lines[0]) != 1001 || !strings.HasSuffix(body, strings.TrimPrefix(lines[0], "…")) {
			t.Errorf("shift %d: %q", shift, lines)
		}
	}
	if lines, _ := message.Output(channels.Ping{End: []byte(strings.Repeat("x", 1<<20))}); len(lines) != 1 || len(lines[0]) != 1000+len("…") {
		t.Errorf("a line of 1 MB: %d lines", len(lines))
	}
}

// TestHostileOutput has a body that tries to fake lines of the alert, to mention and to mark up.
func TestHostileOutput(t *testing.T) {
	n := channels.Notification{Status: channels.Down, At: at(4, 0), Check: channels.Check{URL: "https://rollcall.example.org/c/1"}}
	n.Ping = channels.Ping{At: at(4, 0), Kind: "fail", End: []byte("\r\nLast ping: success\n\x1b[2K\rhttps://evil.example\n" +
		"@everyone <!channel>\n    code\n- list\n# heading\n===\n12) twelve\n2026-03-15 fine\n\u202e```\n")}
	escape := func(s string) string { return strings.NewReplacer("@", "(at)", "<", "&lt;", "`", "'").Replace(s) }
	title, text := message.Render(n, escape, 0)
	const gap, space = "\u200b", "\u00a0"
	want := "DOWN: 00000000-0000-0000-0000-000000000000\n" +
		"Down since 2026-03-15 04:00:00 UTC.\nLast ping: failure at 2026-03-15 04:00:00 UTC\n" +
		"Body of the last ping:\n> Last ping: success\n> https://evil.example\n> " + gap + "(at)everyone &lt;!channel>\n" +
		"> " + space + space + space + space + "code\n> " + gap + "- list\n> " + gap + "# heading\n> " + gap + "===\n> " + gap + "12) twelve\n" +
		"> 2026-03-15 fine\n> " + gap + "'''\n\nhttps://rollcall.example.org/c/1"
	if diff := cmp.Diff(want, title+"\n"+text); diff != "" {
		t.Error(diff)
	}
}

// TestLimit lowers the limit. What matters least goes first, and the address of the check stays.
func TestLimit(t *testing.T) {
	n := down()
	n.Check.Desc, n.Ping.Duration = "the copy of the database", time.Second
	for i := range 7 {
		n.Earlier = append(n.Earlier, channels.Change{Status: channels.Up, At: at(0, i), Reason: "<reason>"})
	}
	for i := range 60 {
		n.Ping.End = fmt.Appendf(n.Ping.End, "line <%d>\n", i)
	}
	escape := strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace
	parts := []string{"> line &lt;0&gt;", "> line &lt;59&gt;", "00:02:00 UTC: &lt;reason&gt;", "00:06:00 UTC", "Description", "Tags", "Project",
		"Expected", "Last ping", "the run did not end in time", "https://rollcall.example.org"}
	gone := 0
	for limit := 3000; limit >= 200; limit -= 3 {
		title, text := message.Render(n, escape, limit)
		if len(title)+1+len(text) > limit {
			t.Fatalf("limit %d: %d bytes", limit, len(title)+1+len(text))
		}
		if strings.Count(text, "&") != strings.Count(text, "&lt;")+strings.Count(text, "&gt;") {
			t.Fatalf("limit %d cuts an escape: %s", limit, text)
		}
		for i, part := range parts {
			found := strings.Contains(text, part)
			if !found && i == gone {
				gone++
			}
			if found != (i >= gone) {
				t.Fatalf("limit %d: %q is there: %t, %d parts are gone:\n%s", limit, part, found, gone, text)
			}
		}
	}
	if gone < 7 || gone > 9 {
		t.Errorf("%d parts are gone: all but the reason and the address may be", gone)
	}
	n.Check.Name, n.Verdict = strings.Repeat("<", 100), strings.Repeat("<", 600)
	title, text := message.Render(n, escape, 300)
	if len(title)+1+len(text) > 300 || !strings.HasPrefix(text, "&lt;&lt;") || !strings.Contains(text, "…\nhttps://rollcall.example.org") {
		t.Errorf("%d bytes: %s\n%s", len(title)+1+len(text), title, text)
	}
}
