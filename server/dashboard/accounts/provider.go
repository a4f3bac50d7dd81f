package accounts

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/session"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/people"
)

// Provider signs people in elsewhere, such as at a provider of OpenID Connect. The browser goes there from /signin/oidc and
// comes back to /signin/oidc/callback.
type Provider interface {
	// Name is what the button says after "Sign in with".
	Name() string
	// Begin returns the address that the browser goes to, and what Finish needs to know of the attempt, such as state, nonce
	// and verifier: at most 2 kB, which the browser keeps, encrypted. callback is the URL that the browser comes back to.
	Begin(ctx context.Context, callback string) (to string, kept []byte, err error)
	// Finish returns the person who has signed in. query is from the callback, and kept from Begin in the same browser, at most
	// ten minutes ago. An attempt arrives once. Errors are logged. Those with a method
	// Page() (status int, text string) say what the page shows.
	Finish(ctx context.Context, callback string, kept []byte, query url.Values) (people.External, error)
}

// providerAgain is a [Provider] that can make people sign in there again. The answer tells when they have: Finish refuses one of before.
type providerAgain interface {
	BeginAgain(ctx context.Context, callback string) (to string, kept []byte, err error)
}

const (
	attemptCookie = "rollcall_attempt"
	// attemptAge is how long signing in at a provider may take.
	attemptAge = 10 * time.Minute
)

// attempt is what the browser keeps while it is at the provider.
type attempt struct {
	Kept  []byte
	Next  string
	Until time.Time
	// Person is who signs in again, or nobody.
	Person uuid.UUID
}

func (a *Accounts) callback() string { return a.site.URL + "/signin/oidc/callback" }

// beginProvider leads to the provider.
func (a *Accounts) beginProvider(q *ui.Request) error {
	begun, begin := attempt{Next: ui.LocalPath(q.R.URL.Query().Get("next")), Until: q.Mon.Now().Add(attemptAge)}, a.Provider.Begin
	if again, ok := a.Provider.(providerAgain); ok && q.R.URL.Query().Has("again") {
		current, err := a.sessions.Current(q.R)
		if err != nil {
			return err
		}
		begun.Person, begin = current.Person, again.BeginAgain
	}
	to, kept, err := begin(q.Ctx(), a.callback())
	if err != nil {
		return a.providerFailed(q, err)
	}
	begun.Kept = kept
	text, err := json.Marshal(begun)
	if err != nil {
		return err
	}
	hidden, err := q.Seals.Hide(q.Ctx(), "attempt", text)
	if err != nil {
		return err
	}
	q.Keep(q.W, attemptCookie, hidden, attemptAge)
	http.Redirect(q.W, q.R, to, http.StatusSeeOther)
	return nil
}

// finishProvider signs in the person that the provider names.
func (a *Accounts) finishProvider(q *ui.Request) error {
	if a.Provider == nil || q.R.PathValue("link") != "oidc" {
		return checks.ErrNotFound
	}
	begun, err := a.takeAttempt(q)
	if errors.Is(err, server.ErrSignedOut) {
		return a.sessions.AskToSignIn(q, http.StatusForbidden, session.SignIn{Problem: "Signing in took too long, ended before or began in another browser. Try again."})
	}
	if err != nil {
		return err
	}
	who, err := a.Provider.Finish(q.Ctx(), a.callback(), begun.Kept, q.R.URL.Query())
	if err != nil {
		return a.providerFailed(q, err)
	}
	who.Began = begun.Until.Add(-attemptAge)
	before, err := a.people.ByEmail(q.Ctx(), who.Email)
	if err != nil && !errors.Is(err, checks.ErrNotFound) {
		return err
	}
	person, err := a.people.SignInExternal(q.Ctx(), who)
	if errors.Is(err, people.ErrChanged) {
		return a.changedMeanwhile(q, session.SignIn{Next: begun.Next})
	}
	if errors.Is(err, people.ErrRefused) {
		return a.sessions.AskToSignIn(q, http.StatusForbidden, session.SignIn{Problem: a.whyRefused(who, err), Next: begun.Next})
	}
	if err != nil {
		return err
	}
	sayEnded(q, before, person)
	if who.HasRoles && person.Admin && !who.Admin {
		q.Notice("You are still an administrator, because there is no other. " + a.Provider.Name() + " does not give you that role: make someone else an administrator, or have it corrected there.")
	}
	if begun.Person != uuid.Nil && begun.Person != person.ID {
		return a.sessions.AskToSignIn(q, http.StatusForbidden, session.SignIn{Problem: "You signed in at " + a.Provider.Name() + " as somebody else. Sign in as yourself.", Next: begun.Next})
	}
	fresh := strong
	fresh.ProvedAt = q.Mon.Now().Add(-who.Age)
	return a.admit(q, person, fresh, session.SignIn{Next: begun.Next})
}

// whyRefused says why a person whom the provider knows has no account here.
func (a *Accounts) whyRefused(who people.External, err error) string {
	switch {
	case errors.Is(err, people.ErrAddress) && who.EmailVerified:
		return "Rollcall cannot use the e-mail address that " + a.Provider.Name() + " has for you. Ask an administrator."
	case errors.Is(err, people.ErrAddress):
		return a.Provider.Name() + " has not verified your e-mail address, and Rollcall cannot use it without that. Ask an administrator."
	case who.EmailVerified:
		return "The account with your e-mail address belongs to another account at " + a.Provider.Name() + ". Ask an administrator."
	}
	return "There is an account with your e-mail address already, and " + a.Provider.Name() + " has not verified that the address is yours. Ask an administrator."
}

// sayEnded tells a person who has signed in elsewhere for the first time that what was set up here before is gone.
func sayEnded(q *ui.Request, before, now people.Person) {
	had := before.HasPassword || before.HasTOTP || len(before.Passkeys) > 0
	if has := now.HasPassword || now.HasTOTP || len(now.Passkeys) > 0; had && !has && before.ID == now.ID {
		q.Notice("The password, app and passkeys that were set up here before have ended, because somebody else may have set them up.")
	}
}

// takeAttempt returns what the browser has kept, once in the whole installation: each attempt makes requests to the provider. The
// error is [server.ErrSignedOut] if it is gone.
func (a *Accounts) takeAttempt(q *ui.Request) (begun attempt, err error) {
	kept := q.Kept(q.R, attemptCookie)
	if kept == "" {
		return begun, server.ErrSignedOut
	}
	q.Keep(q.W, attemptCookie, "", -1)
	text, err := q.Seals.Reveal(q.Ctx(), "attempt", kept)
	if err != nil {
		return begun, err
	}
	if err := json.Unmarshal(text, &begun); err != nil || q.Mon.Now().After(begun.Until) {
		return begun, server.ErrSignedOut
	}
	first, err := a.people.Spend(q.Ctx(), string(begun.Kept), begun.Until)
	if err == nil && !first {
		err = server.ErrSignedOut
	}
	return begun, err
}

// providerFailed logs why the provider did not sign a person in, and says that it did not.
func (a *Accounts) providerFailed(q *ui.Request, err error) error {
	if q.Ctx().Err() != nil {
		return err
	}
	status, problem := http.StatusForbidden, a.Provider.Name()+" did not sign you in. Try again, or ask an administrator."
	if page, ok := errors.AsType[interface {
		error
		Page() (status int, text string)
	}](err); ok {
		status, problem = page.Page()
	}
	a.sessions.LogRefusal(q, "cannot sign in with the provider", err)
	return a.sessions.AskToSignIn(q, status, session.SignIn{Problem: problem})
}
