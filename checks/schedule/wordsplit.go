package schedule

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// class says what a word of a phrase is.
type class int

const (
	classUnknown class = iota
	classSmall         // a word such as every, at and of, known by its text
	classAnd           // and, &, + and commas
	classDash          // a hyphen between the ends of a range
	classNumber        // n
	classDecimal       // such as 1.5 or 7.30
	classClock         // n hours, m minutes; n is -1 in :15
	classOrdinal       // the nth, or the last if n is -1
	classUnit          // n is a unit
	classOften         // n is a unit: daily
	classWeekday       // n is a set
	classMonth         // n
	classPart          // n is an index of partsOfDay
)

// The units of time, from the shortest.
const (
	unitNone = iota
	unitSecond
	unitMinute
	unitHour
	unitDay
	unitWeek
	unitMonth
	unitQuarter
	unitYear
)

var unitNames = [...]string{"", "second", "minute", "hour", "day", "week", "month", "quarter", "year"}

// unitLengths are the lengths of the units that always have the same.
var unitLengths = [...]time.Duration{unitSecond: time.Second, unitMinute: time.Minute, unitHour: time.Hour, unitDay: 24 * time.Hour, unitWeek: 7 * 24 * time.Hour}

// A partOfDay is a part of the day with the hours that belong to it.
type partOfDay struct {
	name     string
	from, to int // hours; the night passes midnight
}

var partsOfDay = [...]partOfDay{{"morning", 0, 11}, {"afternoon", 12, 17}, {"evening", 17, 23}, {"night", 20, 5}}

func (d partOfDay) has(hour int) bool {
	if d.from > d.to {
		return hour >= d.from || hour <= d.to
	}
	return hour >= d.from && hour <= d.to
}

// The sets of weekdays that have a name.
const (
	workdays = 0b0111110
	weekend  = 0b1000001
)

// word is a word, a number or a sign of a phrase.
type word struct {
	class  class
	text   string // in lower case, without full stops and apostrophes
	n, m   int
	offset int
}

// is reports whether a word is one of some small words.
func (w word) is(texts ...string) bool {
	return (w.class == classSmall || w.class == classAnd) && slices.Contains(texts, w.text)
}

// vocabulary returns the words that FromWords knows. Most programs never ask.
var vocabulary = sync.OnceValue(func() map[string]word {
	v := map[string]word{}
	add := func(c class, n int, texts string) {
		for text := range strings.FieldsSeq(texts) {
			v[text] = word{class: c, text: text, n: n}
		}
	}
	add(classSmall, 0, `every each a an per the on in of at from between to until till through thru past other half once twice thrice
		times x except but not am pm oclock sharp noon midday midnight work working business`)
	add(classAnd, 0, "and")
	for n, text := range numberWords {
		add(classNumber, n, text)
	}
	for text, n := range map[string]int{"eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90} {
		add(classNumber, n, text)
	}
	for n, text := range ordinalWords[1:] {
		add(classOrdinal, n+1, text)
	}
	add(classOrdinal, -1, "last final")
	for unit, texts := range []string{
		unitSecond: "sec secs seconds s", unitMinute: "minute minutes min mins m", unitHour: "hour hours hr hrs h", unitDay: "day days d",
		unitWeek: "week weeks wk wks w", unitMonth: "month months", unitQuarter: "quarter quarters", unitYear: "year years yr yrs",
	} {
		add(classUnit, unit, texts)
	}
	for unit, texts := range []string{
		unitMinute: "minutely", unitHour: "hourly", unitDay: "daily nightly", unitWeek: "weekly", unitMonth: "monthly", unitQuarter: "quarterly", unitYear: "yearly annually",
	} {
		add(classOften, unit, texts)
	}
	for day := range 7 {
		name := strings.ToLower(weekdayWord(day))
		add(classWeekday, 1<<day, name+" "+name+"s "+name[:3])
	}
	for short, day := range map[string]time.Weekday{"tues": time.Tuesday, "weds": time.Wednesday, "thur": time.Thursday, "thurs": time.Thursday} {
		add(classWeekday, 1<<day, short)
	}
	add(classWeekday, workdays, "weekday weekdays workday workdays")
	add(classWeekday, weekend, "weekend weekends")
	for m := 1; m <= 12; m++ {
		name := strings.ToLower(monthWord(m))
		add(classMonth, m, name+" "+name[:3])
	}
	add(classMonth, 9, "sept")
	for i, d := range partsOfDay {
		add(classPart, i, d.name+" "+d.name+"s")
	}
	return v
})

