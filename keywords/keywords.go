// Package keywords classifies the text of a ping by the words found in it.
//
// A job that cannot choose the address it pings often still says how it went
// in the text it sends: a backup tool mails "Backup completed" or "ERROR", a
// script posts its log. A check therefore carries three lists of keywords (API-V3.md
// section 2.1: start_kw, success_kw and failure_kw). A [Filter] holds the three
// lists; [Filter.Classify] tells which of them a text matches:
//
//	f := keywords.New("", "completed, finished", "ERROR")
//	f.Classify([]byte("backup finished in 12 s")) // keywords.Success
//	f.Classify([]byte("ERROR: disk full"))        // keywords.Failure
//	f.Classify([]byte("all quiet"))               // keywords.None
//
// What a ping without any keyword means (it is ignored, or it is a failure:
// API-V3.md section 2.1.1, rule 3) is for the caller to decide, and so is where
// the text comes from: the subject and the parts of an e-mail, or the first
// [MaxHTTPBody] bytes of the body of an HTTP request.
//
// The package is pure: it does no input or output, and everything in it can be
// used by several goroutines at once.
package keywords

import (
	"bytes"
	"strconv"
	"strings"
)

// MaxHTTPBody is the number of bytes at the start of an HTTP ping body in which
// keywords are looked for: the "10 kB" of API-V3.md sections 2.1 and 8. The caller
// cuts the body, so a keyword that only ends after them is not found. Text of an
// e-mail is not cut.
const MaxHTTPBody = 10_000

// A Class is what the keywords found in a text say about the job.
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

// String returns "none", "start", "success" or "failure", and a text such as
// "Class(9)" for a value that is not one of the package's constants.
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

// A Filter is three lists of keywords: for start, success and failure signals.
// It never changes once made by [New]. The zero value has no keywords and
// matches nothing.
type Filter struct {
	start, success, failure [][]byte
}

// New makes a Filter of three comma-separated lists of keywords, in the form in
// which API-V3.md section 2.1 has them in start_kw, success_kw and failure_kw.
// White space around a keyword is dropped and white space within it counts, so
// "all done, ok" is the two keywords "all done" and "ok". Empty items match
// nothing: "", "," and " , " are lists without keywords. No list is malformed.
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
		if item = strings.TrimSpace(item); item != "" {
			words = append(words, []byte(item))
		}
	}
	return words
}

// Classify returns the class whose list has a keyword that occurs in text.
// Where several lists match, failure wins over success and success over start,
// so that a log that says both "done" and "ERROR" is a failure. It returns
// [None] when no keyword occurs.
//
// A keyword matches anywhere, also within a longer word. It is compared byte
// for byte: upper and lower case differ (API-V3.md section 2.1.1, rule 4), and
// so do different Unicode forms of one letter. The text need not be valid UTF-8.
// It is read, never kept or changed.
func (f Filter) Classify(text []byte) Class {
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

// containsAny reports whether one of words occurs in text.
func containsAny(text []byte, words [][]byte) bool {
	for _, word := range words {
		if bytes.Contains(text, word) {
			return true
		}
	}
	return false
}
