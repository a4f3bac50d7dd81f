package wire

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Bounds of timeout, grace and repeat_every in seconds (API-V3.md sections 2.1 and 8), and of alert_after.
const (
	MinPeriod     = 60
	MaxPeriod     = 31_536_000
	MaxAlertAfter = 100
)

// maxDigits is a number of decimal digits that always fits 64 bits.
const maxDigits = 18

// reader reads the fields of a body one by one. It keeps the first error, and returns nil from then on.
type reader struct {
	body Body
	err  error
}

// get returns the JSON text of a field, or false when there is none, or when an error was found before.
func (r *reader) get(field string) (string, bool) {
	raw, present := r.body.fields[field]
	return string(raw), present && r.err == nil
}

func (r *reader) refuse(field, format string, args ...any) {
	r.err = &FieldError{Field: field, Reason: fmt.Sprintf(format, args...)}
}

func (r *reader) text(field string) *string {
	raw, present := r.get(field)
	switch {
	case !present:
		return nil
	case raw[0] != '"':
		r.refuse(field, "is not a string")
		return nil
	}
	return r.unquote(field, raw)
}

// unquote decodes a JSON string. encoding/json would turn what no text can hold into U+FFFD without a word.
func (r *reader) unquote(field, raw string) *string {
	if escape := loneSurrogate(raw); escape != "" {
		r.refuse(field, "is not valid Unicode: %s stands alone", escape)
		return nil
	}
	var text string
	if err := json.Unmarshal([]byte(raw), &text); err != nil {
		r.refuse(field, "is not a string")
		return nil
	}
	return &text
}

func (r *reader) texts(field string) []string {
	raw, present := r.get(field)
	if !present {
		return nil
	}
	var items []json.RawMessage
	if raw[0] != '[' || json.Unmarshal([]byte(raw), &items) != nil {
		r.refuse(field, "is not an array")
		return nil
	}
	texts := make([]string, 0, len(items))
	for _, item := range items {
		if item[0] != '"' {
			r.refuse(field, "has an item that is not a string")
			return nil
		}
		text := r.unquote(field, string(item))
		if text == nil {
			return nil
		}
		texts = append(texts, *text)
	}
	return texts
}

func (r *reader) boolean(field string) *bool {
	raw, present := r.get(field)
	if !present {
		return nil
	}
	if raw != "true" && raw != "false" {
		r.refuse(field, "is not a boolean")
		return nil
	}
	value := raw == "true"
	return &value
}

func (r *reader) seconds(field string) *int64 { return r.number(field, MinPeriod, MaxPeriod) }

// number reads a whole number that fits 64 bits. The bounds are only for the error about one that does not.
func (r *reader) number(field string, least, most int64) *int64 {
	raw, present := r.get(field)
	switch {
	case !present:
		return nil
	case raw[0] != '-' && (raw[0] < '0' || raw[0] > '9'):
		r.refuse(field, "is not a number")
		return nil
	}
	n, whole, fits := integer(raw)
	switch {
	case !whole:
		r.refuse(field, "is not a whole number: %s", shorten(raw))
	case !fits && raw[0] == '-':
		r.refuse(field, "is too small: %s, the minimum is %d", shorten(raw), least)
	case !fits:
		r.refuse(field, "is too large: %s, the maximum is %d", shorten(raw), most)
	default:
		return &n
	}
	return nil
}

// integer reads a JSON number exactly, however it is written: 3600, 3600.0, 36e2 and 360000E-2 are the same. whole
// is false when it has a fraction, fits when it has more digits than fit an int64. It never computes the power of
// ten of a number that does not fit, so that 1e999999999 costs no more than 1.
func integer(number string) (n int64, whole, fits bool) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	before, after, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(before+after, "0")
	if digits == "" {
		return 0, true, true
	}
	significant := strings.TrimRight(digits, "0")
	zeros := len(digits) - len(significant) - len(after) // to append; negative when there is a fraction
	if exponent != "" {
		power, err := strconv.Atoi(exponent)
		if err != nil || power > 1<<30 || power < -1<<30 {
			// Beyond any number of digits that a body can have.
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

// loneSurrogate returns the first \u escape in a JSON string that is half of a surrogate pair without the other
// half, or "".
func loneSurrogate(raw string) string {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++ // now at the character after the backslash
		first, ok := escaped(raw[i:])
		if !ok || !utf16.IsSurrogate(first) {
			continue
		}
		rest := raw[i+5:]
		if second, ok := escaped(strings.TrimPrefix(rest, `\`)); rest[0] != '\\' || !ok || utf16.DecodeRune(first, second) == '\uFFFD' {
			return raw[i-1 : i+5]
		}
		i += 10 // the rest of the pair
	}
	return ""
}

// escaped reads "uXXXX" at the start of a text.
func escaped(text string) (rune, bool) {
	if len(text) < 5 || text[0] != 'u' {
		return 0, false
	}
	code, err := strconv.ParseUint(text[1:5], 16, 16)
	return rune(code), err == nil
}

// shorten cuts a number for an error text.
func shorten(number string) string {
	const most = 40
	if len(number) <= most {
		return number
	}
	return number[:most] + "…"
}
