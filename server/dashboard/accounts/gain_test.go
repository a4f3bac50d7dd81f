package accounts_test

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

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
	"github.com/rollcall-dev/rollcall/server/people"
)

// TestOwnerAndProxy is the same with a proxy that signs the person in.
func TestOwnerAndProxy(t *testing.T) {
	for _, prepare := range []bool{false, true} {
		v := proxied(t, "127.0.0.0/8")
		link := v.Invite("boss@example.org")
		var session *pagetest.Browser
		if prepare {
			session = v.Prepared(link)
		}
		boss := by(v, "boss@example.org")
		boss.Get(v.Path("")).Is(http.StatusOK)
		if page := boss.Get(v.Path("")).Is(http.StatusOK); strings.Contains(page.Body, "have ended, because somebody else") != prepare {
			t.Errorf("prepared %t: the page says the opposite of what has ended", prepare)
		}
		v.NothingOpens(link, "boss@example.org", session)
		boss.Get(v.Path("")).Is(http.StatusOK)
		known, err := v.People.ByEmail(t.Context(), "boss@example.org")
		pagetest.NoError(t, err)
		pagetest.NoError(t, v.People.SetAdmin(t.Context(), known.ID, true))
		boss.Get("/people").Is(http.StatusOK)
	}
}

// TestOwnersOfTwoProjects: who has invited an address to one project does not get what the owner of another project, or an
// administrator, gives the account.
func TestOwnersOfTwoProjects(t *testing.T) {
	for _, by := range []string{"owner", "administrator", "person"} {
		for _, prepare := range []bool{false, true} {
			var mails []string
			v := pagetest.NewTown(t)
			v.Serve(v.Accounts(accounts.Config{Mail: func(_ context.Context, to, _, text string) error {
				mails = append(mails, text)
				return nil
			}}))
			other, _, err := v.Mon.Projects().Create(t.Context(), checks.ProjectSpec{Name: "another"})
			pagetest.NoError(t, err)
			link := v.Invite("boss@example.org")
			var session *pagetest.Browser
			if prepare {
				session = v.Prepared(link)
			}
			known, err := v.People.ByEmail(t.Context(), "boss@example.org")
			pagetest.NoError(t, err)
			giver := v.Person("giver@example.org", people.Viewer)
			if by == "owner" {
				pagetest.NoError(t, v.People.SetRole(t.Context(), giver.ID, other.ID, people.Owner))
			} else {
				pagetest.NoError(t, v.People.SetAdmin(t.Context(), giver.ID, true))
			}
			b := v.As("giver@example.org")
			mails = nil
			members, form := "/projects/"+other.ID.String()+"/members", url.Values{"email": {"boss@example.org"}, "role": {"owner"}}
			fresh := ""
			switch by {
			case "owner": // does not see the link, which opens the first project too
				b.Post(members, form).Is(http.StatusSeeOther)
				b.Get(members).Is(http.StatusOK).Has("they get a new link by e-mail", "needs a new link").HasNo("/signin/")
				fresh = pagetest.LinkText.FindString(mails[0])
			case "administrator":
				fresh = b.Post(members, form).Is(http.StatusOK).Link()
			case "person":
				fresh = b.Post("/people/"+known.ID.String(), url.Values{"do": {"admin"}}).Is(http.StatusOK).Link()
			}
			if len(mails) != 1 || !strings.Contains(mails[0], fresh) {
				t.Errorf("%s: the mails are %q", by, mails)
			}
			v.NothingOpens(link, "boss@example.org", session)
			boss := v.Browser()
			boss.Post(fresh, url.Values{"password": {pagetest.Password}}).Is(http.StatusSeeOther)
			boss.Get(members).Is(http.StatusOK)
		}
	}
}

// TestRoleEndsNoSession: no owner signs somebody out, or ends their password, by changing a role.
func TestRoleEndsNoSession(t *testing.T) {
	v := pagetest.NewTown(t)
	v.Person("owner@example.org", people.Owner)
	bob := v.Person("bob@example.org", people.Viewer)
	owner, b := v.As("owner@example.org"), v.As("bob@example.org")
	for _, role := range []string{"owner", "viewer", "editor", "viewer"} {
		owner.Post(v.Path("members/"+bob.ID.String()+"/role"), url.Values{"role": {role}}).Is(http.StatusSeeOther)
		b.Get(v.Path("")).Is(http.StatusOK)
		want := http.StatusForbidden
		if role == "owner" {
			want = http.StatusOK
		}
		b.Get(v.Path("members")).Is(want) // the new role counts at once
	}
	owner.Post(v.Path("members/"+bob.ID.String()+"/remove"), nil).Is(http.StatusSeeOther)
	b.Get(v.Path("")).Is(http.StatusNotFound)
	owner.Post(v.Path("members"), url.Values{"email": {"bob@example.org"}, "role": {"viewer"}}).Is(http.StatusSeeOther)
	b.Get(v.Path("")).Is(http.StatusOK)
	v.As("bob@example.org")
}

