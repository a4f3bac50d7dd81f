package accounts

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/people"
)

// factorPages are the only pages of a person who must set up a second factor first.
var factorPages = []string{
	"/account/totp", "/account/passkeys", "/account/passkeys/options",
}

// prover is the [ui.Prover] of accounts.
type prover struct{ *Accounts }

// ConfirmWays says how a person, or the holder of a key, can prove who they are.
func (a prover) ConfirmWays(q *ui.Request, page *ui.Confirmation) error {
	if q.Access.Person == nil {
		return a.sessions.ConfirmWays(q, page)
	}
	person, err := a.account(q)
	if err != nil {
		return err
	}
	page.Email, page.Password, page.Code = person.Email, person.HasPassword, person.HasTOTP
	page.Passkey = a.Passkeys != nil && len(person.Passkeys) > 0
	if _, ok := a.Provider.(providerAgain); ok && person.Issuer != "" {
		page.Provider = a.Provider.Name()
	}
	return nil
}

// Confirm verifies a password, a code or a passkey of the person who sends a request.
func (a prover) Confirm(q *ui.Request, given url.Values) (problem string, status int, err error) {
	if q.Access.Person == nil {
		return a.sessions.Confirm(q, given)
	}
	person, err := a.account(q)
	if err != nil {
		return "", 0, err
	}
	way, wrong := given.Get("confirm"), "The password is wrong."
	switch way {
	case "password":
		person, err = a.people.ConfirmPassword(q.Ctx(), person.ID, given.Get("confirm-password"))
	case "code":
		wrong = "This code is wrong or was already used."
		err = a.people.CheckCode(q.Ctx(), person.ID, strings.ReplaceAll(given.Get("confirm-code"), " ", ""), q.Address(q.R), a.device(q.R))
	case "passkey":
		wrong = "This passkey was not accepted. Try again, or confirm in another way."
		var owner people.Person
		owner, err = a.byPasskey(q, given.Get("answer"))
		if err == nil && owner.ID != person.ID {
			err = people.ErrRefused
		}
		person = owner
	default: // the provider has confirmed it, or has not
		return "You have not confirmed yet.", http.StatusForbidden, nil
	}
	if errors.Is(err, checks.ErrNotFound) {
		err = people.ErrRefused
	}
	if problem, status = refusal(q, err, wrong); problem != "" {
		return problem, status, nil
	}
	if err != nil {
		return "", 0, err
	}
	err = a.prove(q, person, way != "password")
	if errors.Is(err, people.ErrChanged) {
		err = server.ErrSignedOut
	}
	return "", 0, err
}
