package schedule

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

var (
	numberWords  = [...]string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}
	ordinalWords = [...]string{"", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"}
)

// cardinal spells numbers up to ten, as is usual in running text.
func cardinal(n int) string {
	if n < len(numberWords) {
		return numberWords[n]
	}
	return strconv.Itoa(n)
}

// ordinal spells ordinal numbers up to ten.
func ordinal(n int) string {
	if n < len(ordinalWords) {
		return ordinalWords[n]
	}
	return nth(n)
}

// nth returns "1st", "2nd" and so on.
func nth(n int) string {
	suffix := "th"
	if n/10%10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.Itoa(n) + suffix
}

func theNth(n int) string { return "the " + nth(n) }

func monthWord(month int) string { return time.Month(month).String() }

func weekdayWord(day int) string { return time.Weekday(day).String() }

func hhmm(hour, minute int) string { return fmt.Sprintf("%02d:%02d", hour, minute) }

// plural returns "1 minute", "2 minutes" and so on.
func plural(n int, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return strconv.Itoa(n) + " " + unit + "s"
}

// everyUnit returns "every minute", "every two minutes" and so on.
func everyUnit(n int, unit string) string {
	if n == 1 {
		return "every " + unit
	}
	return "every " + cardinal(n) + " " + unit + "s"
}

// list joins items with commas, and the last one with word.
func list(items []string, word string) string {
	if len(items) < 2 {
		return strings.Join(items, "")
	}
	last := len(items) - 1
	return strings.Join(items[:last], ", ") + " " + word + " " + items[last]
}

// join puts the word between two texts unless one is empty.
func join(a, word, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + word + b
}

// words turns values into items of a list.
func words(values []int, word func(int) string) []string {
	items := make([]string, len(values))
	for i, v := range values {
		items[i] = word(v)
	}
	return items
}

// fromTo names the first and the last value, as in "from Monday to Friday".
func fromTo(values []int, word func(int) string) string {
	return "from " + word(values[0]) + " to " + word(values[len(values)-1])
}

// ranges names values, and combines runs of three or more into ranges.
func ranges(values []int, word func(int) string) []string {
	var items []string
	for _, run := range runs(values) {
		if isRun(run) {
			items = append(items, word(run[0])+" to "+word(run[len(run)-1]))
		} else {
			items = append(items, words(run, word)...)
		}
	}
	return items
}

// members returns the members of a set in ascending order.
func members(set uint64) []int {
	values := make([]int, 0, bits.OnesCount64(set))
	for ; set != 0; set &= set - 1 {
		values = append(values, bits.TrailingZeros64(set))
	}
	return values
}

// progression reports whether values are an arithmetic progression of at least two, and returns its step, or else 0.
func progression(values []int) (step int, ok bool) {
	if len(values) < 2 {
		return 0, false
	}
	step = values[1] - values[0]
	for i := 2; i < len(values); i++ {
		if values[i]-values[i-1] != step {
			return 0, false
		}
	}
	return step, true
}

// isCycle reports whether values are evenly spaced modulo the given number, as 5, 20, 35 and 50 are modulo 60.
func isCycle(values []int, modulo int) bool {
	step, ok := progression(values)
	return ok && step*len(values) == modulo
}

// isRun reports whether values are three or more consecutive numbers.
func isRun(values []int) bool {
	step, _ := progression(values)
	return step == 1 && len(values) > 2
}

// runs splits values into runs of consecutive numbers.
func runs(values []int) [][]int {
	var all [][]int
	start := 0
	for i := 1; i <= len(values); i++ {
		if i == len(values) || values[i] != values[i-1]+1 {
			all = append(all, values[start:i])
			start = i
		}
	}
	return all
}
