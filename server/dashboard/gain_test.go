package dashboard_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/pquerna/otp/totp"

	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/people"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/oidctest"
)

// invite lets an owner of the project invite an address as a viewer, and returns the link that the page shows.
func (v *town) invite(email string) (link string) {
	v.t.Helper()
	v.person("owner@example.org", people.Owner)
	return v.as("owner@example.org").post(v.path("members"), url.Values{"email": {email}, "role": {"viewer"}}).is(http.StatusOK).link()
}

// prepared is a browser in which somebody has used a link and set the password.
func (v *town) prepared(link string) *browser {
	v.t.Helper()
	b := v.browser()
	b.post(link, url.Values{"password": {password}}).is(http.StatusSeeOther)
	b.get(v.path("")).is(http.StatusOK)
	return b
}

// nothingOpens says if a link, a password or a session still opens an account.
func (v *town) nothingOpens(link, email string, session *browser) {
	v.t.Helper()
	v.browser().get(link).is(http.StatusForbidden).has("expired or was already used")
	v.browser().post(link, url.Values{"password": {password + "!"}}).is(http.StatusForbidden)
	v.browser().post("/signin", credentials(email)).is(http.StatusForbidden)
	if session != nil {
		session.get("/people").is(http.StatusSeeOther)
		session.get(v.path("")).is(http.StatusSeeOther)
	}
	entries, err := v.mon.Installation().Audit(v.t.Context(), audit.Query{})
	noError(v.t, err)
	if text := fmt.Sprint(entries); !strings.Contains(text, "person.credentials") {
		v.t.Errorf("the audit log does not say what has ended: %s", text)
	}
}

// TestOwnerAndProvider: an owner who has invited an address, or set its password by the link, does not get what the person has at
// the provider.
func TestOwnerAndProvider(t *testing.T) {
	for _, prepare := range []bool{false, true} {
		c := newCity(t, "groups:root=admin")
		c.idp.Set(oidctest.Person{Subject: "s-boss", Email: "boss@example.org", Name: "Boss", Groups: []string{"root"}})
		link := c.invite("Boss@example.org")
		var session *browser
		if prepare {
			session = c.prepared(link)
		}
		boss := c.browser()
		c.signIn(boss, "boss@example.org").is(http.StatusSeeOther)
		page := boss.get("/people").is(http.StatusOK)
		if told := strings.Contains(page.body, "have ended, because somebody else"); told != prepare {
			t.Errorf("prepared %t: the page says what has ended: %t", prepare, told)
		}
		c.nothingOpens(link, "boss@example.org", session)
		boss.get("/people").is(http.StatusOK)
		boss.get("/account").is(http.StatusOK)
	}
}

// TestOwnerAndProxy is the same with a proxy that signs the person in.
func TestOwnerAndProxy(t *testing.T) {
	for _, prepare := range []bool{false, true} {
		v, _ := proxied(t, "127.0.0.0/8")
		link := v.invite("boss@example.org")
		var session *browser
		if prepare {
			session = v.prepared(link)
		}
		boss := v.by("boss@example.org")
		boss.get(v.path("")).is(http.StatusOK)
		if page := boss.get(v.path("")).is(http.StatusOK); strings.Contains(page.body, "have ended, because somebody else") != prepare {
			t.Errorf("prepared %t: the page says the opposite of what has ended", prepare)
		}
		v.nothingOpens(link, "boss@example.org", session)
		boss.get(v.path("")).is(http.StatusOK)
		known, err := v.people.ByEmail(t.Context(), "boss@example.org")
		noError(t, err)
		noError(t, v.people.SetAdmin(t.Context(), known.ID, true))
		boss.get("/people").is(http.StatusOK)
	}
}

