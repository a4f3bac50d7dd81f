// Package badges makes the status badges of a project: small documents that
// show on a web page whether checks are well (API-V3.md section 2.5).
//
// A badge reduces the statuses of some checks to one [State]:
//
//	sum := badges.Summarize(slices.Values([]string{"up", "grace", "new"}))
//	sum.State(false) // badges.Up: two states, grace counts as up
//	sum.State(true)  // badges.Late: three states
//
// and shows it in one of three formats: an SVG picture, a JSON document, and a
// JSON document for the endpoint badge of Shields:
//
//	picture := badges.SVGDoc("backup", sum.State(true))
//	picture = badges.SVG.Document("backup", sum, true) // the same, by Format
//
// Badges are public to those who know their address, so the address of a badge
// is signed. A [Signer] makes the addresses of the badges of tags and reads them
// again:
//
//	signer, err := badges.NewSigner(secret)
//	path := signer.Path(badgeKey, "backup", badges.SVG, true)
//	ref, err := signer.Parse(request.URL.EscapedPath())
//
// A check has a badge of its own, the field badge_url of section 2.1, whose
// address holds a random key instead: [CheckPath] and [ParseCheckPath].
//
// The package does no input or output, and everything in it can be used by
// several goroutines at once.
package badges

import "iter"

// A State is what a badge shows.
type State string

const (
	// Up means that no check is down, and none is late where that is told.
	Up State = "up"
	// Late means that a check is in its grace period, and none is down. Only
	// badges of three states show it.
	Late State = "late"
	// Down means that a check is down.
	Down State = "down"
)

// A Summary counts checks.
type Summary struct {
	// Total is the number of all checks.
	Total int
	// Grace is the number of checks in their grace period.
	Grace int
	// Down is the number of checks that are down.
	Down int
}

// Summarize counts checks by their statuses, the words of API-V3.md section
// 2.1. Checks that are "new", "up" or "paused" count in Total only, and so would
// a word that section does not have.
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

// State reduces the checks to one state: [Down] when a check is down, otherwise
// [Late] when a check is in its grace period and the badge has three states, as
// late says, otherwise [Up]. A badge without checks is Up.
func (s Summary) State(late bool) State {
	switch {
	case s.Down > 0:
		return Down
	case s.Grace > 0 && late:
		return Late
	}
	return Up
}
