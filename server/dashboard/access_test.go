package dashboard_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts/passkey"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
	"github.com/rollcall-dev/rollcall/server/people"
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
	"POST /projects/{project}/view": lookers, // keeps a filter in their own browser
	"GET /account":                  persons, "POST /account": persons, "POST /account/password": persons, "GET /account/totp": persons, "POST /account/totp": persons,
	"POST /account/totp/remove": persons, "POST /account/sessions": persons,
	"GET /account/passkeys": persons, "POST /account/passkeys": persons, "POST /account/passkeys/options": persons, "POST /account/passkeys/delete": persons,
	"GET /people": admins, "POST /people": admins, "GET /people/{person}": admins, "POST /people/{person}": admins,
	"GET /people/{person}/delete": admins, "POST /people/{person}/delete": admins,
	"GET /projects/{project}/members": members, "POST /projects/{project}/members": members, "GET /projects/{project}/members/{person}/remove": members,
	"POST /projects/{project}/members/{person}/remove": members, "POST /projects/{project}/members/{person}/role": members,
	"GET /projects/{project}/keys": owners, "POST /projects/{project}/keys": owners, "GET /projects/{project}/keys/{key}/revoke": owners,
	"GET /projects/{project}/ping-key": owners, "POST /projects/{project}/ping-key": owners,
	"POST /projects/{project}/keys/{key}/revoke": owners, "POST /projects/{project}/settings": owners, "POST /projects/{project}/grouping": owners, "POST /projects/{project}/escalation": owners,
	"GET /projects/{project}/delete": owners, "POST /projects/{project}/delete": owners,
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
	for _, edit := range []string{"/checks/new", "/edit", "/undo", "/delete", "/integrations/", "/import", "/export", "/bulk", "/status/{page}", "/retry", "/pause", "/resume", "/acknowledge", "/unacknowledge", "/copy", "/rehearse", "/preview", "/transfer"} {
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
	pagetest.NoError(t, err)
	v := pagetest.New(t).Town(accounts.Config{KeySignIn: true, Passkeys: keys, Header: "Remote-Email"})
	c := v.Create(checks.Spec{Name: new("backup")})
	other, otherKeys, err := v.Mon.Projects().Create(t.Context(), checks.ProjectSpec{Name: "other"})
	pagetest.NoError(t, err)
	v.Person("root@example.org", "")
	for _, role := range []people.Role{people.Viewer, people.Editor, people.Owner} {
		v.Person(string(role)+"@example.org", role)
	}
	_, link, err := v.People.Create(t.Context(), people.Spec{Email: "stranger@example.org", Roles: map[uuid.UUID]people.Role{other.ID: people.Owner}})
	pagetest.NoError(t, err)
	_, err = v.People.UseLink(t.Context(), link.Token, "", "", pagetest.Password)
	pagetest.NoError(t, err)
	victim := v.Person("victim@example.org", people.Viewer)

	who := map[string]struct {
		browser *pagetest.Browser
		may     []pageAccess
	}{
		"nobody":         {v.Browser(), nil},
		"foreign key":    {v.SignedIn(otherKeys.ReadWrite), []pageAccess{signedIn}},
		"read-only key":  {v.SignedIn(v.Keys.ReadOnly), []pageAccess{signedIn, lookers}},
		"read-ids key":   {v.SignedIn(v.Key(checks.ReadIDs)), []pageAccess{signedIn, lookers}},
		"read-write key": {v.SignedIn(v.Keys.ReadWrite), []pageAccess{signedIn, lookers, editors}},
		"admin key":      {v.SignedIn(v.Key(checks.Admin)), []pageAccess{signedIn, lookers, editors, owners}},
		"stranger":       {v.As("stranger@example.org"), []pageAccess{signedIn, persons}},
		"viewer":         {v.As("viewer@example.org"), []pageAccess{signedIn, persons, lookers}},
		"editor":         {v.As("editor@example.org"), []pageAccess{signedIn, persons, lookers, editors}},
		"owner":          {v.As("owner@example.org"), []pageAccess{signedIn, persons, lookers, editors, owners, members}},
		"administrator":  {v.As("root@example.org"), []pageAccess{signedIn, persons, lookers, editors, owners, members, admins}},
	}
	fill := strings.NewReplacer("{project}", v.Project.ID.String(), "{check}", c.UniqueKey(), "{person}", victim.ID.String(), "{key}", uuid.NewString(), "{n}", "1",
		"{link}", "none", "{page}", "new", "{channel}", "new", "{integration}", "new", "{delivery}", "1")
	for _, pattern := range dashboard.Patterns(v.Pages) {
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
			} else if a := w.browser.Send(method, path, form); !may {
				refused := a.Status == http.StatusForbidden || a.Status == http.StatusNotFound || a.Status == http.StatusUnauthorized ||
					a.Status == http.StatusSeeOther && strings.Contains(a.Header.Get("Location"), "/signin")
				if !refused || strings.Contains(a.Body, "victim@") {
					t.Errorf("%s as %s: status %d, %s", pattern, name, a.Status, a.Header.Get("Location"))
				}
			} else if a.Status == http.StatusForbidden || a.Status == http.StatusUnauthorized || a.Status >= 500 || strings.Contains(a.Header.Get("Location"), "/signin") {
				t.Errorf("%s as %s: status %d, %s", pattern, name, a.Status, a.Header.Get("Location"))
			}
		}
	}
}

