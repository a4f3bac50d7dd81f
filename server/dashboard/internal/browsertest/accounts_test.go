package browsertest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/google/uuid"
	"github.com/pquerna/otp/totp"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts/passkey"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/browsertest"
	"github.com/rollcall-dev/rollcall/server/people"
)

// password is that of everybody.
const password = "correct horse battery"

// person adds a person who has chosen the password; without a role, an administrator.
func (s *site) person(email string, role people.Role) people.Person {
	s.Helper()
	spec := people.Spec{Email: email, Admin: role == ""}
	if role != "" {
		spec.Roles = map[uuid.UUID]people.Role{s.project.ID: role}
	}
	_, link, err := s.people.Create(s.Context(), spec)
	s.must(err)
	p, err := s.people.UseLink(s.Context(), link.Token, "", "", password)
	s.must(err)
	return p
}

// signIn fills in the form of the page that a browser shows.
func signIn(page *browsertest.Page, email string) {
	page.Type("#email", email)
	page.Type("#password", password)
	page.Submit("form:has(#password) button")
}

// signInBehind is a script that signs in as in another tab, while the page stays as it is.
func signInBehind(email, password, code string) string {
	const send = "const send = (path, fields) => fetch(path, {method: 'POST', body: new URLSearchParams(fields)})"
	return fmt.Sprintf("(async () => { %s; await send('/signin', {email: %s, password: %s}); return (await send('/signin/code', {code: %s})).status })()",
		send, browsertest.Quote(email), browsertest.Quote(password), browsertest.Quote(code))
}

// as is a browser in which a person has signed in.
func (s *site) as(email string) *browsertest.Page {
	s.Helper()
	page := browsertest.Open(s.T, s.url)
	page.Go("/signin")
	signIn(page, email)
	return page
}

// code returns the code that an authenticator app shows for a secret.
func (s *site) code(secret string) string {
	s.Helper()
	text, err := totp.GenerateCode(strings.ReplaceAll(secret, " ", ""), s.clock.Now())
	s.must(err)
	return text
}

// setUpApp turns codes on for the person of a browser, and returns the secret.
func (s *site) setUpApp(page *browsertest.Page) string {
	s.Helper()
	page.Go("/account/totp")
	secret := page.Text("#totp-secret")
	page.Type("#code", s.code(secret))
	page.Type("#totp-password", password)
	page.Submit("main form .primary")
	page.WaitText("main", "Your recovery codes")
	s.advance(time.Minute)
	return secret
}

func TestSignInWithCode(t *testing.T) {
	t.Parallel()
	s := newTown(t)
	s.person("ann@example.org", people.Owner)
	page := s.as("ann@example.org")
	page.WaitText("h1", "Overview")
	secret := s.setUpApp(page)
	page.Click(".viewer summary")
	page.Submit(".viewer button")
	page.Tolerate("status of 403")
	page.Go(s.path("board"))
	page.WaitText("h1", "Sign in")
	signIn(page, "ann@example.org")
	page.WaitText("h1", "Enter your code")
	page.Type("#code", "000000")
	page.Submit("main .primary")
	page.WaitText("main", "wrong or was already used")
	page.Type("#code", s.code(secret))
	page.Submit("main .primary")
	if got, want := page.Path(), s.path("board"); got != want {
		t.Errorf("signing in led to %s, want %s", got, want)
	}
}

func TestInvitation(t *testing.T) {
	t.Parallel()
	s := newTown(t)
	s.person("ann@example.org", people.Owner)
	owner := s.as("ann@example.org")
	owner.Go(s.path("members"))
	owner.Type("#email", "bob@example.org")
	owner.Submit("form:has(#email) .primary")
	owner.WaitText(".fresh", "Invitation for bob@example.org")
	link := owner.Text("#fresh-link")

	bob := browsertest.Open(t, s.url)
	bob.Go(strings.TrimPrefix(link, s.url))
	bob.WaitText("main", "bob@example.org")
	bob.Type("#password", password)
	bob.Submit("main .primary")
	bob.WaitText("h1", "Overview")
	bob.WaitText("header", "read-only")
}

