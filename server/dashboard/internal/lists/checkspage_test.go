package lists_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
)

func TestEmptyList(t *testing.T) {
	s := pagetest.New(t)
	s.SignedIn(s.Keys.ReadWrite).Get(s.Path("")).Is(http.StatusOK).Has("No checks yet", "Create your first check")
	s.SignedIn(s.Keys.ReadOnly).Get(s.Path("")).Is(http.StatusOK).Has("No checks yet").HasNo("Create your first check")
}

// TestPageBeyond asks for pages after the last one, which a list has lost since a link to it was drawn.
func TestPageBeyond(t *testing.T) {
	s := pagetest.New(t)
	b := s.SignedIn(s.Keys.ReadOnly)
	b.Get(s.Path("?page=2")).Is(http.StatusOK).Has("No checks yet")
	for i := range 81 {
		s.Create(checks.Spec{Name: new(fmt.Sprintf("job %02d", i))})
	}
	for _, page := range []string{"2", "3", "500", "999999"} {
		b.Get(s.Path("?page="+page)).Is(http.StatusOK).Has(">job 80<", "81–81 of 81", "?page=1").HasNo(">job 79<")
		b.Get(s.Path("?all=1&page="+page)).Is(http.StatusOK).Has(">job 00<", ">job 80<")
		b.Get(s.Path("?q=nothing&page=" + page)).Is(http.StatusOK).Has("No matches")
	}
}

func TestList(t *testing.T) {
	s := pagetest.New(t)
	ping := func(c checks.Check, kind pings.Kind) {
		t.Helper()
		s.Ping(c, pings.Signal{Kind: kind})
	}
	up := s.Create(checks.Spec{Name: new("backup"), Slug: new("nightly"), Tags: []string{"prod", "db"}, Schedule: new("0 3 * * *"), TZ: new("Europe/Riga")})
	late := s.Create(checks.Spec{Name: new("export"), Tags: []string{"prod"}, Timeout: new(time.Hour), Grace: new(time.Hour)})
	down := s.Create(checks.Spec{Name: new("mail"), Timeout: new(24 * time.Hour)})
	s.Create(checks.Spec{Name: new("fresh")})
	paused := s.Create(checks.Spec{Name: new("legacy")})
	ping(up, pings.Success)
	ping(late, pings.Success)
	ping(down, pings.Failure)
	if _, err := s.Mon.Project(paused.ProjectID).Pause(t.Context(), paused.ID); err != nil {
		t.Fatal(err)
	}
	s.Advance(90 * time.Minute)
	b := s.SignedIn(s.Keys.ReadWrite)
	b.Get(s.Path("")).Is(http.StatusOK).Has("<title>1 down · Checks · backups · Rollcall</title>", "icon-down.svg", "at 03:00 every day, in Europe/Riga",
		"every hour", "every day", "1 h ago", "in 11 h", "due <time", "30 min ago", "<b>1</b> late", "<b>1</b> paused")
	b.Get(s.Path("?state=late")).Has(">export<").HasNo(">backup<", ">mail<")
	b.Get(s.Path("?tag=db")).Has(">backup<").HasNo(">export<")
	b.Get(s.Path("?q=NIGHT+prod")).Has(">backup<").HasNo(">export<")
	b.Get(s.Path("?q=nothing")).Has("No matches")

	form := url.Values{"action": {"tag"}, "tag": {"new-tag prod"}, "check": {up.ID.String(), late.ID.String()}}
	b.Post(s.Path("bulk?state=up"), form).Is(http.StatusSeeOther)
	b.Get(s.Path("")).Has("Tagged 2 checks.", "new-tag")
	b.Get(s.Path("")).HasNo("Tagged 2 checks.")
	b.Post(s.Path("bulk"), url.Values{"action": {"pause"}, "check": {up.ID.String()}}).Is(http.StatusSeeOther)
	b.Get(s.Path("?state=paused")).Has(">backup<")
	b.Post(s.Path("bulk"), url.Values{"action": {"resume"}, "check": {up.ID.String(), late.ID.String()}}).Is(http.StatusSeeOther)
	b.Get(s.Path("?state=new")).Has(">backup<")
	b.Post(s.Path("bulk"), url.Values{"action": {"delete"}, "check": {up.ID.String()}}).Is(http.StatusOK).Has("Delete 1 check?", ">backup<")
	b.Get(s.Path("")).Has(">backup<")
	b.Post(s.Path("bulk/delete"), url.Values{"check": {up.ID.String()}}).Is(http.StatusSeeOther)
	b.Get(s.Path("")).HasNo(">backup<")
	b.Post(s.Path("bulk"), url.Values{"action": {"explode"}, "check": {late.ID.String()}}).Is(http.StatusBadRequest)
	b.Post(s.Path("bulk"), url.Values{"action": {"pause"}, "check": {"x"}}).Is(http.StatusBadRequest)
	b.Post(s.Path("bulk"), url.Values{"action": {"tag"}, "tag": {"x\x00"}, "check": {late.ID.String()}}).Is(http.StatusBadRequest)
}
