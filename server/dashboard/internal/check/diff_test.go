package check

import (
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/pings"
)

// marked writes the lines of a diff, each after what marks it.
func marked(lines []diffLine) string {
	var out strings.Builder
	for _, l := range lines {
		switch {
		case l.Same > 0:
			out.WriteString(strings.Repeat("~", l.Same) + "|")
		case l.Added:
			out.WriteString("+" + l.Text + "|")
		case l.Gone:
			out.WriteString("-" + l.Text + "|")
		default:
			out.WriteString(l.Text + "|")
		}
	}
	return out.String()
}

func TestDiff(t *testing.T) {
	for _, test := range []struct{ earlier, now, want string }{
		{"a b c", "a b c", "a|b|c|"},
		{"a b c", "a x c", "a|-b|+x|c|"},
		{"a b c", "a c", "a|-b|c|"},
		{"a b", "", "-a|-b|"},
		{"", "a b", "+a|+b|"},
		{"14.5s a 2026-11-21 03:00:07 d", "3s a 2026-11-22 03:00:01 c", "3s|a|2026-11-22|03:00:01|-d|+c|"},
		{"<b> \x01", "<b> \x01", "<b>|␁|"},
	} {
		if got := marked(diff(strings.Fields(test.earlier), strings.Fields(test.now))); got != test.want {
			t.Errorf("%q, %q: %s, want %s", test.earlier, test.now, got, test.want)
		}
	}
	lines := fold(diff(strings.Fields("a b c d e f X h i j k"), strings.Fields("a b c d e f g h i j k")))
	if got := marked(lines); got != "~~~|d|e|f|-X|+g|h|i|j|~|" {
		t.Errorf("folded: %s", got)
	}
}

func TestLinesOf(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "\r\n \n": "", "a\r\nb\n\n": "a|b", "10%\r20%\r\ndone": "20%|done", "\n\na": "||a", strings.Repeat("x", 600): strings.Repeat("x", lineBytes-3) + "…",
	} {
		if got := strings.Join(linesOf(text), "|"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestUsual(t *testing.T) {
	run := func(kind pings.Kind, minutes int) pings.Ping {
		return pings.Ping{Kind: kind, Duration: new(time.Duration(minutes) * time.Minute)}
	}
	log := []pings.Ping{run(pings.Failure, 4), run(pings.Success, 14), {Kind: pings.Success}, run(pings.Success, 12), {Kind: pings.Start}}
	if got := usual(log); got != 0 {
		t.Errorf("after two runs: %v", got)
	}
	if got := usual(append(log, run(pings.Success, 2))); got != 12*time.Minute {
		t.Errorf("after three: %v", got)
	}
}
