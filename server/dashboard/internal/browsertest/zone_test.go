package browsertest_test

import (
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/browsertest"
)

// TestZones reads the page of a check in New York from Riga: every time on it is Riga's, with New York's beside. The first page
// after a link has signed in is no exception. Without scripts, the first time is UTC's.
func TestZones(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.create(checks.Spec{Name: new("backup"), Schedule: new("0 9 * * *"), TZ: new("America/New_York"), Channels: new("")})
	s.ping(c.ID, pings.Success)
	s.advance(35 * time.Minute)
	s.ping(c.ID, pings.Failure, "disk full")
	s.advance(24 * time.Hour)
	link := func() string {
		link, err := s.pages.SignInLink(t.Context(), s.keys.ReadWrite)
		s.must(err)
		return link
	}

	page := browsertest.Open(t, s.url)
	page.TimeZone("Europe/Riga")
	page.Go(link())
	page.WaitText(".foot", "Times in Europe/Riga")
	page.Go("/checks/" + c.UniqueKey())
	page.WaitText(".verdict", "yesterday 14:35 (07:35 New York)")
	for _, part := range []string{"#output .sum", "#events li:first-child", "#log tbody tr:first-child"} {
		page.WaitText(part, "22 Nov 2026 14:35:00 (07:35 New York)")
	}
	// A viewer who travels.
	page.TimeZone("America/Chicago")
	page.Go("/checks/" + c.UniqueKey())
	page.WaitText(".verdict", "yesterday 06:35 (07:35 New York)")

	page = browsertest.Open(t, s.url)
	page.NoScript()
	page.Go(link())
	page.Go("/checks/" + c.UniqueKey())
	page.WaitText(".verdict", "yesterday 12:35 (07:35 New York)")
	page.WaitText(".foot", "Times in UTC")
}
