package pagetest

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/server/people"
)

// LinkText matches the path of a link that sets a password, on a page or in a mail.
var LinkText = regexp.MustCompile(`/signin/[A-Za-z0-9_.-]{20,}`)

// Link returns the path of the link that a page shows.
func (a *Answer) Link() string {
	a.T.Helper()
	found := LinkText.FindString(a.Body)
	if found == "" {
		a.T.Fatalf("the page shows no link: %s", a.Body)
	}
	return found
}

// Invite lets an owner of the project invite an address as a viewer, and returns the link that the page shows.
func (v *Town) Invite(email string) (link string) {
	v.T.Helper()
	v.Person("owner@example.org", people.Owner)
	return v.As("owner@example.org").Post(v.Path("members"), url.Values{"email": {email}, "role": {"viewer"}}).Is(http.StatusOK).Link()
}

// Prepared is a browser in which somebody has used a link and set the password.
func (v *Town) Prepared(link string) *Browser {
	v.T.Helper()
	b := v.Browser()
	b.Post(link, url.Values{"password": {Password}}).Is(http.StatusSeeOther)
	b.Get(v.Path("")).Is(http.StatusOK)
	return b
}

// NothingOpens fails the test if a link, a password or a session still opens an account, or if the audit log does not say
// that they have ended.
func (v *Town) NothingOpens(link, email string, session *Browser) {
	v.T.Helper()
	v.Browser().Get(link).Is(http.StatusForbidden).Has("expired or was already used")
	v.Browser().Post(link, url.Values{"password": {Password + "!"}}).Is(http.StatusForbidden)
	v.Browser().Post("/signin", Credentials(email)).Is(http.StatusForbidden)
	if session != nil {
		session.Get("/people").Is(http.StatusSeeOther)
		session.Get(v.Path("")).Is(http.StatusSeeOther)
	}
	entries, err := v.Mon.Installation().Audit(v.T.Context(), audit.Query{})
	NoError(v.T, err)
	if text := fmt.Sprint(entries); !strings.Contains(text, "person.credentials") {
		v.T.Errorf("the audit log does not say what has ended: %s", text)
	}
}