// TestOwnersOfTwoProjects: who has invited an address to one project does not get what the owner of another project, or an
// administrator, gives the account.
func TestOwnersOfTwoProjects(t *testing.T) {
	for _, by := range []string{"owner", "administrator", "person"} {
		for _, prepare := range []bool{false, true} {
			var mails []string
			v := newTown(t)
			v.web.Config.Handler = v.newPages(v.accounts(accounts.Config{Mail: func(_ context.Context, to, _, text string) error {
				mails = append(mails, text)
				return nil
			}}))
			other, _, err := v.mon.Projects().Create(t.Context(), projectSpec("another"))
			noError(t, err)
			link := v.invite("boss@example.org")
			var session *browser
			if prepare {
				session = v.prepared(link)
			}
			known, err := v.people.ByEmail(t.Context(), "boss@example.org")
			noError(t, err)
			giver := v.person("giver@example.org", people.Viewer)
			if by == "owner" {
				noError(t, v.people.SetRole(t.Context(), giver.ID, other.ID, people.Owner))
			} else {
				noError(t, v.people.SetAdmin(t.Context(), giver.ID, true))
			}
			b := v.as("giver@example.org")
			mails = nil
			members, form := "/projects/"+other.ID.String()+"/members", url.Values{"email": {"boss@example.org"}, "role": {"owner"}}
			fresh := ""
			switch by {
			case "owner": // does not see the link, which opens the first project too
				b.post(members, form).is(http.StatusSeeOther)
				b.get(members).is(http.StatusOK).has("they get a new link by e-mail", "needs a new link").hasNo("/signin/")
				fresh = linkText.FindString(mails[0])
			case "administrator":
				fresh = b.post(members, form).is(http.StatusOK).link()
			case "person":
				fresh = b.post("/people/"+known.ID.String(), url.Values{"do": {"admin"}}).is(http.StatusOK).link()
			}
			if len(mails) != 1 || !strings.Contains(mails[0], fresh) {
				t.Errorf("%s: the mails are %q", by, mails)
			}
			v.nothingOpens(link, "boss@example.org", session)
			boss := v.browser()
			boss.post(fresh, url.Values{"password": {password}}).is(http.StatusSeeOther)
			boss.get(members).is(http.StatusOK)
		}
	}
}

// TestRoleEndsNoSession: no owner signs somebody out, or ends their password, by changing a role.
func TestRoleEndsNoSession(t *testing.T) {
	v := newTown(t)
	v.person("owner@example.org", people.Owner)
	bob := v.person("bob@example.org", people.Viewer)
	owner, b := v.as("owner@example.org"), v.as("bob@example.org")
	for _, role := range []string{"owner", "viewer", "editor", "viewer"} {
		owner.post(v.path("members/"+bob.ID.String()+"/role"), url.Values{"role": {role}}).is(http.StatusSeeOther)
		b.get(v.path("")).is(http.StatusOK)
		want := http.StatusForbidden
		if role == "owner" {
			want = http.StatusOK
		}
		b.get(v.path("members")).is(want) // the new role counts at once
	}
	owner.post(v.path("members/"+bob.ID.String()+"/remove"), nil).is(http.StatusSeeOther)
	b.get(v.path("")).is(http.StatusNotFound)
	owner.post(v.path("members"), url.Values{"email": {"bob@example.org"}, "role": {"viewer"}}).is(http.StatusSeeOther)
	b.get(v.path("")).is(http.StatusOK)
	v.as("bob@example.org")
}

// TestSignInWhileCredentialsChange: whatever a sign-in has done already when the password is reset, or all sessions end, it leaves no
// session behind.
func TestSignInWhileCredentialsChange(t *testing.T) {
	for name, change := range map[string]func(v *town, ann people.Person) error{
		"reset": func(v *town, ann people.Person) error {
			_, err := v.people.ResetPassword(v.t.Context(), ann.ID)
			return err
		},
		"factors":  func(v *town, ann people.Person) error { return v.people.ResetMFA(v.t.Context(), ann.ID) },
		"sessions": func(v *town, ann people.Person) error { return v.people.EndSessions(v.t.Context(), ann.ID, "") },
	} {
		// The change comes before the nth transaction of the sign-in, until there is no such transaction.
		for n, came := 1, true; came; n++ {
			var v *town
			var run func()
			countdown := 0
			v = newTownOn(newSiteStored(t, func(op string, do func() error) error {
				if op == "Update" && countdown > 0 {
					if countdown--; countdown == 0 {
						run()
					}
				}
				return do()
			}))
			ann := v.person("ann@example.org", people.Owner)
			came = false
			run = func() { came = true; noError(t, change(v, ann)) }
			countdown = n
			b := v.browser()
			answer := b.post("/signin", credentials("ann@example.org"))
			if !came {
				countdown = 0
				answer.is(http.StatusSeeOther)
				if n == 1 {
					t.Fatal("no transaction")
				}
				continue
			}
			answer.is(http.StatusForbidden)
			b.get(v.path("")).is(http.StatusSeeOther)
			if list, err := v.people.Sessions(t.Context(), ann.ID); err != nil || len(list) > 0 {
				t.Errorf("%s before transaction %d: there are sessions %+v, %v", name, n, list, err)
			}
		}
	}
}

// TestAtProviderWhileSessionsEnd: a sign-in that is at the provider while all sessions end must begin anew.
func TestAtProviderWhileSessionsEnd(t *testing.T) {
	c := newCity(t)
	c.signIn(c.browser(), ann.Email).is(http.StatusSeeOther)
	known, err := c.people.ByEmail(t.Context(), ann.Email)
	noError(t, err)
	b := c.browser()
	begun := b.get("/signin/oidc").is(http.StatusSeeOther)
	c.advance(time.Second)
	noError(t, c.people.EndSessions(t.Context(), known.ID, ""))
	b.get(c.idp.SignIn(t, begun.header.Get("Location"), ann.Email).String()).is(http.StatusForbidden).has("Your account changed while you signed in")
	b.get("/account").is(http.StatusSeeOther)
	c.signIn(b, ann.Email).is(http.StatusSeeOther)
	b.get("/account").is(http.StatusOK)
}