// grantsOf are requests that give somebody a right or take it away, by what they need. Each call returns fresh ones.
func grantsOf(v *pagetest.Town, n int) map[pageAccess][]grant {
	v.T.Helper()
	fresh := func(role people.Role) string {
		n++
		p, _, err := v.People.Create(v.T.Context(), people.Spec{Email: fmt.Sprintf("fresh-%d@example.org", n), Roles: map[uuid.UUID]people.Role{v.Project.ID: role}})
		pagetest.NoError(v.T, err)
		return p.ID.String()
	}
	_, key, err := v.Mon.Project(v.Project.ID).CreateKey(v.T.Context(), checks.Admin)
	pagetest.NoError(v.T, err)
	name := fmt.Sprint("project ", n)
	grants := map[pageAccess][]grant{
		owners: {
			{v.Path("keys/" + key.ID.String() + "/revoke"), nil},
			{v.Path("settings"), url.Values{"name": {name + " renamed"}}},
		},
		members: {
			{v.Path("members/" + fresh(people.Viewer) + "/role"), url.Values{"role": {"owner"}}},
			{v.Path("members/" + fresh(people.Owner) + "/role"), url.Values{"role": {"viewer"}}},
			{v.Path("members/" + fresh(people.Owner) + "/remove"), nil},
		},
		admins: {
			{"/people", url.Values{"email": {fmt.Sprintf("admin-%d@example.org", n)}, "admin": {"1"}}},
			{"/people/" + fresh(people.Viewer), url.Values{"do": {"admin"}}},
			{"/projects", url.Values{"name": {name}}},
		},
	}
	for _, scope := range checks.Scopes() {
		grants[owners] = append(grants[owners], grant{v.Path("keys"), url.Values{"kind": {string(scope)}}})
	}
	for _, role := range []people.Role{people.Viewer, people.Editor, people.Owner} {
		grants[members] = append(grants[members], grant{v.Path("members"), url.Values{"email": {fmt.Sprintf("%s-%d@example.org", role, n)}, "role": {string(role)}}})
	}
	return grants
}

// grant is a POST.
type grant struct {
	path string
	form url.Values
}

// asked are actions that need a recent sign-in although they are for everybody with an account.
var asked = []string{"POST /account/sessions", "POST /account/passkeys/delete"}

// provesItself are actions of an account that need the password, or a passkey that was just created with it.
var provesItself = []string{"POST /account/password", "POST /account/totp", "POST /account/totp/remove", "POST /account/passkeys", "POST /account/passkeys/options"}

// TestRecentSignIn: what only owners and administrators may do, and what ends sessions and passkeys, asks everybody whose sign-in is older
// than 15 minutes. Other actions ask nobody.
func TestRecentSignIn(t *testing.T) {
	keys, err := passkey.New("http://localhost")
	pagetest.NoError(t, err)
	v := pagetest.New(t).Town(accounts.Config{KeySignIn: true, Passkeys: keys})
	c := v.Create(checks.Spec{Name: new("backup")})
	v.Person("root@example.org", "")
	victim := v.Person("victim@example.org", people.Viewer)
	_, key, err := v.Mon.Project(v.Project.ID).CreateKey(t.Context(), checks.ReadOnly)
	pagetest.NoError(t, err)
	root, admin := v.As("root@example.org"), v.Owner()
	fill := strings.NewReplacer("{project}", v.Project.ID.String(), "{check}", c.UniqueKey(), "{person}", victim.ID.String(), "{key}", key.ID.String(), "{page}", "new", "{channel}", "new", "{window}", uuid.NewString(), "{part}", "times")
	form := url.Values{
		"kind": {"read-only"}, "name": {"backups"}, "email": {victim.Email}, "role": {"owner"}, "do": {"admin"}, "id": {"others"},
	}
	v.Advance(15*time.Minute - time.Second)
	root.Get(v.Path("keys")).Is(http.StatusOK)
	root.Post(v.Path("keys"), url.Values{"kind": {"read-only"}}).Is(http.StatusOK).Has("Your new")
	v.Advance(time.Second)
	before := rights(v)
	for _, b := range map[string]*pagetest.Browser{"person": root, "key": admin} {
		b.Get(v.Path("keys")).Is(http.StatusForbidden).Has("Confirm it’s you").HasNo(v.Project.PingKey, key.Hint)
		b.Get(v.Path("settings")).Is(http.StatusOK)
	}
	for _, pattern := range dashboard.Patterns(v.Pages) {
		method, path, _ := strings.Cut(fill.Replace(pattern), " ")
		need, _ := accessOf(pattern)
		if method != http.MethodPost || need == everybody || slices.Contains(provesItself, pattern) {
			continue
		}
		must := need == owners || need == members || need == admins || slices.Contains(asked, pattern)
		for name, b := range map[string]*pagetest.Browser{"person": root, "key": admin} {
			if name == "key" && need != owners && must {
				continue // which gets 403 in any case
			}
			a := b.Post(path, form)
			asks := a.Status == http.StatusForbidden && strings.Contains(a.Body, "Confirm it’s you")
			if asks != must {
				t.Errorf("%s of a %s: status %d, asks %t, want %t", pattern, name, a.Status, asks, must)
			}
			if must && strings.Contains(a.Body, `value="read-only"`) {
				t.Errorf("%s: the page that asks has what was typed in the clear", pattern)
			}
		}
	}
	if now := rights(v); now != before {
		t.Errorf("rights have changed from\n%s\nto\n%s", before, now)
	}
	// The API asks nobody, and neither does a program with its own sign-in.
	program := v.NewPages(func(c *pagetest.Config) {
		c.Authorize = func(*http.Request) (server.Access, error) {
			return server.Access{Name: "a user", Projects: []server.ProjectAccess{{ProjectID: v.Project.ID, Right: checks.Own}}}, nil
		}
	})
	v.Web.Config.Handler = program
	v.Browser().Post(v.Path("keys"), url.Values{"kind": {"read-only"}}).Is(http.StatusOK).Has("Your new")
}

