package cause_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rollcall-dev/rollcall/checks/internal/cause"
)

// outputs returns the outputs in testdata. The first line of a file is "want: " and the line to find.
func outputs(t testing.TB) map[string][2]string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	all := make(map[string][2]string)
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, output, _ := strings.Cut(string(content), "\n")
		all[strings.TrimSuffix(filepath.Base(file), ".txt")] = [2]string{strings.TrimPrefix(want, "want: "), output}
	}
	return all
}

func TestLine(t *testing.T) {
	for name, test := range outputs(t) {
		t.Run(name, func(t *testing.T) {
			want, output := test[0], test[1]
			for form, text := range map[string]string{
				"as it is": output, "with CRLF": strings.ReplaceAll(output, "\n", "\r\n"), "without its last line break": strings.TrimSpace(output),
			} {
				if got := cause.Line([]byte(text)); got != want {
					t.Errorf("%s: %q, want %q", form, got, want)
				}
			}
		})
	}
}

// TestLineOdd has outputs that are no text, or have no words.
func TestLineOdd(t *testing.T) {
	for _, test := range []struct{ name, output, want string }{
		{"empty", "", ""},
		{"blank", " \r\n\t\n", ""},
		{"a number", "\n42\n", "42"},
		{"binary", "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\x3e\x00", ""},
		{"one bad byte", "caf\xe9 is closed: no such day", "café is closed: no such day"},
		{"direction", "error: \u202egpj.exe\u2069 is missing", "error: gpj.exe is missing"},
		{"progress only", "10% [====>     ] 3 MB/s\r20% [======>   ] 3 MB/s", "20% [======> ] 3 MB/s"},
		{"all noise", "Traceback (most recent call last):\n  File \"x\", line 1", `File "x", line 1`},
		{"cut", "error: " + strings.Repeat("é", 300) + ": disk full", "error: " + strings.Repeat("é", cause.MaxLength/2-7) + "…" + strings.Repeat("é", cause.MaxLength/2-11) + ": disk full"},
		{"far from the end", "disk full\n" + strings.Repeat("cleaning up\n", 500), "disk full"},
		{"an error that ended nothing", "error: attempt 1 timed out\n" + strings.Repeat("copied a file\n", 100) + "error: disk full", "error: disk full"},
		{"longer than what is read", "disk full\n" + strings.Repeat("0123456789abcde\n", 10_000) + "no room left in line\nerror: quota", "error: quota"},
	} {
		if got := cause.Line([]byte(test.output)); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// TestLineOutcome does not mistake successes and levels for errors.
func TestLineLevels(t *testing.T) {
	const reason = "row 7 has two owners"
	for _, other := range []string{
		"0 errors, 0 failures", "done without errors", "errors: 0", "failed=0", "INFO: recovered from an error", "[info] 3 failed before",
		"DEBUG error handler installed", `{"level":"info","msg":"error page written"}`, "level=DEBUG msg=\"fatal is a level\"",
		"+ echo error: permission denied", "see errors.log for more", "hint: an error may follow", "100% [==========] 3 errors/s",
	} {
		for _, output := range []string{other + "\n" + reason, "ERROR " + reason + "\n" + other} {
			if got := cause.Line([]byte(output)); !strings.HasSuffix(got, reason) {
				t.Errorf("%q: %q", output, got)
			}
		}
	}
}

// TestLineAnyTime finds the same line whenever the job runs.
func TestLineAnyTime(t *testing.T) {
	for _, stamp := range []string{
		"2026-11-22 03:00:01 ", "2026-11-22T03:00:01.114Z ", "2026-11-22T03:00:01+02:00 ", "2026/11/22 03:00:01 ", "[2026-11-22 03:00:01,114] ",
		"03:00:01 ", "[22/Nov/2026:03:00:01 +0200] ", "Nov 22 03:00:01 db1 job[4711]: ", "Nov  2 03:00:01 db1 job: ", "2026-11-22T03:00:01.114+02:00 db1 job[4711]: ",
		"2026-11-22 03:00:01 UTC ", "2026-11-22 03:00:01 EEST: ",
	} {
		if got := cause.Line([]byte(stamp + "copying\n" + stamp + "disk full\n")); got != "disk full" {
			t.Errorf("%q: %q", stamp, got)
		}
	}
}

func TestKey(t *testing.T) {
	for _, test := range []struct {
		key   string
		known bool
		lines []string
	}{
		{"No space left on device", true, []string{
			"tar: /backup/srv.tar: Wrote only 4096 of 10240 bytes: No space left on device", "OSError: [Errno 28] No space left on device: '/mnt/x'",
			"write /var/lib/x: no space left on device", "Error: ENOSPC: no space left on device, write", "disk full",
		}},
		{"Connection refused", true, []string{"dial tcp 10.0.0.5:5432: connect: connection refused", "Error: connect ECONNREFUSED 10.0.0.5:5432"}},
		{"Host not found", true, []string{"curl: (6) Could not resolve host: a.example.org", "dial tcp: lookup a.example.org: no such host"}},
		{"export n of path failed after time", false, []string{"export 3 of /srv/a/b.csv failed after 00:01:10", "export 14 of ./c.csv failed after 00:00:09.5"}},
		{"row … of … has n owners", false, []string{`row "12" of 'ledger' has 2 owners`, `row "x" of 'bank' has 14 owners`}},
		{"backup of date failed: id", false, []string{
			"backup of 2026-11-22T03:00:01Z failed: 0x7ffee4", "backup of 2026-11-21 03:00:01 failed: 3f2504e0-4f89-41d3-9a0c-0305e82c3301",
		}},
		{"", false, []string{"", " "}},
	} {
		for _, line := range test.lines {
			if key, known := cause.Key(line); key != test.key || known != test.known {
				t.Errorf("%q: %q, %v, want %q", line, key, known, test.key)
			}
		}
	}
}

// check finds what a line or a key must never be.
func check(t testing.TB, text string, limit int) {
	t.Helper()
	if !utf8.ValidString(text) || utf8.RuneCountInString(text) > limit {
		t.Errorf("%q", text)
	}
	for _, r := range text {
		if !unicode.IsPrint(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			t.Errorf("%U in %q", r, text)
		}
	}
}

func FuzzLine(f *testing.F) {
	for _, test := range outputs(f) {
		f.Add([]byte(test[1]))
	}
	f.Add([]byte("\x1b]0;\x1b[\r\n\xff\u202e error: \x00"))
	f.Fuzz(func(t *testing.T, output []byte) {
		before := bytes.Clone(output)
		line := cause.Line(output)
		check(t, line, cause.MaxLength+1)
		key, _ := cause.Key(line)
		check(t, key, 4*cause.MaxLength)
		if again := cause.Line(output); again != line || !bytes.Equal(before, output) {
			t.Errorf("%q, then %q", line, again)
		}
	})
}

// TestLineHostile bounds the work on outputs that are made to be slow. A machine takes milliseconds.
func TestLineHostile(t *testing.T) {
	for _, piece := range []string{
		"a", "\n", "\r", "\x1b[", "\x1b]0;", "error ", "error\n", "a.a::a", "\"", "{", "{\"a\":", "x: ", "[x] ", "1", "2026-11-22 03:00:01 ", "at a.b(\n",
		"Traceback (most recent call last):\n", "  File \"x\", line 1\n", "\xff", "\u202e", "Caused by: a\n", "npm ERR! ", "/a", "0 errors\n", "exit status 1\n",
	} {
		start := time.Now()
		line := cause.Line([]byte(strings.Repeat(piece, 100_000/len(piece)+1)))
		cause.Key(strings.Repeat(piece, 100_000/len(piece)+1))
		check(t, line, cause.MaxLength+1)
		if took := time.Since(start); took > time.Minute { // quadratic work takes many
			t.Errorf("%q took %v", piece, took)
		} else {
			t.Logf("%q: %v", piece, took)
		}
	}
}