// TestCodesBegunBefore: a page that has shown the secret of codes before the second factors were removed sets nothing up.
func TestCodesBegunBefore(t *testing.T) {
	v := newTown(t)
	ann := v.person("ann@example.org", people.Owner)
	page := v.as("ann@example.org").get("/account/totp").is(http.StatusOK)
	secret := regexp.MustCompile(`id="totp-secret"[^>]*>([A-Z2-7 ]+)<`).FindStringSubmatch(page.body)[1]
	kept := regexp.MustCompile(`name="kept" value="([^"]+)"`).FindStringSubmatch(page.body)[1]
	noError(t, v.people.ResetMFA(t.Context(), ann.ID))
	code, err := totp.GenerateCode(strings.ReplaceAll(secret, " ", ""), v.now())
	noError(t, err)
	to := v.as("ann@example.org").post("/account/totp", url.Values{"kept": {kept}, "code": {code}, "password": {password}}).is(http.StatusSeeOther).header.Get("Location")
	if now, err := v.people.ByID(t.Context(), ann.ID); err != nil || now.HasTOTP || to != "/account/totp" {
		t.Errorf("led to %s: %+v, %v", to, now, err)
	}
}

// TestProblemInView: what is wrong with a form at the end of a page is in view, because the form has the focus.
func TestProblemInView(t *testing.T) {
	v := newTown(t)
	v.person("root@example.org", "")
	b := v.as("root@example.org")
	for page, post := range map[string]string{"/people": "/people", "/projects": "/projects", v.path("members"): v.path("members"), "/account": "/account/password"} {
		b.get(page).is(http.StatusOK).hasNo(" autofocus")
		a := b.post(post, url.Values{"email": {"nobody"}, "role": {"viewer"}, "name": {"*"}, "old": {password}, "password": {"short"}})
		if a.has(`role="alert"`, " autofocus"); a.status < 400 {
			t.Errorf("POST %s: status %d", post, a.status)
		}
	}
}

// TestInvitationLimit: the owners of a project together, and an administrator, create links at a bounded pace.
func TestInvitationLimit(t *testing.T) {
	mails := 0
	v := newTown(t)
	v.web.Config.Handler = v.newPages(v.accounts(accounts.Config{Mail: func(context.Context, string, string, string) error { mails++; return nil }}))
	v.person("ann@example.org", people.Owner)
	v.person("bob@example.org", people.Owner)
	v.person("root@example.org", "")
	invite := func(b *browser, path string, n int) *answer {
		return b.post(path, url.Values{"email": {fmt.Sprintf("%s-%d@example.org", uuid.NewString()[:8], n)}, "role": {"viewer"}})
	}
	owners := []*browser{v.as("ann@example.org"), v.as("bob@example.org")}
	for i := range 20 {
		invite(owners[i%2], v.path("members"), i).is(http.StatusOK)
	}
	for _, b := range owners {
		a := invite(b, v.path("members"), 20).is(http.StatusTooManyRequests).has("Too many invitations. Try again in 60 seconds.")
		if a.header.Get("Retry-After") != "60" {
			t.Errorf("Retry-After %q", a.header.Get("Retry-After"))
		}
	}
	v.advance(time.Minute)
	invite(owners[0], v.path("members"), 21).is(http.StatusOK)
	invite(owners[1], v.path("members"), 22).is(http.StatusTooManyRequests)
	root := v.as("root@example.org")
	for i := range 19 {
		invite(root, "/people", i).is(http.StatusOK)
	}
	known, err := v.people.ByEmail(t.Context(), "ann@example.org")
	noError(t, err)
	reset := url.Values{"do": {"password"}}
	root.post("/people/"+known.ID.String(), reset).is(http.StatusOK)
	root.post("/people/"+known.ID.String(), reset).is(http.StatusTooManyRequests).has("Too many invitations")
	invite(root, "/people", 19).is(http.StatusTooManyRequests)
	if mails != 41 {
		t.Errorf("%d mails were sent", mails)
	}
}

// countingProvider counts how often it is asked.
type countingProvider struct {
	fakeProvider
	asked *int
}

func (p countingProvider) Finish(context.Context, string, []byte, url.Values) (people.External, error) {
	*p.asked++
	return people.External{}, errors.New("a junk code")
}