// wordOf returns what a sequence of letters, full stops and apostrophes is.
func wordOf(text string) word {
	text = strings.ToLower(strings.NewReplacer(".", "", "'", "", "’", "").Replace(text))
	if w, ok := vocabulary()[text]; ok {
		return w
	}
	return word{text: text}
}

// split returns the words of a phrase.
func split(text string) ([]word, *Error) {
	var words []word
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		w := word{offset: i}
		switch {
		case unicode.IsSpace(r) || r == '.' && strings.TrimSpace(text[i+1:]) == "":
			i += size
			continue
		case unicode.IsLetter(r):
			size = len(wordForm.FindString(text[i:]))
			w = wordOf(text[i : i+size])
			w.offset = i
		case isDigit(text[i]) || r == ':' && i+1 < len(text) && isDigit(text[i+1]):
			var err *Error
			if w, size, err = splitNumber(part{text[i:], i}); err != nil {
				return nil, err
			}
		case strings.ContainsRune(",;&+", r):
			w.class, w.text = classAnd, string(r)
		case strings.ContainsRune("-–—", r):
			w.class, w.text = classDash, "-"
		case r == '@':
			w.class, w.text = classSmall, "at"
		case r == '/' && len(words) > 0 && words[len(words)-1].class == classUnknown:
			return nil, part{text[i:], words[len(words)-1].offset}.fail("schedule", "a phrase has no time zone: leave it out and choose the time zone of the check")
		default:
			return nil, part{text[i:], i}.fail("schedule", "%s is not understood%s", quote(text[i:i+size]), writeWords)
		}
		words = append(words, w)
		i += size
	}
	return words, nil
}

// splitNumber reads a number, an ordinal number or a time of day at the beginning of a text.
func splitNumber(p part) (w word, size int, err *Error) {
	text := p.text
	digits := func(from int) int {
		end := from
		for end < len(text) && isDigit(text[end]) {
			end++
		}
		return end
	}
	end := digits(0)
	if end > 4 {
		return w, 0, p.fail("schedule", "%s is not understood: it has too many digits", quote(text[:end]))
	}
	w = word{class: classNumber, text: text[:end], offset: p.offset}
	w.n, _ = strconv.Atoi(text[:end])
	if end == 0 {
		w.n = -1
	}
	if end == len(text) {
		return w, end, nil
	}
	next := digits(end + 1)
	after := text[end+1 : next]
	switch sign := text[end]; {
	case sign == '/' && after != "":
		return w, 0, p.fail("schedule", "%s may be a day and a month or the reverse: write the month by its name, such as %s", quote(text[:next]), `"1 March"`)
	case sign == ':' && len(after) == 2 && w.n < 60:
		w.class = classClock
		w.m, _ = strconv.Atoi(after)
	case sign == ':':
		return w, 0, p.fail("schedule", "%s is not a time of day: write it like 7:30", quote(text[:max(next, end+1)]))
	case sign == '.' && after != "":
		w.class = classDecimal
	default:
		suffix := wordForm.FindString(text[end:])
		if s := strings.ToLower(suffix); s == "st" || s == "nd" || s == "rd" || s == "th" {
			end += len(suffix)
			w.class, w.text = classOrdinal, strings.ToLower(text[:end])
		}
		return w, end, nil
	}
	w.text = text[:next]
	return w, next, nil
}
