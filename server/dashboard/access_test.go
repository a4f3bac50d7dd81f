package dashboard_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/people"
	"github.com/rollcall-dev/rollcall/server/dashboard"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts/passkey"
)

// pageAccess is who may open a page of a site with accounts.
type pageAccess int

const (
	everybody pageAccess = iota // also who is not signed in
	signedIn                    // people and keys
	lookers                     // of the project, by role or key
	editors
	owners  // and admin keys
	members // owners, and no keys
	persons // everybody with an account
	admins  // administrators of the installation
)

// accessTable has a row for every page. Every new page needs one.
var accessTable = map[string]pageAccess{
	"GET ": everybody, "GET /": signedIn, "GET /signin": everybody, "POST /signin": everybody, "GET /signin/{link}": everybody, "POST /signin/{link}": everybody,
	"GET /signin/{link}/callback": everybody, "POST /signout": everybody,

	"GET /projects": signedIn, "POST /projects": admins,
	"GET /account": persons, "POST /account": persons, "POST /account/password": persons, "GET /account/totp": persons, "POST /account/totp": persons,
	"POST /account/totp/remove": persons, "POST /account/sessions": persons,
	"GET /account/passkeys": persons, "POST /account/passkeys": persons, "POST /account/passkeys/options": persons, "POST /account/passkeys/delete": persons,
	"GET /people": admins, "POST /people": admins, "GET /people/{person}": admins, "POST /people/{person}": admins,
	"GET /people/{person}/delete": admins, "POST /people/{person}/delete": admins,
	"GET /projects/{project}/members": members, "POST /projects/{project}/members": members, "GET /projects/{project}/members/{person}/remove": members,
	"POST /projects/{project}/members/{person}/remove": members, "POST /projects/{project}/members/{person}/role": members,
	"GET /projects/{project}/keys": owners, "POST /projects/{project}/keys": owners, "GET /projects/{project}/keys/{key}/revoke": owners,
	"POST /projects/{project}/keys/{key}/revoke": owners, "POST /projects/{project}/settings": owners, "GET /projects/{project}/delete": owners, "POST /projects/{project}/delete": owners,
}

// accessOf returns what a page needs. By default, pages of projects and checks are for those who may look, but those that change something, or
// lead to that, are for editors.
func accessOf(pattern string) (pageAccess, bool) {
	if access, ok := accessTable[pattern]; ok {
		return access, true
	}
	method, path, _ := strings.Cut(pattern, " ")
	if !strings.HasPrefix(path, "/projects/{project}/") && !strings.HasPrefix(path, "/checks/{check}") {
		return 0, false
	}
	for _, edit := range []string{"/checks/new", "/edit", "/undo", "/delete", "/integrations/", "/import", "/export", "/bulk", "/status/{page}", "/retry", "/pause", "/resume", "/copy", "/rehearse", "/preview", "/transfer"} {
		if strings.Contains(path, edit) {
			return editors, true
		}
	}
	if method == "GET" {
		return lookers, true
	}
	return editors, true
}

// TestPageAccess sends a request for every page as everybody. Whom a page is not for gets 403 or 404, or is asked to sign in.
func TestPageAccess(t *testing.T) {
	keys, err := passkey.New("http://localhost")
	noError(t, err)
	v, _ := configured(t, newSite(t), accounts.Config{KeySignIn: true, Passkeys: keys, Header: "Remote-Email"})
	c := v.create(checks.Spec{Name: new("backup")})
	other, otherKeys, err := v.mon.Projects().Create(t.Context(), projectSpec("other"))
	noError(t, err)
	v.person("root@example.org", "")
	for _, role := range []people.Role{people.Viewer, people.Editor, people.Owner} {
		v.person(string(role)+"@example.org", role)
	}
	_, link, err := v.people.Create(t.Context(), people.Spec{Email: "stranger@example.org", Roles: map[uuid.UUID]people.Role{other.ID: people.Owner}})
	noError(t, err)
	_, err = v.people.UseLink(t.Context(), link.Token, "", "", password)
	noError(t, err)
	victim := v.person("victim@example.org", people.Viewer)

	who := map[string]struct {
		browser *browser
		may     []pageAccess
	}{
		"nobody":         {v.browser(), nil},
		"foreign key":    {v.signedIn(otherKeys.ReadWrite), []pageAccess{signedIn}},
		"read-only key":  {v.signedIn(v.keys.ReadOnly), []pageAccess{signedIn, lookers}},
		"read-ids key":   {v.signedIn(v.key(checks.ReadIDs)), []pageAccess{signedIn, lookers}},
		"read-write key": {v.signedIn(v.keys.ReadWrite), []pageAccess{signedIn, lookers, editors}},
		"admin key":      {v.signedIn(v.key(checks.Admin)), []pageAccess{signedIn, lookers, editors, owners}},
		"stranger":       {v.as("stranger@example.org"), []pageAccess{signedIn, persons}},
		"viewer":         {v.as("viewer@example.org"), []pageAccess{signedIn, persons, lookers}},
		"editor":         {v.as("editor@example.org"), []pageAccess{signedIn, persons, lookers, editors}},
		"owner":          {v.as("owner@example.org"), []pageAccess{signedIn, persons, lookers, editors, owners, members}},
		"administrator":  {v.as("root@example.org"), []pageAccess{signedIn, persons, lookers, editors, owners, members, admins}},
	}
	fill := strings.NewReplacer("{project}", v.project.ID.String(), "{check}", c.UniqueKey(), "{person}", victim.ID.String(), "{key}", uuid.NewString(), "{n}", "1",
		"{link}", "none", "{page}", "new", "{channel}", "new", "{integration}", "new", "{delivery}", "1")
	for _, pattern := range dashboard.Patterns(v.pages) {
		need, ok := accessOf(pattern)
		if !ok {
			t.Errorf("the page %s has no row in accessTable", pattern)
			continue
		}
		method, path, _ := strings.Cut(fill.Replace(pattern), " ")
		if need == everybody || strings.HasSuffix(path, "/events") {
			continue
		}
		for name, w := range who {
			var form url.Values
			if method == http.MethodPost {
				form = url.Values{"back": {"/"}} // nothing that any of them takes
			}
			if may := slices.Contains(w.may, need); may && (method == http.MethodPost || strings.HasSuffix(path, "/callback")) {
				continue // what it does has tests of its own
			} else if a := w.browser.send(method, path, form); !may {
				refused := a.status == http.StatusForbidden || a.status == http.StatusNotFound || a.status == http.StatusUnauthorized ||
					a.status == http.StatusSeeOther && strings.Contains(a.header.Get("Location"), "/signin")
				if !refused || strings.Contains(a.body, "victim@") {
					t.Errorf("%s as %s: status %d, %s", pattern, name, a.status, a.header.Get("Location"))
				}
			} else if a.status == http.StatusForbidden || a.status == http.StatusUnauthorized || a.status >= 500 || strings.Contains(a.header.Get("Location"), "/signin") {
				t.Errorf("%s as %s: status %d, %s", pattern, name, a.status, a.header.Get("Location"))
			}
		}
	}
}
