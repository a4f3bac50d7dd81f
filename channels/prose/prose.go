// Package prose has the words that alerts, verdicts, pages and commands share: durations and counts, and text from users and
// jobs, cut to fit and without what a reader would not see.
//
//	prose.Duration(134 * time.Minute) // 2 h 14 min
//	prose.Count(2, "check")           // 2 checks
//	prose.Line("two\n lines", 100)    // two lines
//
// The package is pure.
package prose

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line returns text on one line of at most limit characters, and "…" if it was cut. Runs of white space become one
// space. Line drops invisible characters, except joiners between letters or emoji: a change of writing direction could
// make the text look like another.
func Line(text string, limit int) string {
	var b strings.Builder
	length, blank := 0, false
	for _, r := range Visible(text) {
		if unicode.IsSpace(r) {
			blank = length > 0
			continue
		}
		if blank {
			b.WriteByte(' ')
			length, blank = length+1, false
		}
		if length >= limit {
			return strings.TrimRight(b.String(), " \u200c\u200d") + "…"
		}
		b.WriteRune(r)
		length++
	}
	return b.String()
}

// Cut cuts text between characters to at most limit bytes, including a final "…".
func Cut(text string, limit int) string {
	const mark = "…"
	if len(text) <= limit {
		return text
	}
	end := max(0, limit-len(mark))
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	if end == 0 {
		return ""
	}
	return text[:end] + mark
}

// List joins items as in "a, b and c".
func List(items []string) string {
	last := len(items) - 1
	if last < 1 {
		return strings.Join(items, "")
	}
	return strings.Join(items[:last], ", ") + " and " + items[last]
}

// Brief cuts a text that may be of any length between characters to at most limit bytes, and then says how long it was, as in
// "aaa… (1000000 bytes)".
func Brief(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "… (" + strconv.Itoa(len(text)) + " bytes)"
}

// sequences matches the control sequences of terminals (ECMA-48, section 5.4): those with parameters, such as colours,
// strings such as the title of a window, and short ones. A string that does not end on its line is no match.
var sequences = regexp.MustCompile(`(?:\x1b\[|\x{9b})[0-?]*[ -/]*[@-~]` +
	`|(?:\x1b[\]PX^_]|[\x{90}\x{98}\x{9d}-\x{9f}])[^\x07\x1b\x{9c}\n]*(?:\x07|\x1b\\|\x{9c})` +
	`|\x1b[ -/]*[0-~]`)

// WithoutSequences returns text without the control sequences of terminals, such as colours.
func WithoutSequences(text string) string {
	if strings.IndexByte(text, '\x1b') < 0 && strings.IndexByte(text, '\xc2') < 0 { // which begins U+0090 to U+009F
		return text
	}
	return sequences.ReplaceAllString(text, "")
}

// hidden reports whether a character must not be in an alert: it has no shape, or it controls the direction of text.
func hidden(r rune) bool {
	return r == utf8.RuneError || !unicode.IsPrint(r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}

// Visible returns text without invisible characters, such as control characters and those that set the direction of text.
// White space stays, and so do characters that belong to a letter or an emoji: joiners between two of them, without which
// Persian and Hindi are misspelt and families fall apart, and the tags of a flag.
func Visible(text string) string {
	if !strings.ContainsFunc(text, hidden) {
		return text
	}
	characters := []rune(text)
	kept := make([]rune, 0, len(characters))
	for i, r := range characters {
		if unicode.IsSpace(r) || !hidden(r) || belongs(kept, r, characters[i+1:]) {
			kept = append(kept, r)
		}
	}
	return string(kept)
}

// Plain returns text without characters that change what stands around it: control characters and those that set the
// direction of text. White space becomes blanks.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == unicode.ReplacementChar, r == '\ufeff', r == '\ufffe', r == '\uffff':
			return -1
		}
		return r
	}, text)
}

// Name returns a name, or another text that people chose, as [Plain] does and without superfluous blanks.
func Name(text string) string { return strings.Join(strings.Fields(Plain(text)), " ") }

// belongs reports whether an invisible character belongs to those around it.
func belongs(before []rune, r rune, after []rune) bool {
	const blackFlag, firstTag, lastTag = '\U0001F3F4', '\U000E0020', '\U000E007F'
	isTag := func(r rune) bool { return firstTag <= r && r <= lastTag }
	if len(before) == 0 {
		return false
	}
	last := before[len(before)-1]
	if isTag(r) {
		return last == blackFlag || isTag(last)
	}
	next := slices.IndexFunc(after, func(r rune) bool { return unicode.IsSpace(r) || !hidden(r) })
	return isJoiner(r) && next >= 0 && joinable(last) && joinable(after[next])
}

// isJoiner reports whether r joins two characters, or keeps them from being joined.
func isJoiner(r rune) bool { return r == '\u200c' || r == '\u200d' }

// joinable reports whether a joiner may stand beside r: a letter, a mark or an emoji, whose skin tones are modifiers.
func joinable(r rune) bool {
	return unicode.IsLetter(r) || unicode.In(r, unicode.M, unicode.So, unicode.Sk)
}