// TestRoleChange: an open page follows a change of the role of its viewer.
func TestRoleChange(t *testing.T) {
	t.Parallel()
	s := newTown(t)
	s.person("ann@example.org", people.Owner)
	bob := s.person("bob@example.org", people.Viewer)
	page := s.as("bob@example.org")
	page.Tolerate("status of 401")
	page.Go(s.path(""))
	page.WaitText("header", "read-only")
	s.must(s.people.SetRole(t.Context(), bob.ID, s.project.ID, people.Editor))
	page.WaitText("main", "New check") // in the same session
	if strings.Contains(page.Text("header"), "read-only") {
		t.Error("an editor is shown as a viewer")
	}
	s.must(s.people.SetRole(t.Context(), bob.ID, s.project.ID, people.Viewer))
	page.WaitText("header", "read-only")
}

// TestEndedElsewhere ends a session in the list of another browser: the open page goes to the page to sign in, and from there
// back to where it was.
func TestEndedElsewhere(t *testing.T) {
	t.Parallel()
	s := newTown(t)
	s.person("ann@example.org", people.Owner)
	page, other := s.as("ann@example.org"), s.as("ann@example.org")
	page.Tolerate("status of 401")
	page.Go(s.path("board"))
	other.Go("/account")
	if n := other.Count(".sessions tbody tr"); n != 2 {
		t.Fatalf("%d sessions are listed", n)
	}
	other.Submit(".sessions tbody tr:not(:has(.tag)) button")
	other.WaitText(".notice", "The session has ended.")
	page.WaitText("h1", "Sign in")
	signIn(page, "ann@example.org")
	if got, want := page.Path(), s.path("board"); got != want {
		t.Errorf("signing in led to %s, want %s", got, want)
	}
	other.Go("/account")
	other.WaitText("h1", "Your account")
}

// TestHalfTyped ends a session elsewhere while a form is half typed: it stays, and after signing in with password and code
// it is as it was.
func TestHalfTyped(t *testing.T) {
	t.Parallel()
	for _, script := range []bool{true, false} {
		t.Run(fmt.Sprint("script ", script), func(t *testing.T) {
			t.Parallel()
			s := newTown(t)
			ann := s.person("ann@example.org", people.Owner)
			page := s.as("ann@example.org")
			secret := s.setUpApp(page)
			page.Tolerate("status of 401", "status of 404")
			if !script {
				page.NoScript()
			}
			page.Go(s.path("checks/new"))
			page.Type("#name", "nightly-backup")
			s.must(s.people.EndSessions(t.Context(), ann.ID, ""))
			if script {
				page.WaitText("#gone", "Your session has ended")
				page.Click("#edit .actions .primary")
				page.WaitText("#edit .problem", "your session has ended")
				if got := value(page, "#name"); got != "nightly-backup" {
					t.Errorf("the name is %q", got)
				}
				browsertest.Eval[int](page, signInBehind("ann@example.org", password, s.code(secret)))
				page.Submit("#edit .actions .primary")
				page.WaitText("h1", "nightly-backup")
				return
			}
			page.Submit(".actions .primary")
			page.WaitText("main", "What you typed is not lost")
			signIn(page, "ann@example.org")
			page.Type("#code", s.code(secret))
			page.Submit("main .primary")
			page.WaitText("h1", "Signed in again")
			page.Submit("main .primary")
			page.WaitText("h1", "nightly-backup")
		})
	}
}

