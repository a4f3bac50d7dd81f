package email_test

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/pings/email"
)

// classes are the kinds of a message under the filters of TestCorpus.
type classes struct{ Subject, Body, Both, Strict pings.Kind }

// TestCorpus classifies messages of real programs, and messages broken in ways that occur. The expected kinds are in
// testdata/expected.txt (server/API.md section 2.1.1).
func TestCorpus(t *testing.T) {
	words := checks.Check{Settings: checks.Settings{
		StartKW:   "STARTED, began, 開始",
		SuccessKW: "completed, SUCCESS, OK:, завершено, 成功",
		FailureKW: "ERROR, failed, FAILED, ошибка, エラー, Störung, 실패",
	}}
	expected := readExpected(t)
	for _, name := range messages(t) {
		want, ok := expected[name]
		if !ok {
			t.Errorf("%s is not in expected.txt", name)
			continue
		}
		delete(expected, name)
		t.Run(name, func(t *testing.T) {
			signal := pings.Signal{Kind: pings.Success, Scheme: "email", Mail: email.Parse(readMessage(t, name)).Mail()}
			classify := func(subject, body, defaultFail bool) pings.Kind {
				c := words
				c.FilterSubject, c.FilterBody, c.FilterDefaultFail = subject, body, defaultFail
				return c.Classify(signal)
			}
			got := classes{classify(true, false, false), classify(false, true, false), classify(true, true, false), classify(true, true, true)}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s\nsubject %.200q\ntext %.2000q", diff, signal.Mail.Subject, signal.Mail.Text)
			}
		})
	}
	for name := range expected {
		t.Errorf("there is no message %s", name)
	}
}

func readExpected(t testing.TB) map[string]classes {
	t.Helper()
	file, err := os.Open("testdata/expected.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	kinds := []pings.Kind{pings.Start, pings.Success, pings.Failure, pings.Ignored}
	expected := make(map[string]classes)
	for lines := bufio.NewScanner(file); lines.Scan(); {
		text, _, _ := strings.Cut(lines.Text(), "#")
		columns := strings.Fields(text)
		if len(columns) == 0 {
			continue
		}
		if len(columns) != 5 {
			t.Fatalf("expected.txt: %q does not have five columns", lines.Text())
		}
		for _, kind := range columns[1:] {
			if !slices.Contains(kinds, pings.Kind(kind)) {
				t.Fatalf("expected.txt: %q has an unknown class", lines.Text())
			}
		}
		expected[columns[0]] = classes{pings.Kind(columns[1]), pings.Kind(columns[2]), pings.Kind(columns[3]), pings.Kind(columns[4])}
	}
	return expected
}

func messages(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/messages/*.eml")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d messages, %v", len(files), err)
	}
	for i := range files {
		files[i] = strings.TrimSuffix(filepath.Base(files[i]), ".eml")
	}
	return files
}

func readMessage(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile("testdata/messages/" + name + ".eml")
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
