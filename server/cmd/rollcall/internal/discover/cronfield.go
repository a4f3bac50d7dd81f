package discover

import (
	"errors"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// cronRange is what a field of a crontab may hold.
type cronRange struct {
	name   string // as cron's errors call it
	lo, hi int
	names  []string // of lo and what follows
}

var monthNames = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
var dayNames = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// cronRanges are the fields in their order. Sunday is 0 and 7.
var cronRanges = [5]*cronRange{
	{name: "minute", lo: 0, hi: 59},
	{name: "hour", lo: 0, hi: 23},
	{name: "day-of-month", lo: 1, hi: 31},
	{name: "month", lo: 1, hi: 12, names: monthNames},
	{name: "day-of-week", lo: 0, hi: 7, names: dayNames},
}

const minuteField, hourField, dayField, monthField, weekdayField = 0, 1, 2, 3, 4

// cronField is a field as the daemon understands it.
type cronField struct {
	set    uint64 // one bit a value
	text   string // the same in Rollcall's language
	star   bool   // it begins with a star, by which cron decides whether both days must match
	junk   bool   // the daemon skipped the rest of the field
	spread int    // how many values later the daemon may choose to start, in units of the field
}

// errField says that a daemon refuses a field.
var errField = errors.New("bad field")

// add sets the values from lo to hi. An empty range sets none.
func (f *cronField) add(r *cronRange, lo, hi, step int) error {
	for i := lo; i <= hi; i += step {
		if i < r.lo || i > r.hi {
			return errField
		}
		f.set |= 1 << i
	}
	return nil
}

// wording sets the text: what the file says, if that means the same in Rollcall's language.
func (f *cronField) wording(r *cronRange, text string) {
	if set, ok := rollcallSet(r, text); ok && fold(r, set) == fold(r, f.set) {
		f.text = text
		return
	}
	set := f.set
	if r == cronRanges[weekdayField] && set&(1<<0|1<<1|1<<6) == 1<<0|1<<6 {
		set = set&^1 | 1<<7 // 5-7 instead of 0,5-6
	}
	if f.text = valueList(r, set, "-"); f.star && !strings.HasPrefix(f.text, "*") { // it has the first value
		f.text = strings.TrimSuffix("*/99,"+valueList(r, f.set&^(1<<r.lo), "-"), ",")
	}
}

// fold makes Sundays equal.
func fold(r *cronRange, set uint64) uint64 {
	if r == cronRanges[weekdayField] {
		return (set | set>>7) & 0x7f
	}
	return set
}

// all is the set of every value.
func (r *cronRange) all() uint64 { return fold(r, 1<<(r.hi+1)-1<<r.lo) }

// rollcallSet returns the values of a field in Rollcall's language, and whether it takes the field.
func rollcallSet(r *cronRange, text string) (set uint64, ok bool) {
	for term := range strings.SplitSeq(text, ",") {
		base, stepText, stepped := strings.Cut(term, "/")
		lo, hi := r.lo, r.hi
		if base != "*" {
			first, last, isRange := strings.Cut(base, "-")
			if lo, ok = r.value(first); !ok {
				return 0, false
			}
			if hi = lo; isRange {
				if hi, ok = r.value(last); !ok || hi < lo {
					return 0, false
				}
			}
			if stepped && lo == hi {
				hi = r.hi
			}
		}
		step := 1
		if stepped {
			if step, ok = smallNumber(stepText); !ok || step == 0 {
				return 0, false
			}
		}
		for i := lo; i <= hi; i += step {
			set |= 1 << i
		}
	}
	return set, true
}

// value reads a number or a name of three letters.
func (r *cronRange) value(text string) (int, bool) {
	if n, ok := smallNumber(text); ok {
		return n, r.lo <= n && n <= r.hi
	}
	i := slices.Index(r.names, strings.ToLower(text))
	return i + r.lo, i >= 0
}

func smallNumber(text string) (int, bool) {
	n, err := strconv.ParseUint(text, 10, 16)
	return int(n), err == nil && text[0] != '+'
}

// valueList writes a set as a list of values, ranges and steps. Between is the word between the ends of a range.
func valueList(r *cronRange, set uint64, between string) string {
	if fold(r, set) == r.all() {
		return "*"
	}
	var values []int
	for rest := set; rest != 0; rest &= rest - 1 {
		values = append(values, bits.TrailingZeros64(rest))
	}
	var terms []string
	for len(values) > 0 {
		n, step := progression(values)
		term := strconv.Itoa(values[0])
		if n > 1 {
			term += between + strconv.Itoa(values[n-1])
		}
		if step > 1 {
			term += "/" + strconv.Itoa(step)
		}
		terms, values = append(terms, term), values[n:]
	}
	return strings.Join(terms, ",")
}

// progression returns how many values at the beginning have equal distances, and that distance.
func progression(values []int) (n, step int) {
	if len(values) < 2 {
		return len(values), 1
	}
	step = values[1] - values[0]
	for n = 2; n < len(values) && values[n]-values[n-1] == step; n++ {
	}
	if step > 1 && n < 3 {
		return 1, 1
	}
	return n, step
}

// number reads the letters and digits at the beginning of text, as cron does: a name or a number.
func (r *cronRange) number(text string, named bool) (value, length int, err error) {
	for length < len(text) && isAlnum(text[length]) {
		length++
	}
	word := text[:length]
	if n, err := strconv.ParseUint(word, 10, 31); err == nil {
		return int(n), length, nil
	}
	if i := slices.Index(r.names, strings.ToLower(word)); named && i >= 0 {
		return i + r.lo, length, nil
	}
	return 0, length, errField
}

func isAlnum(c byte) bool { return isLetter(c) || isDigit(c) }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isLetter(c byte) bool {
	c |= 0x20
	return 'a' <= c && c <= 'z'
}

// vixieField reads a field as Debian's cron does: it skips what stands behind the last range.
func vixieField(r *cronRange, text string) (cronField, error) {
	f := cronField{star: strings.HasPrefix(text, "*")}
	at := 0
	for {
		length, err := f.vixieTerm(r, text[at:])
		if err != nil {
			return f, err
		}
		if at += length; at == len(text) || text[at] != ',' {
			break
		}
		at++
	}
	f.junk = at < len(text)
	f.wording(r, text[:at])
	return f, nil
}

// vixieTerm reads a star, a number or a range, with or without a step.
func (f *cronField) vixieTerm(r *cronRange, text string) (length int, err error) {
	lo, hi, step := r.lo, r.hi, 1
	if strings.HasPrefix(text, "*") {
		length = 1
	} else {
		if lo, length, err = r.number(text, true); err != nil {
			return 0, err
		}
		if hi = lo; !strings.HasPrefix(text[length:], "-") {
			if strings.HasPrefix(text[length:], "/") {
				return 0, errField
			}
			return length, f.add(r, lo, hi, 1)
		}
		n := 0
		if hi, n, err = r.number(text[length+1:], true); err != nil {
			return 0, err
		}
		length += 1 + n
	}
	if strings.HasPrefix(text[length:], "/") {
		n := 0
		if step, n, err = r.number(text[length+1:], false); err != nil || step == 0 {
			return 0, errField
		}
		length += 1 + n
	}
	if lo < r.lo || lo > r.hi || hi < r.lo || hi > r.hi {
		return 0, errField
	}
	return length, f.add(r, lo, hi, step)
}

// cronieField reads a field as cronie does. A range with ~ stands for one value that the daemon chooses.
func cronieField(r *cronRange, text string) (cronField, error) {
	f := cronField{star: strings.HasPrefix(text, "*")}
	for term := range strings.SplitSeq(text, ",") {
		if err := f.cronieTerm(r, term); err != nil {
			return f, err
		}
	}
	f.wording(r, text)
	return f, nil
}

func (f *cronField) cronieTerm(r *cronRange, term string) error {
	base, stepText, stepped := strings.Cut(term, "/")
	if first, last, random := strings.Cut(base, "~"); random {
		lo, hi, err := r.ends(first, last)
		if err != nil || stepped || lo > hi {
			return errField
		}
		f.spread = max(f.spread, hi-lo)
		return f.add(r, lo, lo, 1)
	}
	lo, hi := r.lo, r.hi
	first, last, isRange := strings.Cut(base, "-")
	if base != "*" {
		var err error
		if !isRange {
			last = first
		}
		if first == "" || last == "" || stepped && !isRange {
			return errField
		}
		if lo, hi, err = r.ends(first, last); err != nil {
			return err
		}
		if lo > hi && hi == 0 && !stepped {
			hi = 7 // cronie does so in every field
		}
	}
	step := 1
	if stepped {
		n, length, err := r.number(stepText, false)
		if err != nil || n == 0 || length != len(stepText) {
			return errField
		}
		step = n
	}
	return f.add(r, lo, hi, step)
}

// ends reads the ends of a range; "" means that of the field.
func (r *cronRange) ends(first, last string) (lo, hi int, err error) {
	lo, hi = r.lo, r.hi
	if first != "" {
		if lo, err = r.whole(first); err != nil {
			return 0, 0, err
		}
	}
	if last != "" {
		if hi, err = r.whole(last); err != nil {
			return 0, 0, err
		}
	}
	if lo < r.lo || lo > r.hi || hi > r.hi {
		return 0, 0, errField
	}
	return lo, hi, nil
}

// whole reads a text that is one number or name.
func (r *cronRange) whole(text string) (int, error) {
	n, length, err := r.number(text, true)
	if err != nil || length != len(text) {
		return 0, errField
	}
	return n, nil
}

// busyboxField reads a field as busybox's crond does: backward ranges go round, and the star of days of the month begins at 0.
func busyboxField(r *cronRange, text string) (cronField, error) {
	f := cronField{star: strings.HasPrefix(text, "*")}
	lo, size := 0, r.hi+1 // its arrays; those of months begin with January
	switch r {
	case cronRanges[monthField]:
		lo, size = 1, r.hi
	case cronRanges[weekdayField]:
		size = 7
	}
	for term := range strings.SplitSeq(text, ",") {
		base, stepText, stepped := strings.Cut(term, "/")
		first, last := lo, lo+size-1
		if base != "*" {
			from, to, isRange := strings.Cut(base, "-")
			if !isRange {
				to = from
			}
			var err error
			if first, err = r.whole(from); err == nil {
				last, err = r.whole(to)
			}
			if err != nil || first < lo || last < lo || first >= lo+size || last >= lo+size {
				return f, errField
			}
		}
		step := 1
		if stepped {
			n, err := strconv.ParseUint(stepText, 10, 16)
			if err != nil {
				return f, errField
			}
			step = int(n)
		}
		for i, n := first, 0; ; i, n = lo+(i-lo+1)%size, n+1 {
			if n == 0 || step > 0 && n%step == 0 {
				f.set |= 1 << i
			}
			if i == last {
				break
			}
		}
	}
	return f, nil
}
