package schedule

import (
	"fmt"
	"math/bits"
	"strings"
)

// field describes one field of an expression: what it is called in errors, the
// values it may have, and the names that stand for them.
type field struct {
	name   string
	lo, hi int
	// names are in upper case; names[i] stands for lo+i.
	names []string
	// century is set where two digits mean a year from 1970 to 2069.
	century bool
}

// fail returns an error about p.
func (f *field) fail(p part, format string, args ...any) *Error {
	return &Error{Field: f.name, Reason: fmt.Sprintf(format, args...), Offset: p.offset}
}

// value reads a number or a name of the field and checks its range.
func (f *field) value(p part) (int, *Error) {
	for i, name := range f.names {
		if len(name) == len(p.text) && strings.EqualFold(name, p.text) && isASCII(p.text) {
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

// maxNumber is what every larger number is read as. It is above all ranges, so
// that a number of any length can be judged without overflow.
const maxNumber = 1_000_000

// number reads decimal digits, and nothing else, as a number.
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

// step reads what follows a slash: a number of at least 1.
func (f *field) step(p part) (int, *Error) {
	n, err := f.number(p)
	if err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, f.fail(p, "a step of 0 leads nowhere")
	}
	return n, nil
}

// values reads a value, or a range with the given mark between its ends. The ends of a single value are equal.
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

// span returns the set of the values from lo to hi, step apart. Sets hold value
// v in bit v; hi is below 64.
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

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// trimZeros removes leading zeros and shortens what is long all the same, for
// errors.
func trimZeros(s string) string {
	s = strings.TrimLeft(s[:len(s)-1], "0") + s[len(s)-1:]
	return bare(s)
}
