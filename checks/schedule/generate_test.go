package schedule_test

import (
	"fmt"
	"strconv"
	"strings"

	"pgregory.net/rapid"
)

// genTerm draws a value, a range or a step of a field, where mark stands between the ends of a range.
func genTerm(t *rapid.T, mark string, lo, hi int) string {
	a := rapid.IntRange(lo, hi).Draw(t, "a")
	text := strconv.Itoa(a)
	if rapid.Bool().Draw(t, "padded") {
		text = fmt.Sprintf("%02d", a)
	}
	form := rapid.IntRange(0, 3).Draw(t, "form")
	if form&1 == 1 {
		text += mark + strconv.Itoa(rapid.IntRange(a, hi).Draw(t, "b"))
	}
	if form&2 == 2 {
		text += "/" + strconv.Itoa(rapid.IntRange(1, hi-lo+3).Draw(t, "step"))
	}
	return text
}

func genList(t *rapid.T, most int, term func() string) string {
	terms := make([]string, rapid.IntRange(1, most).Draw(t, "terms"))
	for i := range terms {
		terms[i] = term()
	}
	return strings.Join(terms, ",")
}

// genCronField draws a field; every third is a star.
func genCronField(t *rapid.T, lo, hi int, special ...string) string {
	if rapid.IntRange(0, 2).Draw(t, "star") == 0 {
		return "*"
	}
	return genList(t, 3, func() string {
		switch k := rapid.IntRange(0, 7+len(special)).Draw(t, "kind"); {
		case k == 0:
			return "*/" + strconv.Itoa(rapid.IntRange(1, hi+2).Draw(t, "step"))
		case k < 8:
			return genTerm(t, "-", lo, hi)
		default:
			return special[k-8]
		}
	})
}

// genCron draws a well-formed cron expression. None of its months may have its days.
func genCron(t *rapid.T) string {
	return strings.Join([]string{
		genCronField(t, 0, 59),
		genCronField(t, 0, 23),
		genCronField(t, 1, 31, "L", "LW", "l", "L/2"),
		genCronField(t, 1, 12, "JAN", "mar-OCT", "FEB/3"),
		genCronField(t, 0, 7, "SUN", "mon-FRI", "5L", "7l", "2#2", "FRI#5", "0#1"),
	}, " ")
}

func genCalendarField(t *rapid.T, lo, hi int) string {
	if rapid.IntRange(0, 2).Draw(t, "star") == 0 {
		return "*"
	}
	return genList(t, 3, func() string { return genTerm(t, "..", lo, hi) })
}

// genCalendarLine draws a valid OnCalendar line without zone.
func genCalendarLine(t *rapid.T) string {
	var parts []string
	if rapid.Bool().Draw(t, "weekdays") {
		names := []string{"Mon", "tuesday", "WED", "Thu", "fri", "Sat", "Sunday"}
		parts = append(parts, genList(t, 3, func() string {
			a := rapid.IntRange(0, 6).Draw(t, "weekday")
			b := rapid.IntRange(a, 6).Draw(t, "to")
			mark := rapid.SampledFrom([]string{"", "..", "-"}).Draw(t, "mark")
			if mark == "" {
				return names[a]
			}
			return names[a] + mark + names[b]
		}))
	}
	date := rapid.IntRange(0, 3).Draw(t, "date")
	if date > 0 {
		text := genCalendarField(t, 1, 12)
		if date == 3 {
			text += "~" + genList(t, 3, func() string { return genTerm(t, "..", 1, 28) })
		} else {
			text += "-" + genCalendarField(t, 1, 31)
		}
		if rapid.Bool().Draw(t, "year") {
			text = genCalendarField(t, 2000, 2040) + "-" + text
		}
		parts = append(parts, text)
	}
	if date == 0 || rapid.Bool().Draw(t, "clock") {
		text := genCalendarField(t, 0, 23) + ":" + genCalendarField(t, 0, 59)
		if rapid.IntRange(0, 4).Draw(t, "seconds") == 0 {
			text += ":" + genTerm(t, "..", 0, 59)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}
