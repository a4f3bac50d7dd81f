package browsertest_test

import (
	"testing"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/browsertest"
	"github.com/rollcall-dev/rollcall/server/people"
)

// TestRefused sends each form with something wrong in it, from a phone, with and without scripts. What is wrong is in view and
// has the focus, a link leads from it to the field, and what was typed stays.
func TestRefused(t *testing.T) {
	t.Parallel()
	s := newTown(t)
	s.person("ann@example.org", "")
	bob := s.person("bob@example.org", people.Editor)
	_, _, err := s.mon.Projects().Create(t.Context(), checks.ProjectSpec{Name: "taken"})
	s.must(err)
	_, err = s.mon.Project(s.project.ID).CreateStatusPage(t.Context(), checks.StatusPage{Slug: "taken", Title: "Taken"})
	s.must(err)
	check := "/checks/" + s.create(checks.Spec{Name: new("backup"), Tags: []string{"prod"}}).UniqueKey()

	for _, script := range []bool{true, false} {
		page := s.as("ann@example.org")
		if !script {
			page.NoScript()
		}
		page.Tolerate("status of 4")
		page.Resize(phone)
		for _, form := range []struct{ path, field, typed, send string }{
			{s.path("checks/new"), "grace", "soon", "#edit .primary"},
			{check + "/edit", "grace", "soon", "#edit .primary"},
			{check + "/edit", "quiet_hours", "sometimes", "#edit .primary"},
			{s.path("integrations/new?kind=webhook"), "s-url_down", "nowhere", "#integration .primary"},
			{s.path("integrations/new?kind=email"), "s-to", "nobody", "#integration button[value=test]"},
			{s.path("status/new"), "slug", "taken", "#statusform .primary"},
			{s.path("settings"), "name", "taken", "form:has(#name) .btn"},
			{s.path("delete"), "name", "another", ".danger"},
			{s.path("import"), "url", "http://example.org", "form:has(#url) .primary"},
			{s.path("members"), "email", "bob@example.org", "form:has(#email) .primary"},
			{"/projects", "name", "taken", "form:has(#name) .primary"},
			{"/people", "email", "bob@example.org", "form:has(#email) .primary"},
			{"/people/" + bob.ID.String() + "/delete", "email", "ann@example.org", ".danger"},
			{"/account", "zone", "Mars/Phobos", "form:has(#zone) .primary"},
			{"/account", "old", "wrong", "form:has(#old) .btn"},
		} {
			browsertest.Eval[any](page, "document.querySelectorAll('form').forEach(f => f.remove())") // so that the test can leave
			page.Go(form.path)
			browsertest.Eval[any](page, `document.querySelectorAll("details").forEach(d => d.open ||= d.contains(document.getElementById(`+browsertest.Quote(form.field)+`))),
				document.querySelectorAll("main form :required").forEach(e => e.value ||= e.type == "radio" ? "all" : "wrong battery horse"),
				document.querySelectorAll("#use input[value=all], #scope-all").forEach(e => e.checked = true), 0`)
			page.Type("#"+form.field, form.typed)
			page.Click(form.send)
			page.Wait("document.activeElement?.id == 'problems'")
			at := browsertest.Quote("#problems a[href='#" + form.field + "']")
			if page.Count("#problems a[href='#"+form.field+"']") != 1 {
				t.Errorf("script %v, %s: no link of %q leads to %s", script, form.path, page.Text("#problems"), form.field)
				continue
			}
			if !page.InView("#problems") {
				t.Errorf("script %v, %s: what is wrong is out of sight", script, form.path)
			}
			browsertest.Eval[any](page, "document.querySelector("+at+").click(), 0")
			page.Wait("location.hash == " + browsertest.Quote("#"+form.field))
			if f := page.Focused(); !browsertest.Eval[bool](page, "document.activeElement.id == "+browsertest.Quote(form.field)) {
				t.Errorf("script %v, %s: the link leads to %v", script, form.path, f)
			}
			if !browsertest.Eval[bool](page, "document.activeElement.matches('[aria-invalid=true]')") {
				t.Errorf("script %v, %s: %s is not marked", script, form.path, form.field)
			}
			secret := browsertest.Eval[bool](page, "document.activeElement.matches('[type=password], .masked')") // comes back encrypted, or not at all
			if got := value(page, "#"+form.field); got != form.typed && !(secret && !script) {
				t.Errorf("script %v, %s: %s has %q", script, form.path, form.field, got)
			}
		}
	}
}
