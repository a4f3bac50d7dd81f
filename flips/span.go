package flips

import (
	"slices"
	"time"
)

// Span is a stretch of time: Start <= t < End.
type Span struct{ Start, End time.Time }

// Join returns stretches of time in order, with those that overlap or touch made one. Empty ones are left out. It may change
// the list.
func Join(list []Span) []Span {
	slices.SortFunc(list, func(a, b Span) int { return a.Start.Compare(b.Start) })
	joined := list[:0]
	for _, s := range list {
		switch last := len(joined) - 1; {
		case !s.Start.Before(s.End):
		case last >= 0 && !s.Start.After(joined[last].End):
			if s.End.After(joined[last].End) {
				joined[last].End = s.End
			}
		default:
			joined = append(joined, s)
		}
	}
	return joined
}
