// Package words has the texts that all pages share.
package words

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/schedule"
)

// Name is [prose.Name], or else empty.
func Name(text, empty string) string { return cmp.Or(prose.Name(text), empty) }

// Names returns the names that are left of a list.
func Names(list []string) []string {
	names := make([]string, 0, len(list))
	for _, text := range list {
		if text = Name(text, ""); text != "" {
			names = append(names, text)
		}
	}
	return names
}

// Cut shortens a text that a person has typed to a number of characters.
func Cut(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit]) + "…"
	}
	return text
}

// Start returns the first characters of a text.
func Start(text string, limit int) string {
	n := 0
	for at := range text {
		if n++; n > limit {
			return text[:at]
		}
	}
	return text
}

// Short shortens a name for a notice, which a cookie carries.
func Short(name string) string {
	if runes := []rune(name); len(runes) > 60 {
		return string(runes[:60]) + "…"
	}
	return name
}

// Sentence gives a text, such as that of an error, a capital letter and a full stop, unless it ends with a question.
func Sentence(text string) string {
	if strings.HasSuffix(text, "?") {
		return Capital(text)
	}
	return Capital(text) + "."
}

// Capital gives a text a capital letter.
func Capital(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return strings.ToUpper(string(first)) + text[size:]
}

// Value reads what a person typed for a setting, or the value of a checkbox, which is "" unless it is ticked. A period is as
// [ParsePeriod] reads it. The error is a *[checks.FieldError].
func Value(s checks.Setting, text string) (any, error) {
	switch s.Zero.(type) {
	case bool:
		return text != "", nil
	case []string:
		return strings.Fields(text), nil
	case time.Duration:
		return Period(s, text)
	case int:
		n, err := strconv.Atoi(cmp.Or(strings.TrimSpace(text), "0"))
		if err != nil {
			return 0, &checks.FieldError{Field: s.Name, Reason: "is not a whole number: " + Cut(text, 20)}
		}
		if s.Optional && n == 1 {
			n = 0
		}
		return n, nil
	}
	return text, nil
}

// Typed writes the value of a setting as a person would type it, for [Value].
func Typed(s checks.Setting, value any) string {
	switch value := value.(type) {
	case bool:
		if value {
			return "on"
		}
	case []string:
		return strings.Join(checks.Settings{Tags: value}.TagList(), " ")
	case time.Duration:
		if value != 0 {
			return SpellPeriod(value)
		}
	case int:
		if s.Optional {
			value = max(value, 1)
		}
		return strconv.Itoa(value)
	case string:
		return value
	}
	return ""
}

// ZoneProblem says in a sentence what is wrong with a time zone, and what to write.
func ZoneProblem(err error) string {
	found, ok := errors.AsType[*schedule.Error](err)
	if !ok {
		return "The time zone is not known. Use a name such as Europe/Riga."
	}
	if strings.HasSuffix(found.Reason, "database") { // without advice
		return Sentence(found.Reason) + " Use a name such as Europe/Riga."
	}
	return Sentence(found.Reason)
}

// Listed joins names: the first of them, if they are more than a number.
func Listed(names []string, most int) string {
	if n := len(names); n > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), n-most)
	}
	return strings.Join(names, ", ")
}
