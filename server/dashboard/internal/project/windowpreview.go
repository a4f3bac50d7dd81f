package project

import (
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
)

// windowPreview says what a window would cover, and when.
type windowPreview struct {
	Covered int
	Names   []string     // of the first checks that it covers
	Times   []flips.Span // that are running or come next
	Repeats bool         // there are more
	Zone    *time.Location
	// Near are the covered checks that the first of Times just misses, and Alike the tags of others that are nearly those chosen, with
	// the number of their checks.
	Near  []nearMiss
	Alike []tagChoice
}

// nearMiss is a check whose run is expected shortly after a window, or in it although the check goes down only after it.
type nearMiss struct {
	Name           string
	Expected, Down time.Time
	After          time.Duration // from the end of the window to Expected, or less than 0
}

// More counts the covered checks without a name.
func (p windowPreview) More() int { return p.Covered - len(p.Names) }

const (
	// namesPreviewed is how many checks a preview names, and timesPreviewed how many occurrences it has.
	namesPreviewed = 20
	timesPreviewed = 3
	// nearPreviewed is how many checks it names that a window misses, by at most nearBy.
	nearPreviewed, nearBy = 5, 15 * time.Minute
)

// previewWindow returns the preview of a window that was normalized.
func previewWindow(q *ui.Request, w gate.Window) (*windowPreview, error) {
	now := q.Mon.Now()
	p := &windowPreview{Zone: q.Clock().Zone}
	if zone, err := schedule.LoadLocation(w.TZ); w.Schedule != "" && err == nil {
		p.Zone = zone
	}
	if until, in := w.At(now); in {
		p.Times = append(p.Times, flips.Span{Start: now, End: until})
	}
	for at := now; ; {
		start, end, ok := w.Next(at)
		if p.Repeats = ok && len(p.Times) == timesPreviewed; !ok || p.Repeats {
			break
		}
		p.Times, at = append(p.Times, flips.Span{Start: start, End: end}), start
	}
	for c, err := range q.Mon.Project(q.Project.ID).EachCheck(q.Ctx(), checks.Query{}) {
		if err != nil {
			return nil, err
		}
		if !w.Covers(c.ID, c.TagList()) {
			p.addAlike(w.Tags, c.TagList())
			continue
		}
		p.addNear(*c.Check, now)
		if p.Covered++; len(p.Names) < namesPreviewed {
			p.Names = append(p.Names, ui.NameOf(*c.Check))
		}
	}
	return p, nil
}

// addNear adds a covered check if its first run from the start of the window on misses it by little.
func (p *windowPreview) addNear(c checks.Check, now time.Time) {
	if status := c.Status(now); len(p.Times) == 0 || len(p.Near) == nearPreviewed || status != checks.StatusUp && status != checks.StatusGrace {
		return
	}
	start, end := p.Times[0].Start, p.Times[0].End
	first := c.NextPing(now)
	if c.IsCron() && first.Before(start) {
		first = c.ExpectedAfter(start.Add(-time.Microsecond))
	}
	if first.IsZero() || first.Before(start) || first.Sub(end) > nearBy || !first.Add(c.Grace).After(end) {
		return
	}
	p.Near = append(p.Near, nearMiss{ui.NameOf(c), first, first.Add(c.Grace), first.Sub(end)})
}

// addAlike counts the tags of a check that is not covered which begin as a chosen one does, or the other way round.
func (p *windowPreview) addAlike(chosen, tags []string) {
	for _, tag := range tags {
		lower := strings.ToLower(tag)
		if !slices.ContainsFunc(chosen, func(c string) bool {
			c = strings.ToLower(c)
			return strings.HasPrefix(lower, c) || strings.HasPrefix(c, lower)
		}) {
			continue
		}
		i := slices.IndexFunc(p.Alike, func(a tagChoice) bool { return a.Tag == tag })
		if i < 0 && len(p.Alike) == nearPreviewed {
			continue
		}
		if i < 0 {
			i, p.Alike = len(p.Alike), append(p.Alike, tagChoice{Tag: tag})
		}
		p.Alike[i].Count++
	}
}
