package request

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
)

// maxDigits is the number of decimal digits that always fit 64 bits.
const maxDigits = 18

// reader reads the fields of a body one by one. It keeps the first error and returns nil from then on.
type reader struct {
	body Body
	err  error
}

// field returns the JSON text of a field, or nil if the field is absent or an earlier one was refused.
func (r *reader) field(name string) json.RawMessage {
	if r.err != nil {
		return nil
	}
	return r.body.fields[name]
}

func (r *reader) refuse(field, format string, args ...any) {
	r.err = &checks.FieldError{Field: field, Reason: fmt.Sprintf(format, args...)}
}

// settings reads all settings of a check, and api_key, which it only checks.
func (r *reader) settings() (spec checks.Spec) {
	for _, s := range checks.AllSettings() {
		switch s.Zero.(type) {
		case string, []string:
			set(&spec, s, r.text(s.Name), func(text string) any { return text })
		case bool:
			set(&spec, s, r.boolean(s.Name), func(on bool) any { return on })
		case int:
			set(&spec, s, r.number(s), func(n int64) any { return int(n) })
		case time.Duration:
			set(&spec, s, r.number(s), func(n int64) any { return time.Duration(n) * time.Second })
		}
	}
	r.text("api_key")
	return spec
}

// set sets a setting, unless its field is absent.
func set[T any](spec *checks.Spec, s checks.Setting, value *T, of func(T) any) {
	if value != nil {
		s.Set(spec, of(*value))
	}
}

func (r *reader) text(field string) *string {
	raw := r.field(field)
	switch {
	case raw == nil:
		return nil
	case raw[0] != '"':
		r.refuse(field, "is not a string")
		return nil
	}
	return r.unquote(field, raw)
}

// unquote decodes a JSON string. It refuses half a surrogate pair, which encoding/json would silently replace with
// U+FFFD.
func (r *reader) unquote(field string, raw json.RawMessage) *string {
	if escape := loneSurrogate(string(raw)); escape != "" {
		r.refuse(field, "is not valid Unicode: %s stands alone", escape)
		return nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		r.refuse(field, "is not a string")
		return nil
	}
	return &text
}

func (r *reader) texts(field string) []string {
	raw := r.field(field)
	if raw == nil {
		return nil
	}
	var items []json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &items) != nil {
		r.refuse(field, "is not an array")
		return nil
	}
	texts := make([]string, 0, len(items))
	for _, item := range items {
		if item[0] != '"' {
			r.refuse(field, "has an item that is not a string")
			return nil
		}
		text := r.unquote(field, item)
		if text == nil {
			return nil
		}
		texts = append(texts, *text)
	}
	return texts
}

func (r *reader) boolean(field string) *bool {
	switch raw := string(r.field(field)); raw {
	case "":
		return nil
	case "true", "false":
		return new(raw == "true")
	}
	r.refuse(field, "is not a boolean")
	return nil
}

// number reads a whole number within the bounds of a setting.
func (r *reader) number(s checks.Setting) *int64 {
	raw := string(r.field(s.Name))
	switch {
	case raw == "":
		return nil
	case raw[0] != '-' && (raw[0] < '0' || raw[0] > '9'):
		r.refuse(s.Name, "is not a number")
		return nil
	}
	n, whole, fits := integer(raw)
	switch {
	case !whole:
		r.refuse(s.Name, "is not a whole number: %s", shorten(raw))
	case fits && n == 0 && s.Optional:
		return &n
	case fits && n < s.Min || !fits && raw[0] == '-':
		r.refuse(s.Name, "is too small: %s, the minimum is %d", shorten(raw), s.Min)
	case !fits || n > s.Max:
		r.refuse(s.Name, "is too large: %s, the maximum is %d", shorten(raw), s.Max)
	default:
		return &n
	}
	return nil
}

// integer parses a JSON number exactly: 3600, 3600.0, 36e2 and 360000E-2 are the same. whole reports whether it has no
// fraction, fits whether it has at most maxDigits digits. Numbers that do not fit are never expanded, so 1e999999999
// costs no more than 1.
func integer(number string) (n int64, whole, fits bool) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	before, after, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(before+after, "0")
	if digits == "" {
		return 0, true, true
	}
	significant := strings.TrimRight(digits, "0")
	zeros := len(digits) - len(significant) - len(after) // to append; negative if there is a fraction
	if exponent != "" {
		power, err := strconv.Atoi(exponent)
		if err != nil || power > 1<<30 || power < -1<<30 {
			// No body has enough digits to make up for this.
			return 0, exponent[0] != '-', false
		}
		zeros += power
	}
	switch {
	case zeros < 0:
		return 0, false, true
	case len(significant)+zeros > maxDigits:
		return 0, true, false
	}
	n, _ = strconv.ParseInt(significant+strings.Repeat("0", zeros), 10, 64) // at most 18 digits
	if negative {
		n = -n
	}
	return n, true, true
}

// loneSurrogate returns the first \u escape of a JSON string that is half a surrogate pair without its other half, or
// "".
func loneSurrogate(raw string) string {
	for {
		start := strings.IndexByte(raw, '\\')
		if start < 0 {
			return ""
		}
		raw = raw[start:]
		first := escaped(raw)
		switch {
		case !utf16.IsSurrogate(first):
			raw = raw[2:]
		case utf16.DecodeRune(first, escaped(raw[6:])) == '\uFFFD':
			return raw[:6]
		default:
			raw = raw[12:]
		}
	}
}

// escaped returns the code of the escape \uXXXX at the start of a text, or 0.
func escaped(text string) rune {
	if !strings.HasPrefix(text, `\u`) {
		return 0
	}
	code, _ := strconv.ParseUint(text[2:6], 16, 16) // the text is valid JSON
	return rune(code)
}

// shorten cuts a long number for an error text.
func shorten(number string) string { return prose.Brief(number, 40) }
