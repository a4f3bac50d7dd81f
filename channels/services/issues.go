package services

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/rollcall-dev/rollcall/channels"
)

// A tracker has the issues of one repository.
type tracker interface {
	// isOpen reports whether an issue is open. One that does not exist, or that the token may not read, is not.
	isOpen(ctx context.Context, number string) (bool, error)
	// find returns an open issue whose text contains the marker, or the zero issue.
	find(ctx context.Context, marker string) (issue, error)
	// create opens an issue and returns its number.
	create(ctx context.Context, title, text string) (number string, err error)
	comment(ctx context.Context, number, text string) error
	close(ctx context.Context, number string) error
}

type issue struct{ number, text string }

// report opens an issue at the first alert, comments on it at the next ones, and comments on it and closes it when the
// check is up. m.open is its number.
//
// An issue that a person closed stays closed: the next alert that the check is down opens another one. If the program
// ended after it opened an issue and before it stored the number, report finds the issue by a marker in its text.
func (m *delivery) report(ctx context.Context, t tracker) error {
	found, err := m.openIssue(ctx, t)
	if err != nil {
		return err
	}
	m.open = found.number
	switch {
	case found.number == "" && m.isUp():
		return nil
	case found.number == "":
		number, err := t.create(ctx, issueTitle(m.title), m.issueText()+"\n\n"+m.reference())
		m.open = number
		return err
	case !m.isUp() && strings.Contains(found.text, m.reference()):
		return nil // this alert has opened the issue
	case !m.isUp():
		return t.comment(ctx, found.number, m.issueText())
	}
	return m.closeIssue(ctx, t, found.number)
}

// openIssue returns the open issue about the check, or the zero issue. The text is empty if m.open is the issue.
func (m *delivery) openIssue(ctx context.Context, t tracker) (issue, error) {
	if m.open != "" {
		if open, err := t.isOpen(ctx, m.open); open || err != nil {
			return issue{number: m.open}, err
		}
	}
	return t.find(ctx, m.marker())
}

// commented is the name of the comment in [channels.Partial], so that a retry only closes the issue.
const commented = "comment"

func (m *delivery) closeIssue(ctx context.Context, t tracker, number string) error {
	if !slices.Contains(m.n.Done, commented) {
		err := t.comment(ctx, number, m.issueText())
		if _, wait := channels.RetryDelay(err); err != nil && (wait || !isRefusal(err)) {
			return err
		} // if comments are refused, such as on a locked issue, close it without one
	}
	if err := t.close(ctx, number); err != nil {
		return channels.Partial(err, commented)
	}
	m.open = ""
	return nil
}

// marker returns a word that is in the text of each issue about the check. It does not disclose the UUID of the check,
// which is part of the address for its pings.
func (m *delivery) marker() string {
	sum := sha256.Sum256([]byte("rollcall issue " + m.n.Check.ID.String()))
	return "rollcall" + hex.EncodeToString(sum[:12])
}

// reference returns the marker, together with the alert that opened the issue.
func (m *delivery) reference() string {
	sum := sha256.Sum256([]byte("rollcall alert " + m.n.ID))
	return "`" + m.marker() + " " + hex.EncodeToString(sum[:12]) + "`"
}

// issueText returns the alert as Markdown in which text from users is neither markup nor a mention.
func (m *delivery) issueText() string {
	text := codeBlock(m.titleAndText())
	page, err := url.Parse(m.n.Check.URL)
	if err == nil && page.Host != "" && !strings.ContainsAny(m.n.Check.URL, "<> \t\r\n") {
		text += "\n\n<" + m.n.Check.URL + ">"
	}
	return text
}

// maxIssueTitle is the maximum length of a title in characters: 256 on GitHub, 255 on GitLab.
const maxIssueTitle = 250

// issueTitle breaks up the mentions, references, links and markup of a title by zero-width spaces.
func issueTitle(title string) string {
	var b strings.Builder
	runes := append([]rune(title), ' ')
	length := 0
	for i, r := range runes[:len(runes)-1] {
		if length+2 > maxIssueTitle {
			return b.String() + "…"
		}
		b.WriteRune(r)
		length++
		// An underscore within a word is no markup.
		within := r == '_' && i > 0 && isWord(runes[i-1]) && isWord(runes[i+1])
		if strings.ContainsRune("@#!$%&^~*_`[]<>:\\", r) && runes[i+1] != ' ' && !within {
			b.WriteString(gap)
			length++
		}
	}
	return b.String()
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// codeBlock returns text as a code block of Markdown. The fence is longer than each run of backquotes in the text, so
// that the text cannot end the block.
func codeBlock(text string) string {
	longest := 2
	for _, run := range regexp.MustCompile("`+").FindAllString(text, -1) {
		longest = max(longest, len(run))
	}
	fence := strings.Repeat("`", longest+1)
	return fence + "text\n" + text + "\n" + fence
}

// issueNumber returns the number of an issue in an answer, or "" if it is not positive.
func issueNumber(n int64) string {
	if n <= 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}
