// Package badges makes the status badges of a project: small documents for web pages that show whether checks are well
// (section 2.5 of the [API]).
//
// A badge reduces the statuses of some checks to one [State]:
//
//	sum := badges.Summarize(slices.Values([]string{"up", "grace", "new"}))
//	sum.State(false) // badges.Up: with two states, grace counts as up
//	sum.State(true)  // badges.Late: with three states
//
// It comes in three formats: an SVG picture, a JSON document, and a JSON document for the endpoint badge of Shields:
//
//	picture := badges.RenderSVG("backup", sum.State(true))
//	picture = badges.SVG.Document("backup", sum, true) // the same, with the format as a variable
//
// Anyone who knows the address of a badge can see it, so addresses are signed. A [Signer] makes and reads the addresses
// of tag badges:
//
//	signer, err := badges.NewSigner(secret)
//	path := signer.Path(badgeKey, "backup", badges.SVG, true)
//	ref, err := signer.Parse(request.URL.EscapedPath())
//
// A single check has a badge too, the field badge_url of section 2.1. Its address holds a random key instead of a
// signature: [CheckPath] and [ParseCheckPath].
//
// The package does no input or output and is safe for concurrent use.
//
// [API]: https://github.com/rollcall-dev/rollcall/blob/main/server/API.md
package badges

import "iter"

// A State is what a badge shows.
type State string

const (
	// Up means that no check is down or, on a badge of three states, late.
	Up State = "up"
	// Late means that a check is in its grace period and none is down. Only badges of three states show it.
	Late State = "late"
	// Down means that a check is down.
	Down State = "down"
)

// A Summary counts checks.
type Summary struct {
	// Total counts all checks.
	Total int
	// Grace counts the checks in their grace period.
	Grace int
	// Down counts the checks that are down.
	Down int
}

// Summarize counts checks by status, in the words of section 2.1 of the API. A check that is "new", "up" or "paused", or
// has an unknown status, counts in Total only.
func Summarize[S ~string](statuses iter.Seq[S]) Summary {
	var sum Summary
	for status := range statuses {
		sum.Total++
		switch status {
		case "grace":
			sum.Grace++
		case "down":
			sum.Down++
		}
	}
	return sum
}

// State reduces the checks to one state: [Down] if a check is down, else [Late] if a check is in its grace period and
// late is true, else [Up]. Without checks it is Up. Badges of three states pass true.
func (s Summary) State(late bool) State {
	switch {
	case s.Down > 0:
		return Down
	case s.Grace > 0 && late:
		return Late
	}
	return Up
}