// TestAttemptOnce: one attempt makes requests to the provider once, however often its cookie comes back, and on any server.
func TestAttemptOnce(t *testing.T) {
	asked := 0
	provider := accounts.Config{Provider: countingProvider{asked: &asked}}
	v, _ := configured(t, newSite(t), provider)
	other := v.newPages(v.accounts(provider))
	t.Cleanup(other.Close)
	b := v.browser()
	b.get("/signin/oidc").is(http.StatusSeeOther)
	kept := b.cookies()
	for i := range 40 {
		if i == 20 {
			v.web.Config.Handler = other
		}
		b.setCookies(kept)
		b.get(fmt.Sprintf("/signin/oidc/callback?state=s&code=junk%d", i)).is(http.StatusForbidden)
	}
	if asked != 1 {
		t.Errorf("the provider was asked %d times", asked)
	}
}

// TestNamesOfProviders: no name that a provider sends keeps a person out.
func TestNamesOfProviders(t *testing.T) {
	c := newCity(t)
	for i, names := range [][2]string{
		{"علی\u200cرضا", "علی\u200cرضا"}, {"👨\u200d👩\u200d👧", "👨\u200d👩\u200d👧"}, {"क्\u200dष", "क्\u200dष"},
		{"An\u200dn", "Ann"}, {"Ann\u202e\u2066 Ops\x00\x1b[31m\u00ad\ufeff", "Ann Ops[31m"}, {" Ann\r\n\tOps \u200d", "Ann   Ops"},
		{strings.Repeat("ä", 101), strings.Repeat("ä", 100)}, {strings.Repeat("n", 5000), strings.Repeat("n", 100)},
		{strings.Repeat("👨\u200d", 60), strings.Repeat("👨\u200d", 49) + "👨"}, {"\u200b\u202e", ""}, {"A\u030a", "\u00c5"},
	} {
		email := fmt.Sprintf("p%d@example.org", i)
		c.idp.Set(oidctest.Person{Subject: email, Email: email, Name: names[0]})
		c.signIn(c.browser(), email).is(http.StatusSeeOther)
		known, err := c.people.ByEmail(t.Context(), email)
		noError(t, err)
		if known.Name != names[1] {
			t.Errorf("%q is stored as %q, want %q", names[0], known.Name, names[1])
		}
	}
	// What people type is refused, and what joins is none of it.
	known, err := c.people.ByEmail(t.Context(), "p0@example.org")
	noError(t, err)
	noError(t, c.people.SetName(t.Context(), known.ID, "علی\u200cرضا"))
	for _, name := range []string{"An\u200dn", "Ann\u202e", strings.Repeat("n", 101), "\xff"} {
		if c.people.SetName(t.Context(), known.ID, name) == nil {
			t.Errorf("%q is taken", name)
		}
	}
}

// TestHeaderNotInUTF8: addresses that are not UTF-8 name nobody. They would be one account.
func TestHeaderNotInUTF8(t *testing.T) {
	v, log := proxied(t, "127.0.0.0/8")
	v.person("root@example.org", "")
	for _, email := range []string{"m\xfcller@example.org", "m\xf6ller@example.org", "m\ufffdller@example.org", "ann@example.org\xff",
		"Ann <ann@example.org>", "ann @example.org", "ann@example.org,bob@example.org", "a" + strings.Repeat("n", 254) + "@example.org"} {
		v.by(email).get("/projects").is(http.StatusSeeOther)
	}
	v.by("müller@example.org").get("/projects").is(http.StatusOK)
	list, err := v.people.List(t.Context())
	noError(t, err)
	if len(list) != 2 || strings.Count(log.String(), "in UTF-8") != 1 {
		t.Errorf("%d people, the log is %s", len(list), log)
	}
}

// TestEndingSessionsIsAudited: the audit log says who ended whose sessions.
func TestEndingSessionsIsAudited(t *testing.T) {
	v := newTown(t)
	v.person("root@example.org", "")
	ann := v.person("ann@example.org", people.Viewer)
	b, root := v.as("ann@example.org"), v.as("root@example.org")
	v.as("ann@example.org")
	b.post("/account/sessions", url.Values{"id": {"others"}}).is(http.StatusSeeOther)
	list, err := v.people.Sessions(t.Context(), ann.ID)
	noError(t, err)
	b.post("/account/sessions", url.Values{"id": {list[0].ID}}).is(http.StatusSeeOther)
	root.post("/people/"+ann.ID.String(), url.Values{"do": {"sessions"}}).is(http.StatusSeeOther)
	entries, err := v.mon.Installation().Audit(t.Context(), audit.Query{})
	noError(t, err)
	var actors []string
	for _, e := range entries {
		if e.Action == "person.sessions" && e.Object == "ann@example.org" {
			actors = append(actors, e.Actor.Name)
		}
	}
	if got := strings.Join(actors, " "); got != "root@example.org ann@example.org ann@example.org" {
		t.Errorf("the audit log has %q: %+v", got, entries)
	}
}