// rights lists who has which right: projects, keys and people.
func rights(v *pagetest.Town) string {
	v.T.Helper()
	projects, err := v.Mon.Projects().List(v.T.Context())
	pagetest.NoError(v.T, err)
	keys, err := v.Mon.Project(v.Project.ID).Keys(v.T.Context())
	pagetest.NoError(v.T, err)
	known, err := v.People.List(v.T.Context())
	pagetest.NoError(v.T, err)
	var text strings.Builder
	for _, p := range projects {
		fmt.Fprintln(&text, p.Name)
	}
	for _, k := range keys {
		fmt.Fprintln(&text, k.ID, k.Scope)
	}
	for _, p := range known {
		fmt.Fprintln(&text, p.Email, p.Admin, p.Roles)
	}
	return text.String()
}

// TestGrants sends everything that grants or takes a right as a key of each scope, a person in each role, and a user of an
// embedding program with each right. Only who has the right themselves changes anything.
func TestGrants(t *testing.T) {
	v := pagetest.New(t).Town(accounts.Config{KeySignIn: true})
	program := v.NewPages(func(c *pagetest.Config) {
		c.Authorize = func(r *http.Request) (server.Access, error) {
			right, err := strconv.Atoi(r.Header.Get("Right"))
			return server.Access{Name: "a user", Projects: []server.ProjectAccess{{ProjectID: v.Project.ID, Right: checks.Right(right)}}}, err
		}
	})
	v.Web.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Right") != "" {
			program.ServeHTTP(w, r)
		} else {
			v.Pages.ServeHTTP(w, r)
		}
	})
	type actor struct {
		browser *pagetest.Browser
		may     []pageAccess
	}
	who := map[string]actor{}
	for _, scope := range checks.Scopes() {
		who["key "+string(scope)] = actor{browser: v.SignedIn(v.Key(scope))}
	}
	who["key admin"] = actor{who["key admin"].browser, []pageAccess{owners}}
	for role, may := range map[people.Role][]pageAccess{people.Viewer: nil, people.Editor: nil, people.Owner: {owners, members}, "": {owners, members, admins}} {
		email := "a-" + string(role) + "@example.org"
		v.Person(email, role)
		who["person "+string(role)] = actor{v.As(email), may}
	}
	for right, may := range map[checks.Right][]pageAccess{checks.None: nil, checks.Read: nil, checks.Edit: nil, checks.Own: {owners}, checks.Own + 1: nil} {
		b := v.Browser()
		b.Header.Set("Right", fmt.Sprint(right))
		who[fmt.Sprint("user with right ", right)] = actor{b, may}
	}
	n := 0
	for name, actor := range who {
		n += 100
		for need, list := range grantsOf(v, n) {
			for _, g := range list {
				before := rights(v)
				a := actor.browser.Send(http.MethodPost, g.path, g.form)
				may, changed := slices.Contains(actor.may, need), rights(v) != before
				if refused := a.Status == http.StatusForbidden || a.Status == http.StatusNotFound; may == refused || may != changed {
					t.Errorf("%s: POST %s %v: status %d, changed %t, want %t", name, g.path, g.form, a.Status, changed, may)
				}
			}
		}
	}
}