// TestMenus: a menu of the header closes on Escape, on a click outside, when the focus leaves, and when another one opens.
func TestMenus(t *testing.T) {
	t.Parallel()
	s := newTown(t)
	s.person("ann@example.org", people.Owner)
	page := s.as("ann@example.org")
	page.Go(s.path(""))
	page.Wait("document.querySelectorAll('details.menu').length > 1")
	const viewer, shut = "details.viewer[open]", "!document.querySelector('details.menu[open]')"
	open := func() {
		page.Click("details.viewer summary")
		page.Wait("document.querySelector('" + viewer + "')")
	}
	open()
	page.Press(kb.Escape)
	page.Wait(shut)
	page.Wait("document.activeElement.matches('details.viewer summary')")
	open()
	page.Press(kb.Tab)
	page.Press(kb.Escape) // within the menu
	page.Wait(shut)
	page.Wait("document.activeElement.matches('details.viewer summary')")
	open()
	page.Click("h1")
	page.Wait(shut)
	open()
	page.Click("details.menu:not(.viewer) summary")
	page.Wait("!document.querySelector('" + viewer + "') && document.querySelector('details.menu[open]')")
	page.Click("details.menu:not(.viewer) summary")
	page.Wait(shut)
	open()
	browsertest.Eval[any](page, "document.querySelector('main a').focus(), 0")
	page.Wait(shut)
}

// TestPreferences: a page speaks the zone and the clock of the person, and the theme.
func TestPreferences(t *testing.T) {
	t.Parallel()
	s := newTown(t)
	s.person("ann@example.org", people.Owner)
	c := s.create(checks.Spec{Name: new("backup"), Schedule: new("0 3 * * *"), TZ: new("Europe/Riga"), Grace: new(time.Hour)})
	s.ping(c.ID, pings.Success)
	page := s.as("ann@example.org")
	page.TimeZone("Asia/Tokyo")
	page.Go("/checks/" + c.UniqueKey())
	page.WaitText("footer", "Times in Asia/Tokyo")
	page.Go("/account")
	page.Type("#zone", "America/New_York")
	browsertest.Eval[any](page, "document.querySelector('#clock').value = '12', document.querySelector('#theme').value = 'dark', 0")
	page.Submit("form:has(#zone) .primary")
	page.WaitText(".notice", "Saved")
	if got := browsertest.Eval[string](page, "getComputedStyle(document.documentElement).colorScheme"); got != "dark" {
		t.Errorf("the theme is %s", got)
	}
	page.Go("/checks/" + c.UniqueKey())
	page.WaitText("footer", "Times in America/New_York")
	page.WaitText("main", "7:00:00 am (2:00 pm Riga)")
}

// TestProjectsStayCurrent: the overview of all projects follows what happens in them, says when the connection is lost, and goes
// when the session ends. None of that is a visit.
func TestProjectsStayCurrent(t *testing.T) {
	t.Parallel()
	s := newTown(t)
	s.person("ann@example.org", "")
	c := s.create(checks.Spec{Name: new("nightly"), Timeout: new(time.Hour), Grace: new(time.Hour)})
	s.ping(c.ID, pings.Success)
	page := s.as("ann@example.org")
	page.Tolerate("net::ERR_")
	page.BeforeScripts("const every = setInterval; window.setInterval = (f, ms) => every(f, ms === 30000 ? 100 : ms)")
	page.Go("/projects")
	page.WaitText("main", "1 up")
	stay(page)
	s.ping(c.ID, pings.Failure)
	page.WaitText("main table", "1 down")
	page.WaitText("main table", "nightly")
	page.Wait("document.title.startsWith('1 down')")
	s.stop()
	page.WaitText("#offline", "Connection lost")
	s.start()
	s.ping(c.ID, pings.Success)
	page.WaitText("main table", "1 up")
	page.Wait("document.querySelector('#offline').hidden")
	stayed(t, page)
	s.clock.Advance(13 * time.Hour)
	page.WaitText("h1", "Sign in")
}

