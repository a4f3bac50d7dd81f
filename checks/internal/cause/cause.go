// Package cause finds the line of a failed job's output that says why it failed.
//
//	cause.Line([]byte("exporting ledger\ntar: /backup: No space left on device\nexit status 2\n"))
//	// tar: /backup: No space left on device
//
// The rules know no programs, only how programs report errors: [Line] prefers the exception that ended the job, then the
// lines near the end that name an error, then warnings, then the last line. It skips what never says why: stack frames,
// progress bars, hints, headers of mails, and lines that only repeat the exit status.
//
// [Key] returns what failures with a like cause share, so that they can be counted together.
//
// The package is pure. Its time is linear in the length of the output, of which it reads at most the last 128 KiB.
package cause

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/pings/text"
)

// MaxLength is the maximum length of a [Line] in characters, without the "…" in one that was cut.
const MaxLength = 160

const (
	maxScan  = 128 << 10 // bytes of output
	maxBytes = 2 << 10   // bytes of a line
	near     = 40        // lines that count as the end of the output
)

// candidate is a line that may say why.
type candidate struct {
	text  string
	score int
	gap   bool // noise or a blank line stands before it
}

// Line returns the line of a job's output that says why it failed, or "" if the output has no text. It is one line of
// valid UTF-8 without control sequences of terminals, control characters and invisible characters, of at most [MaxLength]
// characters and "…" in place of the middle of a longer one. A time and a host at its beginning are left out. A JSON object becomes its message and
// its error.
//
// It may hold any markup, and whatever the job wrote: escape it.
func Line(output []byte) string {
	content := clean(output)
	if content == "" {
		return ""
	}
	s := scanner{}
	last := ""
	for line := range strings.SplitSeq(content, "\n") {
		line = shown(line)
		if strings.TrimSpace(line) == "" {
			s.blank()
			continue
		}
		s.line(line)
		last = line
	}
	if len(s.found) == 0 {
		return short(last)
	}
	best := pick(s.found[max(0, len(s.found)-near):])
	if best.score < weak {
		best = pick(s.found)
	}
	return short(best.text)
}

// short puts a text on one line. It cuts the middle of a long one: its beginning says what failed, and its end often why.
func short(text string) string {
	line := []rune(prose.Line(text, maxBytes))
	if len(line) <= MaxLength {
		return string(line)
	}
	const tail = MaxLength / 2
	return strings.TrimRight(string(line[:MaxLength-tail]), " ") + "…" + strings.TrimLeft(string(line[len(line)-tail:]), " ")
}

// clean returns the end of the output as text, or "" if it is not text.
func clean(output []byte) string {
	if cut := len(output) - maxScan; cut > 0 {
		output = output[cut:]
		if i := bytes.IndexByte(output, '\n'); i >= 0 && i < len(output)-1 {
			output = output[i+1:] // its beginning is missing
		}
	}
	content, ok := text.Read("", output)
	if !ok {
		return ""
	}
	return prose.WithoutSequences(content)
}

// shown returns a line as a terminal shows it: what was written after the last carriage return.
func shown(line string) string {
	line = strings.TrimRight(line, "\r")
	line = line[strings.LastIndexByte(line, '\r')+1:]
	if len(line) > maxBytes {
		end := maxBytes
		for !utf8.RuneStart(line[end]) {
			end--
		}
		line = line[:end]
	}
	return line
}

// pick returns the best candidate. Of equal exceptions that is the last one. Of other equal lines it is the first of
// those that end the output: what follows an error is often its consequence.
func pick(list []candidate) candidate {
	at := 0
	for i, c := range list {
		if c.score >= list[at].score {
			at = i
		}
	}
	best := list[at]
	if best.score >= exception || best.score < weak {
		return best
	}
	for at > 0 && !list[at].gap && list[at-1].score == best.score {
		at--
	}
	return list[at]
}
