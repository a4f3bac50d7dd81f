package prose

import (
	"iter"
	"strings"
)

// Similar returns the name that a text is most likely a slip of, or "" if none is close: the one with the fewest letters that are
// missing, too many, changed, or swapped with their neighbour, at most one in five or so. Case does not count, so a name that
// differs in nothing else is the first choice. Of equally similar names it is the first.
func Similar(text string, names iter.Seq[string]) (similar string) {
	typed := []rune(strings.ToLower(text))
	if len(typed) > maxSimilar {
		return ""
	}
	best := 2 + len(typed)/6 // a distance that is no longer similar
	if len(typed) < 4 {
		best = 1
	}
	for name := range names {
		known := []rune(strings.ToLower(name))
		if len(known)-len(typed) >= best || len(typed)-len(known) >= best || name == text {
			continue
		}
		if d := distance(typed, known); d < best {
			best, similar = d, name
		}
	}
	return similar
}

// maxSimilar bounds the characters of a text that is compared: its work grows with the square.
const maxSimilar = 200

// distance returns how many letters must be inserted, deleted, changed or swapped with their neighbour to turn a into b.
func distance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, letter := range a {
		before, last, row = last, row, before
		row[0] = i + 1
		for j, other := range b {
			change := last[j]
			if letter != other {
				change++
			}
			row[j+1] = min(change, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && letter == b[j-1] && a[i-1] == other {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
