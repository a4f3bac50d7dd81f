package ui

import (
	"errors"
	"strings"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// Phrase is a schedule that was typed in words.
type Phrase struct {
	schedule.Understood
	Text string // as it was typed
}

// ReadPhrase reads a schedule that was typed, and reports whether it is in words. The error is a *[checks.FieldError] for words
// that are not understood. An expression, whether valid or not, is left to the library.
func ReadPhrase(text string) (p Phrase, ok bool, err error) {
	u, err := schedule.FromWords(text)
	if err == nil {
		return Phrase{u, text}, u.Expression != text, nil
	}
	_, invalid := schedule.Read(text)
	if found, ok := errors.AsType[*schedule.Error](err); ok && found.Error() != invalid.Error() {
		return p, false, &checks.FieldError{Field: "schedule", Reason: "is not understood: " + found.Reason, Err: err}
	}
	return p, false, nil
}

// As is what the phrase means: an expression in one line, or an interval.
func (p Phrase) As() string {
	if p.Every != 0 {
		return "an interval of " + words.SpellPeriod(p.Every)
	}
	return strings.ReplaceAll(p.Expression, "\n", " and ")
}

// Read says how the phrase was read, with all that it leaves open.
func (p Phrase) Read() string {
	return strings.TrimSpace("“" + words.Cut(p.Text, 100) + "” is understood as " + p.As() + ". " + p.Taken)
}

// Stored says what was stored.
func (p Phrase) Stored() string {
	text := "“" + words.Cut(p.Text, 100) + "” is stored as " + p.As()
	if s, err := schedule.Read(p.Expression); err == nil {
		text += ": " + schedule.Explain(s, nil)
	}
	return text + "."
}
