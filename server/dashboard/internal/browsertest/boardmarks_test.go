package browsertest_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/browsertest"
)

// mark is what the browser draws in a lane of the board, in hours of the axis.
type mark struct {
	Kind       string
	From, Till float64
}

// marks returns the marks of a lane by their places on the screen.
func marks(page *browsertest.Page, c checks.Check) []mark {
	return browsertest.Eval[[]mark](page, fmt.Sprintf(`[...document.querySelectorAll("#l-%s svg.line > g.m")].map(g => {
		const line = g.parentNode.getBoundingClientRect(), box = (g.querySelector("rect.bar, circle, line") ?? g).getBoundingClientRect()
		const hours = x => 48 * (x - line.left) / line.width
		return { Kind: g.classList[1], From: hours(box.left), Till: hours(box.right) }
	})`, c.UniqueKey()))
}

// TestBoardMarks compares the board with known runs. Its axis begins 24 hours before now, and ends 24 hours after.
func TestBoardMarks(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	daily := func(name string, hour int, grace time.Duration) checks.Check {
		return s.create(checks.Spec{Name: &name, Schedule: new(fmt.Sprintf("0 %d * * *", hour)), TZ: new("UTC"), Grace: &grace})
	}
	ran, broke, missing := daily("etl", 18, 4*time.Hour), daily("export", 22, time.Hour), daily("backup", 23, time.Hour)
	running := daily("index", 4, 8*time.Hour)
	s.ping(missing.ID, pings.Success) // 12:00
	s.advance(6 * time.Hour)
	s.ping(ran.ID, pings.Start) // 18:00
	s.advance(2 * time.Hour)
	s.ping(ran.ID, pings.Success) // 20:00
	s.advance(2 * time.Hour)
	s.ping(broke.ID, pings.Failure) // 22:00
	s.advance(6 * time.Hour)
	s.ping(running.ID, pings.Start) // 04:00
	s.advance(2 * time.Hour)        // 06:00
	page := s.browser(s.keys.ReadWrite)
	page.Go(s.path("board"))
	for _, test := range []struct {
		c    checks.Check
		want []mark
	}{
		{ran, []mark{{"run", 12, 14}, {"expected", 36, 36}}},
		{broke, []mark{{"failed", 16, 16}, {"expected", 40, 40}}},
		{missing, []mark{{"run", 6, 6}, {"missed", 17, 24}, {"expected", 41, 41}}},
		{running, []mark{{"running", 22, 24}, {"expected", 46, 46}}},
	} {
		got := marks(page, test.c)
		if len(got) != len(test.want) {
			t.Errorf("%s: the marks are %v, want %v", test.c.Name, got, test.want)
			continue
		}
		for i, want := range test.want {
			// A mark is at least some pixels wide, and a ring has its time in the middle.
			const hours = 0.4
			if got[i].Kind != want.Kind || math.Abs(got[i].From-want.From) > hours || math.Abs(got[i].Till-want.Till) > hours {
				t.Errorf("%s: mark %d is %v, want %v", test.c.Name, i+1, got[i], want)
			}
		}
	}

	// It follows what happens.
	stay(page)
	s.ping(missing.ID, pings.Success)
	page.Wait(fmt.Sprintf("document.querySelectorAll('#l-%s g.run').length == 2", missing.UniqueKey()))
	stayed(t, page)
}