// TestSignInWhileCredentialsChange: whatever a sign-in has done already when the password is reset, or all sessions end, it leaves no
// session behind.
func TestSignInWhileCredentialsChange(t *testing.T) {
	for name, change := range map[string]func(v *pagetest.Town, ann people.Person) error{
		"reset": func(v *pagetest.Town, ann people.Person) error {
			_, err := v.People.ResetPassword(v.T.Context(), ann.ID)
			return err
		},
		"factors": func(v *pagetest.Town, ann people.Person) error { return v.People.ResetMFA(v.T.Context(), ann.ID) },
		"sessions": func(v *pagetest.Town, ann people.Person) error {
			return v.People.EndSessions(v.T.Context(), ann.ID, "")
		},
	} {
		// The change comes before the nth transaction of the sign-in, until there is no such transaction.
		for n, came := 1, true; came; n++ {
			var v *pagetest.Town
			var run func()
			countdown := 0
			v = pagetest.NewTown(t, func(c *pagetest.Config) {
				c.Around = func(op string, do func() error) error {
					if op == "Update" && countdown > 0 {
						if countdown--; countdown == 0 {
							run()
						}
					}
					return do()
				}
			})
			ann := v.Person("ann@example.org", people.Owner)
			came = false
			run = func() { came = true; pagetest.NoError(t, change(v, ann)) }
			countdown = n
			b := v.Browser()
			answer := b.Post("/signin", pagetest.Credentials("ann@example.org"))
			if !came {
				countdown = 0
				answer.Is(http.StatusSeeOther)
				if n == 1 {
					t.Fatal("no transaction")
				}
				continue
			}
			answer.Is(http.StatusForbidden)
			b.Get(v.Path("")).Is(http.StatusSeeOther)
			if list, err := v.People.Sessions(t.Context(), ann.ID); err != nil || len(list) > 0 {
				t.Errorf("%s before transaction %d: there are sessions %+v, %v", name, n, list, err)
			}
		}
	}
}

// TestCodesBegunBefore: a page that has shown the secret of codes before the second factors were removed sets nothing up.
func TestCodesBegunBefore(t *testing.T) {
	v := pagetest.NewTown(t)
	ann := v.Person("ann@example.org", people.Owner)
	page := v.As("ann@example.org").Get("/account/totp").Is(http.StatusOK)
	secret := regexp.MustCompile(`id="totp-secret"[^>]*>([A-Z2-7 ]+)<`).FindStringSubmatch(page.Body)[1]
	kept := regexp.MustCompile(`name="kept" value="([^"]+)"`).FindStringSubmatch(page.Body)[1]
	pagetest.NoError(t, v.People.ResetMFA(t.Context(), ann.ID))
	code, err := totp.GenerateCode(strings.ReplaceAll(secret, " ", ""), v.Now())
	pagetest.NoError(t, err)
	to := v.As("ann@example.org").Post("/account/totp", url.Values{"kept": {kept}, "code": {code}, "password": {pagetest.Password}}).Is(http.StatusSeeOther).Header.Get("Location")
	if now, err := v.People.ByID(t.Context(), ann.ID); err != nil || now.HasTOTP || to != "/account/totp" {
		t.Errorf("led to %s: %+v, %v", to, now, err)
	}
}

// TestProblemInView: what is wrong with a form at the end of a page is in view, because the form has the focus.
func TestProblemInView(t *testing.T) {
	v := pagetest.NewTown(t)
	v.Person("root@example.org", "")
	b := v.As("root@example.org")
	for page, post := range map[string]string{"/people": "/people", "/projects": "/projects", v.Path("members"): v.Path("members"), "/account": "/account/password"} {
		b.Get(page).Is(http.StatusOK).HasNo(" autofocus")
		a := b.Post(post, url.Values{"email": {"nobody"}, "role": {"viewer"}, "name": {"*"}, "old": {pagetest.Password}, "password": {"short"}})
		if a.Has(`role="alert"`, " autofocus"); a.Status < 400 {
			t.Errorf("POST %s: status %d", post, a.Status)
		}
	}
}

