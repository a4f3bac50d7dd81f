// Package keywords classifies the text of a ping by the keywords in it.
//
// A job that cannot choose its ping URL often still says how it went: a backup tool mails "Backup completed" or "ERROR",
// a script posts its log. A check therefore has three lists of keywords (start_kw, success_kw and failure_kw of section
// 2.1 of the [API]). A [Filter] holds the lists, and [Filter.Classify] returns which of them matches a text:
//
//	f := keywords.New("", "completed, finished", "ERROR")
//	f.Classify([]byte("backup finished in 12 s")) // keywords.Success
//	f.Classify([]byte("ERROR: disk full"))        // keywords.Failure
//	f.Classify([]byte("all quiet"))               // keywords.None
//
// The caller chooses the text: the subject and the parts of an e-mail, or the first [MaxHTTPBody] bytes of an HTTP
// body. It also decides what a ping without keywords means (section 2.1.1, rule 3).
//
// The package is pure and safe for concurrent use.
//
// [API]: https://github.com/rollcall-dev/rollcall/blob/main/server/API.md
package keywords

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// MaxHTTPBody is the number of bytes of an HTTP body to search for keywords. The caller cuts the body there, so a
// keyword across the limit does not match. E-mail text has no limit.
const MaxHTTPBody = 10_000

// A Class is what the keywords in a text say about the job.
type Class int

const (
	// None means that no keyword was found.
	None Class = iota
	// Start means that the job has started.
	Start
	// Success means that the job has ended well.
	Success
	// Failure means that the job has failed.
	Failure
)

// String returns "none", "start", "success" or "failure", and a text such as "Class(9)" for a value that is not one of
// the package's constants.
func (c Class) String() string {
	switch c {
	case None:
		return "none"
	case Start:
		return "start"
	case Success:
		return "success"
	case Failure:
		return "failure"
	}
	return "Class(" + strconv.Itoa(int(c)) + ")"
}

// A Filter holds the keywords for start, success and failure signals. [New] makes one. It is immutable. The zero value
// has no keywords and matches nothing.
type Filter struct {
	start, success, failure [][]byte
}

// New returns the Filter of three comma-separated lists of keywords.
//
// White space around a keyword is trimmed: "all done, ok" is the keywords "all done" and "ok". Empty items are dropped, so ""
// and " , " are lists without keywords. Every text is a valid list.
func New(start, success, failure string) Filter {
	return Filter{
		start:   split(start),
		success: split(success),
		failure: split(failure),
	}
}

// split returns the keywords of one comma-separated list.
func split(list string) [][]byte {
	var words [][]byte
	for item := range strings.SplitSeq(list, ",") {
		if word := bytes.TrimSpace(normalize([]byte(item))); len(word) > 0 {
			words = append(words, word)
		}
	}
	return words
}

// Classify returns the class with a keyword in text, or [None].
//
// If several lists match, failure wins over success and success over start: a log with both "done" and "ERROR" is a
// failure.
//
// A keyword matches anywhere, even inside a word. Case matters. White space does not: a blank in a keyword matches white space
// of any kind and length, such as a line break with the indentation after it. Composed and decomposed characters match.
// Characters that only permit a line break, such as a soft hyphen, do not count. The text may be invalid UTF-8. Classify does
// not keep or change it.
func (f Filter) Classify(text []byte) Class {
	if len(f.start)+len(f.success)+len(f.failure) == 0 {
		return None
	}
	text = normalize(text)
	switch {
	case containsAny(text, f.failure):
		return Failure
	case containsAny(text, f.success):
		return Success
	case containsAny(text, f.start):
		return Start
	}
	return None
}

func containsAny(text []byte, words [][]byte) bool {
	for _, word := range words {
		if bytes.Contains(text, word) {
			return true
		}
	}
	return false
}

// normalize returns the form of a text in which keywords are compared: NFC, with one blank for white space. It returns a text of
// that form unchanged, and does not change any.
func normalize(text []byte) []byte {
	for i, c := range text {
		if !plain(c) && (c != ' ' || i+1 < len(text) && !plain(text[i+1])) {
			return oneBlank(norm.NFC.Bytes(text))
		}
	}
	return text
}

func plain(c byte) bool { return c > ' ' && c < utf8.RuneSelf }

// oneBlank replaces white space by one blank, and removes characters that only permit a line break.
func oneBlank(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for white := false; len(text) > 0; {
		n := 0
		for n < len(text) && plain(text[n]) {
			n++
		}
		if n > 0 {
			out, text, white = append(out, text[:n]...), text[n:], false
			continue
		}
		r, size := utf8.DecodeRune(text)
		switch {
		case unicode.IsSpace(r):
			if !white {
				out = append(out, ' ')
			}
			white = true
		case r == '\u00AD' || r == '\u200B' || r == '\u2060' || r == '\uFEFF':
		default:
			out, white = append(out, text[:size]...), false
		}
		text = text[size:]
	}
	return out
}
