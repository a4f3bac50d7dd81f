package services_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
)

// tracked is an issue of a receiver that tracks issues.
type tracked struct {
	number   int64
	state    string
	title    string
	text     string
	comments []string
	labels   any
	// deleted issues answer 410 on GitHub and 404 on GitLab.
	deleted bool
	// age counts the requests since the issue was opened.
	age int
}

// trackedIssues are the issues of a repository, oldest first.
type trackedIssues []*tracked

func (i *trackedIssues) open(time.Time) []string {
	var open []string
	for _, one := range *i {
		if one.state != "closed" && !one.deleted {
			open = append(open, fmt.Sprint(one.number))
		}
	}
	return open
}

func (i *trackedIssues) all() []*tracked { return *i }

func (i *trackedIssues) find(number string) *tracked {
	for _, one := range *i {
		if fmt.Sprint(one.number) == number {
			return one
		}
	}
	return nil
}

type trackingReceiver interface {
	incidentServer
	all() []*tracked
}

// issueLine returns a line and the issues of its receiver.
func issueLine(t *testing.T, kind channels.Kind) (*incidentLine, func() []*tracked) {
	l := newLine(t, kind, nil)
	return l, l.receiver.(trackingReceiver).all
}

// TestIssueComments follows an issue from the first alert to the last.
func TestIssueComments(t *testing.T) {
	for _, kind := range trackers {
		t.Run(string(kind), func(t *testing.T) {
			l, issues := issueLine(t, kind)
			l.deliver(l.alert(channels.Down))
			reminder := l.alert(channels.Down)
			reminder.Reminder = 1
			l.deliver(reminder)
			l.deliver(l.alert(channels.Down)) // it went down again, and nobody said that it was up
			l.deliver(l.alert(channels.Up))
			if len(issues()) != 1 {
				t.Fatalf("%d issues", len(issues()))
			}
			one := issues()[0]
			got := []string{one.state, one.title}
			for _, text := range append([]string{one.text}, one.comments...) {
				_, first, _ := strings.Cut(text, "\n")
				first, _, _ = strings.Cut(first, "\n")
				got = append(got, first)
			}
			want := []string{"closed", "DOWN: nightly backup", "DOWN: nightly backup", "Still DOWN (reminder 1): nightly backup",
				"DOWN: nightly backup", "UP: nightly backup"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestIssueClosedByPerson closes, deletes or forgets the issue behind the notifier's back.
func TestIssueClosedByPerson(t *testing.T) {
	for _, kind := range trackers {
		for name, lose := range map[string]func(*tracked){
			"closed":  func(i *tracked) { i.state = "closed" },
			"deleted": func(i *tracked) { i.deleted = true },
		} {
			t.Run(string(kind)+" "+name, func(t *testing.T) {
				l, issues := issueLine(t, kind)
				l.deliver(l.alert(channels.Down))
				lose(issues()[0])
				l.deliver(l.alert(channels.Up))
				l.expect("up", 0)
				l.deliver(l.alert(channels.Down))
				l.expect("down", 1)
				lose(issues()[1])
				reminder := l.alert(channels.Down)
				reminder.Reminder = 1
				l.deliver(reminder)
				l.expect("reminder", 1)
				l.deliver(l.alert(channels.Up))
				l.expect("up", 0)
				if len(issues()) != 3 || len(issues()[0].comments) != 0 {
					t.Errorf("%d issues, comments %q", len(issues()), issues()[0].comments)
				}
			})
		}
	}
}

// TestIssueCrash ends the program between the creation of an issue and the record of its number.
func TestIssueCrash(t *testing.T) {
	for _, kind := range trackers {
		t.Run(string(kind), func(t *testing.T) {
			l, issues := issueLine(t, kind)
			n := l.alert(channels.Down)
			l.deliver(n)
			number := l.open
			for _, later := range []string{"at once", "later"} {
				l.open = ""
				l.deliver(n) // the same alert again: it has been reported
				if l.open != number || len(issues()[0].comments) != 0 {
					t.Errorf("%s: open %q, comments %q", later, l.open, issues()[0].comments)
				}
				// Others open issues too, so that it is no longer among the newest.
				for range 10 {
					l.receiver.(interface{ openOther() }).openOther()
					issues()[0].age++
				}
			}
			l.open = ""
			l.deliver(l.alert(channels.Up))
			if issues()[0].state != "closed" || len(issues()[0].comments) != 1 {
				t.Errorf("%+v", issues()[0])
			}
		})
	}
}

// TestIssueCloseRetry fails to close after the comment: the retry does not comment again.
func TestIssueCloseRetry(t *testing.T) {
	for _, kind := range trackers {
		t.Run(string(kind), func(t *testing.T) {
			l, issues := issueLine(t, kind)
			l.deliver(l.alert(channels.Down))
			l.broken = func(r *http.Request) string {
				if r.Method == http.MethodPatch || r.Method == http.MethodPut {
					return "away"
				}
				return ""
			}
			up := l.alert(channels.Up)
			err := l.try(up)
			if diff := cmp.Diff([]string{"comment"}, channels.Accepted(err)); diff != "" || l.open == "" {
				t.Error(diff, err)
			}
			l.broken = nil
			up.Done = channels.Accepted(err)
			l.deliver(up)
			if len(issues()[0].comments) != 1 || issues()[0].state != "closed" {
				t.Errorf("%+v", issues()[0])
			}
		})
	}
}

// TestIssueMarkup uses names and output that try to be markup, mentions, references and commands. It renders the texts
// like the services: only the link to the page of the check is a link.
func TestIssueMarkup(t *testing.T) {
	const evil = "@all @dev #1 !2 &3 %4 $5 ~bug ^alert#6 <b>x</b> **b** _i_ `c` [x](http://evil.example) https://evil.example :tada: <!-- "
	for _, kind := range trackers {
		t.Run(string(kind), func(t *testing.T) {
			l, issues := issueLine(t, kind)
			l.n.Check.Name, l.n.Verdict, l.n.Reason = evil, "````", evil // the verdict could end a code block
			l.n.Ping = channels.Ping{At: l.now, Kind: "fail", End: []byte("/close\n```\n````text\n@all #1\n~~~\n/assign @me\n" + evil)}
			l.deliver(l.alert(channels.Down))
			l.deliver(l.alert(channels.Up))
			one := issues()[0]
			for _, text := range append([]string{one.text}, one.comments...) {
				var html bytes.Buffer
				if err := goldmark.New(goldmark.WithExtensions(extension.GFM)).Convert([]byte(text), &html); err != nil {
					t.Fatal(err)
				}
				page := html.String()
				_, code, _ := strings.Cut(page, "<pre><code class=\"language-text\">")
				_, rest, found := strings.Cut(code, "</code></pre>")
				if !strings.HasPrefix(page, "<pre>") || !found || strings.Contains(rest, "@") || strings.Contains(rest, "evil") ||
					strings.Count(rest, "<a ") != 1 || !strings.Contains(rest, `<a href="https://rollcall.example.org/c/1">`) {
					t.Errorf("%s\n%s", text, page)
				}
			}
			for _, bad := range []string{"@a", "#1", "!2", "&3", "%4", "$5", "~b", "^a", "<b", "**", "_i", "`c", "[x", "://", ":t"} {
				if strings.Contains(one.title, bad) {
					t.Errorf("%q in %q", bad, one.title)
				}
			}
		})
	}
}

// TestIssueTitle checks that names stay whole where they are no markup, and the limit of titles.
func TestIssueTitle(t *testing.T) {
	for name, want := range map[string]string{
		"db_backup-2 (eu.example/x), 100%": "DOWN: db_backup-2 (eu.example/x), 100%",
		"a@b":                              "DOWN: a@\u200bb",
	} {
		l, issues := issueLine(t, "github")
		l.n.Check.Name = name
		l.deliver(l.alert(channels.Down))
		if diff := cmp.Diff(want, issues()[0].title); diff != "" {
			t.Error(diff)
		}
	}
	l, issues := issueLine(t, "gitlab") // the receiver checks the limit
	l.n.Check.Name = strings.Repeat("@😀", 100)
	l.deliver(l.alert(channels.Down))
	if !strings.HasSuffix(issues()[0].title, "…") {
		t.Errorf("%q", issues()[0].title)
	}
}

// TestIssueHidesUUID checks that an issue does not tell the UUID of the check, with which anyone could send pings.
func TestIssueHidesUUID(t *testing.T) {
	for _, kind := range trackers {
		l, issues := issueLine(t, kind)
		l.deliver(l.alert(channels.Down))
		if strings.Contains(issues()[0].text, checkID) {
			t.Errorf("%s: %s", kind, issues()[0].text)
		}
	}
}

// issueText is the text of an issue for the notification that down returns, as JSON.
func issueText() string {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return hex.EncodeToString(sum[:12])
	}
	return "```text\\n" + full + "\\n```\\n\\n<https://rollcall.example.org/c/1>\\n\\n`rollcall" +
		hash("rollcall issue "+noID) + " " + hash("rollcall alert n-1") + "`"
}

// newestFirst returns the issues that match, newest first.
func newestFirst(issues []*tracked, match func(*tracked) bool) []*tracked {
	var list []*tracked
	for _, one := range slices.Backward(issues) {
		if match(one) && !one.deleted {
			list = append(list, one)
		}
	}
	return list
}
