package lists

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
)

// stripHeight is the height of the strip of runs in the list.
const stripHeight = 16

// strip draws the last runs of a check: the height of a bar is the duration, and failures are red and marked by their
// full height. A bar of a run whose duration is not known has a middle height.
func strip(runs []checks.Run) template.HTML {
	if len(runs) == 0 {
		return ""
	}
	longest := runs[0].Duration
	failed := 0
	for _, r := range runs {
		longest = max(longest, r.Duration)
		if r.Result != checks.RunSuccess {
			failed++
		}
	}
	var good, bad strings.Builder
	for i, r := range runs {
		x := (checks.MaxRecent - len(runs) + i) * 6
		height := stripHeight / 2
		if r.Duration > 0 {
			height = 3 + int(float64(stripHeight-5)*float64(r.Duration)/float64(longest))
		}
		switch r.Result {
		case checks.RunSuccess:
			fmt.Fprintf(&good, "M%d 16v-%d", x+2, height)
		case checks.RunMissed:
			fmt.Fprintf(&bad, "M%d 16v-4m0-3v-2m0-3v-4", x+2) // a broken bar: nothing ran
		default:
			fmt.Fprintf(&bad, "M%d 16v-16", x+2)
		}
	}
	label := prose.Count(len(runs), "run")
	if failed > 0 {
		label += fmt.Sprintf(", %d failed or missed", failed)
	}
	out := `<svg class="strip" width="118" height="16" role="img" aria-label="Last ` + label + `">`
	if good.Len() > 0 {
		out += `<path class="ok" d="` + good.String() + `"/>`
	}
	if bad.Len() > 0 {
		out += `<path class="bad" d="` + bad.String() + `"/>`
	}
	return template.HTML(out + `</svg>`)
}