// TestPagesOfPeople visits every page of people; see TestEveryPage.
func TestPagesOfPeople(t *testing.T) {
	t.Parallel()
	s := newTown(t)
	s.fill()
	for _, name := range []string{"quiet harbor", hostile[:90], endless} {
		_, _, err := s.mon.Projects().Create(t.Context(), checks.ProjectSpec{Name: name})
		s.must(err)
	}
	bob := s.person("bob@example.org", people.Editor)
	s.must(s.people.SetName(t.Context(), bob.ID, endless))
	_, link, err := s.people.Create(t.Context(), people.Spec{Email: endless[:60] + "@example.org", Roles: map[uuid.UUID]people.Role{s.project.ID: people.Viewer}})
	s.must(err)
	ann := s.person(endless[:60]+"@example.net", "")
	s.must(s.people.SetName(t.Context(), ann.ID, endless))
	page := s.as(ann.Email)
	page.Go(s.path("board"))
	frameAlone(t, page)
	for _, path := range []string{
		"/projects", "/account", "/account/totp", s.path("members"), s.path("members/" + bob.ID.String() + "/remove"), s.path("settings"),
		"/people", "/people/" + bob.ID.String(), "/people/" + bob.ID.String() + "/delete", "/signin", "/signin/" + link.Token,
	} {
		inspect(t, page, path)
	}
}

// TestConfirmInBrowser creates a key with a last day an hour after signing in: the page that asks who it is holds what was chosen.
func TestConfirmInBrowser(t *testing.T) {
	t.Parallel()
	s := newTown(t)
	s.person("ann@example.org", "")
	page := s.as("ann@example.org")
	page.Tolerate("status of 403")
	page.Go(s.path("keys"))
	page.WaitText("h1", "Keys")
	browsertest.Eval[any](page, "expires.value = '2027-03-31'; document.querySelector('[value=read-ids]').click()")
	s.advance(time.Hour)
	page.Submit("form:has([value=read-ids]) button")
	page.WaitText("h1", "Confirm it’s you")
	page.Type("#confirm-password", "wrong")
	page.Submit("form:has(#confirm-password) button")
	page.WaitText("main", "The password is wrong.")
	page.Axe()
	page.Fits()
	page.Type("#confirm-password", password)
	page.Submit("form:has(#confirm-password) button")
	page.WaitText("main", "Your new read-ids key")
	page.WaitText("main", "31 Mar 2027")
	inspectHere(page)
	s.advance(time.Hour)
	page.Go(s.path("keys"))
	inspectHere(page)
	page.NoScript()
	page.Go(s.path("keys"))
	page.Type("#confirm-password", password)
	page.Submit("form:has(#confirm-password) button")
	page.WaitText("h1", "Keys")
}

// TestFactorInBrowser: who must have a second factor is led to set it up, and then goes on.
func TestFactorInBrowser(t *testing.T) {
	t.Parallel()
	keys, err := passkey.New("http://localhost")
	if err != nil {
		t.Fatal(err)
	}
	s := &site{T: t, store: dbtest.SQLite(t).Open(t), clock: dbtest.NewClock(noon), address: "127.0.0.1:0", host: "localhost", accounts: &accounts.Config{Passkeys: keys}, demand: people.OfAdmins}
	s.open()
	s.person("ann@example.org", "")
	page := s.as("ann@example.org")
	page.WaitText("h1", "Set up an authenticator app")
	inspectHere(page)
	page.Go("/account/passkeys")
	page.WaitText("main", "requires a second factor")
	inspectHere(page)
	s.setUpApp(page)
	page.Go("/projects")
	page.WaitText("h1", "Projects")
	page.Go("/account")
	page.WaitText("main", "the app stays on")
}

// inspectHere looks at the page that a browser shows on a desktop and on a phone, in both themes.
func inspectHere(page *browsertest.Page) {
	for _, dark := range []bool{false, true} {
		page.Dark(dark)
		for _, size := range []browsertest.Size{browsertest.Wide, browsertest.Narrow} {
			page.Resize(size)
			page.Fits()
			page.Targets()
			page.Axe()
		}
	}
	page.Resize(browsertest.Wide)
}
