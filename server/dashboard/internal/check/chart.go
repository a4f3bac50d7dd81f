package check

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// chartRuns is how many runs the chart of durations shows at most.
const chartRuns = 100

// durationChart shows how long the last runs took.
type durationChart struct {
	SVG         template.HTML
	Runs        int
	Median, P95 string
	// From and To are when the first and the last of the runs ended.
	From, To string
	// Text says the same as the picture.
	Text string
}

type timedRun struct {
	at     time.Time
	took   time.Duration
	failed bool
}

// newDurationChart draws the durations in a log, which has the newest ping first.
func newDurationChart(log []pings.Ping, clock words.Clock) durationChart {
	var runs []timedRun
	for _, p := range log {
		if p.Duration != nil && len(runs) < chartRuns {
			runs = append(runs, timedRun{p.At, *p.Duration, p.Kind == pings.Failure})
		}
	}
	slices.Reverse(runs)
	chart := durationChart{Runs: len(runs)}
	if len(runs) < 2 {
		return chart
	}
	sorted := make([]time.Duration, len(runs))
	for i, r := range runs {
		sorted[i] = r.took
	}
	slices.Sort(sorted)
	quantile := func(q float64) time.Duration { return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)] }
	median, p95, top := quantile(.5), quantile(.95), max(sorted[len(sorted)-1], 10*time.Millisecond)
	chart.Median, chart.P95 = prose.Duration(median), prose.Duration(p95)
	chart.Text = fmt.Sprintf("Over the last %d runs: median %s, p95 %s, longest %s.",
		len(runs), chart.Median, chart.P95, prose.Duration(top))
	chart.From, chart.To = clock.Format(runs[0].at, "2 Jan 15:04"), clock.Format(runs[len(runs)-1].at, "2 Jan 15:04")
	chart.draw(runs, median, p95, top, clock)
	return chart
}

// draw draws runs, the oldest first.
func (chart *durationChart) draw(runs []timedRun, median, p95, top time.Duration, clock words.Clock) {
	const width, height, above, below = 560.0, 130.0, 8.0, 2.0
	x := func(i int) float64 { return 4 + (width-8)*float64(i)/float64(len(runs)-1) }
	y := func(d time.Duration) float64 { return height - below - (height-above-below)*float64(d)/float64(top) }
	var out strings.Builder
	fmt.Fprintf(&out, `<svg class="chart" viewBox="0 0 %.0f %.0f" role="img" aria-label="%s">`, width, height, template.HTMLEscapeString(chart.Text))
	fmt.Fprintf(&out, `<line class="base" x1="0" x2="%.0f" y1="%.1f" y2="%.1f"/>`, width, y(0), y(0))
	fmt.Fprintf(&out, `<line class="mark" x1="0" x2="%.0f" y1="%.1f" y2="%.1f"/>`, width, y(median), y(median))
	if p95 > median+top/12 {
		fmt.Fprintf(&out, `<line class="mark" x1="0" x2="%.0f" y1="%.1f" y2="%.1f"/>`, width, y(p95), y(p95))
	}
	points := make([]string, len(runs))
	for i, r := range runs {
		points[i] = fmt.Sprintf("%.1f,%.1f", x(i), y(r.took))
	}
	fmt.Fprintf(&out, `<polyline class="line" points="%s"/>`, strings.Join(points, " "))
	for i, r := range runs {
		title := clock.Format(r.at, "Mon 2 Jan 15:04") + ", " + prose.Duration(r.took)
		if r.failed {
			fmt.Fprintf(&out, `<path class="bad" d="M%.1f %.1fl5 9h-10z"><title>%s, failed</title></path>`, x(i), y(r.took)-5, title)
		} else {
			fmt.Fprintf(&out, `<circle class="dot" cx="%.1f" cy="%.1f" r="6"><title>%s</title></circle>`, x(i), y(r.took), title)
		}
	}
	out.WriteString("</svg>")
	chart.SVG = template.HTML(out.String())
}
