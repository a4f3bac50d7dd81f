package schedule

import (
	"math/bits"
	"strings"
)

// A field describes a field of an expression.
type field struct {
	name    string   // in errors
	lo, hi  int      // smallest and largest value
	names   []string // upper-case names of the values, from lo on
	century bool     // years of two digits are 1970 to 2069
}

func (f *field) fail(p part, format string, args ...any) *Error {
	return p.fail(f.name, format, args...)
}

// value parses a number or a name of the field and checks its range.
func (f *field) value(p part) (int, *Error) {
	for i, name := range f.names {
		if sameWord(name, p.text) {
			return f.lo + i, nil
		}
	}
	v, err := f.number(p)
	if err != nil {
		return 0, err
	}
	if f.century && v < 70 {
		v += 2000
	} else if f.century && v < 100 {
		v += 1900
	}
	if v < f.lo || v > f.hi {
		return 0, f.fail(p, "%s is not in %d–%d", trimZeros(p.text), f.lo, f.hi)
	}
	return v, nil
}

// maxNumber stands for every larger number. It is out of range in every field and avoids overflow.
const maxNumber = 1_000_000

// number parses a number in decimal digits.
func (f *field) number(p part) (int, *Error) {
	if p.text == "" {
		return 0, f.fail(p, "a value is missing")
	}
	n := 0
	for i := range len(p.text) {
		c := p.text[i]
		if c < '0' || c > '9' {
			return 0, f.notNumber(p)
		}
		n = min(n*10+int(c-'0'), maxNumber)
	}
	return n, nil
}

func (f *field) notNumber(p part) *Error {
	if len(f.names) > 0 {
		return f.fail(p, "%s is neither a number nor a name from %s to %s",
			bare(p.text), f.names[0], f.names[len(f.names)-1])
	}
	if f == &calendarSecond && strings.Contains(p.text, ".") {
		return f.fail(p, "%s has a fraction, which is not supported", bare(p.text))
	}
	return f.fail(p, "%s is not a number", bare(p.text))
}

// step parses the number after a slash, which must be at least 1.
func (f *field) step(p part) (int, *Error) {
	n, err := f.number(p)
	if err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, f.fail(p, "a step must be at least 1")
	}
	return n, nil
}

// values parses a value, or a range with mark between its ends. For a single value, lo and hi are equal.
func (f *field) values(p part, mark string) (lo, hi int, err *Error) {
	from, to, ranged := p.cut(mark)
	if lo, err = f.value(from); err != nil || !ranged {
		return lo, lo, err
	}
	if hi, err = f.value(to); err == nil && hi < lo {
		err = f.fail(from, "the range from %s to %s runs backwards", bare(from.text), bare(to.text))
	}
	return lo, hi, err
}

// span returns the set of every step-th value from lo to hi. hi must be below 64; bit v of a set stands for value v.
func span(lo, hi, step int) uint64 {
	var set uint64
	for v := lo; v <= hi; v += step {
		set |= 1 << v
	}
	return set
}

// every returns the set of all values of the field.
func (f *field) every() uint64 { return span(f.lo, f.hi, 1) }

// nextBit returns the smallest member of set that is at least v.
func nextBit(set uint64, v int) (int, bool) {
	rest := set >> v
	return v + bits.TrailingZeros64(rest), rest != 0
}

// sameWord reports whether s is the ASCII word in any case.
func sameWord(word, s string) bool {
	return len(word) == len(s) && strings.EqualFold(word, s) // other letters that fold to ASCII have more bytes
}

// trimZeros formats a number for an error, without leading zeros.
func trimZeros(s string) string {
	return bare(strings.TrimLeft(s[:len(s)-1], "0") + s[len(s)-1:])
}