// TestInvitationLimit: the owners of a project together, and an administrator, create links at a bounded pace.
func TestInvitationLimit(t *testing.T) {
	mails := 0
	v := pagetest.NewTown(t)
	v.Serve(v.Accounts(accounts.Config{Mail: func(context.Context, string, string, string) error { mails++; return nil }}))
	v.Person("ann@example.org", people.Owner)
	v.Person("bob@example.org", people.Owner)
	v.Person("root@example.org", "")
	invite := func(b *pagetest.Browser, path string, n int) *pagetest.Answer {
		return b.Post(path, url.Values{"email": {fmt.Sprintf("%s-%d@example.org", uuid.NewString()[:8], n)}, "role": {"viewer"}})
	}
	owners := []*pagetest.Browser{v.As("ann@example.org"), v.As("bob@example.org")}
	for i := range 20 {
		invite(owners[i%2], v.Path("members"), i).Is(http.StatusOK)
	}
	for _, b := range owners {
		a := invite(b, v.Path("members"), 20).Is(http.StatusTooManyRequests).Has("Too many invitations. Try again in 60 seconds.")
		if a.Header.Get("Retry-After") != "60" {
			t.Errorf("Retry-After %q", a.Header.Get("Retry-After"))
		}
	}
	v.Advance(time.Minute)
	invite(owners[0], v.Path("members"), 21).Is(http.StatusOK)
	invite(owners[1], v.Path("members"), 22).Is(http.StatusTooManyRequests)
	root := v.As("root@example.org")
	for i := range 19 {
		invite(root, "/people", i).Is(http.StatusOK)
	}
	known, err := v.People.ByEmail(t.Context(), "ann@example.org")
	pagetest.NoError(t, err)
	reset := url.Values{"do": {"password"}}
	root.Post("/people/"+known.ID.String(), reset).Is(http.StatusOK)
	root.Post("/people/"+known.ID.String(), reset).Is(http.StatusTooManyRequests).Has("Too many invitations")
	invite(root, "/people", 19).Is(http.StatusTooManyRequests)
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
	v := pagetest.New(t).Town(provider)
	other := v.NewPages(v.Accounts(provider))
	t.Cleanup(other.Close)
	b := v.Browser()
	b.Get("/signin/oidc").Is(http.StatusSeeOther)
	kept := b.Cookies()
	for i := range 40 {
		if i == 20 {
			v.Web.Config.Handler = other
		}
		b.SetCookies(kept)
		b.Get(fmt.Sprintf("/signin/oidc/callback?state=s&code=junk%d", i)).Is(http.StatusForbidden)
	}
	if asked != 1 {
		t.Errorf("the provider was asked %d times", asked)
	}
}

// TestHeaderNotInUTF8: addresses that are not UTF-8 name nobody. They would be one account.
func TestHeaderNotInUTF8(t *testing.T) {
	v := proxied(t, "127.0.0.0/8")
	v.Person("root@example.org", "")
	for _, email := range []string{"m\xfcller@example.org", "m\xf6ller@example.org", "m\ufffdller@example.org", "ann@example.org\xff",
		"Ann <ann@example.org>", "ann @example.org", "ann@example.org,bob@example.org", "a" + strings.Repeat("n", 254) + "@example.org"} {
		by(v, email).Get("/projects").Is(http.StatusSeeOther)
	}
	by(v, "müller@example.org").Get("/projects").Is(http.StatusOK)
	list, err := v.People.List(t.Context())
	pagetest.NoError(t, err)
	if len(list) != 2 || strings.Count(v.Log.String(), "in UTF-8") != 1 {
		t.Errorf("%d people, the log is %s", len(list), v.Log.String())
	}
}

// TestEndingSessionsIsAudited: the audit log says who ended whose sessions.
func TestEndingSessionsIsAudited(t *testing.T) {
	v := pagetest.NewTown(t)
	v.Person("root@example.org", "")
	ann := v.Person("ann@example.org", people.Viewer)
	b, root := v.As("ann@example.org"), v.As("root@example.org")
	v.As("ann@example.org")
	b.Post("/account/sessions", url.Values{"id": {"others"}}).Is(http.StatusSeeOther)
	list, err := v.People.Sessions(t.Context(), ann.ID)
	pagetest.NoError(t, err)
	b.Post("/account/sessions", url.Values{"id": {list[0].ID}}).Is(http.StatusSeeOther)
	root.Post("/people/"+ann.ID.String(), url.Values{"do": {"sessions"}}).Is(http.StatusSeeOther)
	entries, err := v.Mon.Installation().Audit(t.Context(), audit.Query{})
	pagetest.NoError(t, err)
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
