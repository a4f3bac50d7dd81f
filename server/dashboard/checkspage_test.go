package dashboard_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
)

func projectSpec(name string) monitor.ProjectSpec { return monitor.ProjectSpec{Name: name} }

func TestEmptyList(t *testing.T) {
	s := newSite(t)
	s.signedIn(s.keys.ReadWrite).get(s.path("")).is(http.StatusOK).has("No checks yet", "Create your first check")
	s.signedIn(s.keys.ReadOnly).get(s.path("")).is(http.StatusOK).has("No checks yet").hasNo("Create your first check")
}

func TestList(t *testing.T) {
	s := newSite(t)
	ping := func(c checks.Check, kind pings.Kind) {
		t.Helper()
		if _, err := s.mon.Ping(t.Context(), c.ID, pings.Signal{Kind: kind}); err != nil {
			t.Fatal(err)
		}
	}
	up := s.create(checks.Spec{Name: new("backup"), Slug: new("nightly"), Tags: []string{"prod", "db"}, Schedule: new("0 3 * * *"), TZ: new("Europe/Riga")})
	late := s.create(checks.Spec{Name: new("export"), Tags: []string{"prod"}, Timeout: new(time.Hour), Grace: new(time.Hour)})
	down := s.create(checks.Spec{Name: new("mail"), Timeout: new(24 * time.Hour)})
	s.create(checks.Spec{Name: new("fresh")})
	paused := s.create(checks.Spec{Name: new("legacy")})
	ping(up, pings.Success)
	ping(late, pings.Success)
	ping(down, pings.Failure)
	if _, err := s.mon.Project(paused.ProjectID).Pause(t.Context(), paused.ID); err != nil {
		t.Fatal(err)
	}
	s.advance(90 * time.Minute)
	b := s.signedIn(s.keys.ReadWrite)
	b.get(s.path("")).is(http.StatusOK).has("<title>1 down · Checks · backups · Rollcall</title>", "icon-down.svg", "at 03:00 every day, in Europe/Riga",
		"every hour", "every day", "1 h ago", "in 11 h", "due <time", "30 min ago", "<b>1</b> late", "<b>1</b> paused")
	b.get(s.path("?state=late")).has(">export<").hasNo(">backup<", ">mail<")
	b.get(s.path("?tag=db")).has(">backup<").hasNo(">export<")
	b.get(s.path("?q=NIGHT+prod")).has(">backup<").hasNo(">export<")
	b.get(s.path("?q=nothing")).has("No matches")

	form := url.Values{"action": {"tag"}, "tag": {"new-tag prod"}, "check": {up.ID.String(), late.ID.String()}}
	b.post(s.path("bulk?state=up"), form).is(http.StatusSeeOther)
	b.get(s.path("")).has("Tagged 2 checks.", "new-tag")
	b.get(s.path("")).hasNo("Tagged 2 checks.")
	b.post(s.path("bulk"), url.Values{"action": {"pause"}, "check": {up.ID.String()}}).is(http.StatusSeeOther)
	b.get(s.path("?state=paused")).has(">backup<")
	b.post(s.path("bulk"), url.Values{"action": {"resume"}, "check": {up.ID.String(), late.ID.String()}}).is(http.StatusSeeOther)
	b.get(s.path("?state=new")).has(">backup<")
	b.post(s.path("bulk"), url.Values{"action": {"delete"}, "check": {up.ID.String()}}).is(http.StatusOK).has("Delete 1 check?", ">backup<")
	b.get(s.path("")).has(">backup<")
	b.post(s.path("bulk/delete"), url.Values{"check": {up.ID.String()}}).is(http.StatusSeeOther)
	b.get(s.path("")).hasNo(">backup<")
	b.post(s.path("bulk"), url.Values{"action": {"explode"}, "check": {late.ID.String()}}).is(http.StatusBadRequest)
	b.post(s.path("bulk"), url.Values{"action": {"pause"}, "check": {"x"}}).is(http.StatusBadRequest)
	b.post(s.path("bulk"), url.Values{"action": {"tag"}, "tag": {"x\x00"}, "check": {late.ID.String()}}).is(http.StatusBadRequest)
}
