package accounts

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/session"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
	"github.com/rollcall-dev/rollcall/server/people"
)

// Passkeys registers and verifies passkeys: a *passkey.Keys of package server/dashboard/accounts/passkey. An answer that proves
// nothing is an error that wraps [people.ErrRefused].
type Passkeys interface {
	BeginAdd(people.Person) (options, kept []byte, err error)
	FinishAdd(who people.Person, kept, answer []byte) (people.Passkey, error)
	BeginSignIn() (options, kept []byte, err error)
	FinishSignIn(kept, answer []byte, find func(id []byte) (people.Person, error)) (people.Person, people.Passkey, error)
}

const (
	passkeyCookie = "rollcall_passkey"
	// passkeyAge is how long the browser may take to answer.
	passkeyAge = 5 * time.Minute
)

// ceremony is what the browser keeps while it asks for a passkey. Person is nobody at a sign-in, and Revision is theirs.
type ceremony struct {
	Person   uuid.UUID
	Revision int64
	Kept     []byte
	Until    time.Time
}

func (a *Accounts) passkeyRoutes() {
	if a.Passkeys == nil {
		return
	}
	a.words[http.MethodPost]["passkey"] = a.signInByPasskey
	a.words[http.MethodPost]["passkey-options"] = a.passkeyOptions
	for pattern, h := range map[string]ui.Handler{
		"GET /account/passkeys": a.passkeysPage, "POST /account/passkeys": a.addPasskey, "POST /account/passkeys/options": a.newPasskeyOptions,
		"POST /account/passkeys/delete": ui.Recent(a.deletePasskey),
	} {
		a.site.Look(pattern, personal(h))
	}
}

// sendOptions answers the script of the page with what the browser must do.
func (a *Accounts) sendOptions(q *ui.Request, person people.Person, options, kept []byte) error {
	text, err := json.Marshal(ceremony{person.ID, person.Revision, kept, q.Mon.Now().Add(passkeyAge)})
	if err != nil {
		return err
	}
	hidden, err := q.Seals.Hide(q.Ctx(), "passkey", text)
	if err != nil {
		return err
	}
	q.Keep(q.W, passkeyCookie, hidden, passkeyAge)
	q.W.Header().Set("Content-Type", "application/json")
	_, _ = q.W.Write(options) // an error means that the viewer is gone
	return nil
}

// takeCeremony returns what the browser has kept. The error wraps [people.ErrRefused] if it is gone.
func (a *Accounts) takeCeremony(q *ui.Request, person uuid.UUID) (begun ceremony, err error) {
	kept := q.Kept(q.R, passkeyCookie)
	if kept == "" {
		return begun, people.ErrRefused
	}
	q.Keep(q.W, passkeyCookie, "", -1)
	text, err := q.Seals.Reveal(q.Ctx(), "passkey", kept)
	if errors.Is(err, server.ErrSignedOut) {
		return begun, people.ErrRefused
	}
	if err != nil {
		return begun, err
	}
	if err := json.Unmarshal(text, &begun); err != nil || begun.Person != person || q.Mon.Now().After(begun.Until) {
		return begun, people.ErrRefused
	}
	return begun, nil
}

// spend accepts one answer to a challenge: not every authenticator has a counter.
func (a *Accounts) spend(q *ui.Request, kept []byte) error {
	first, err := a.people.Spend(q.Ctx(), string(kept), q.Mon.Now().Add(passkeyAge))
	if err == nil && !first {
		err = fmt.Errorf("%w: the answer was used before", people.ErrRefused)
	}
	return err
}

func (a *Accounts) passkeyOptions(q *ui.Request) error {
	options, kept, err := a.Passkeys.BeginSignIn()
	if err != nil {
		return err
	}
	return a.sendOptions(q, people.Person{}, options, kept)
}

// signInByPasskey signs in the owner of a passkey. No code follows, because a passkey verifies its user.
func (a *Accounts) signInByPasskey(q *ui.Request) error {
	page := session.SignIn{Next: ui.LocalPath(q.R.PostForm.Get("next")), Held: q.R.PostForm.Get("held")}
	person, err := a.byPasskey(q, q.R.PostForm.Get("answer"))
	if errors.Is(err, people.ErrRefused) || errors.Is(err, checks.ErrNotFound) {
		page.Problem = "This passkey was not accepted. Try again, or sign in in another way. If you have deleted it here, delete it on your device too."
		return a.sessions.AskToSignIn(q, http.StatusForbidden, page)
	}
	if err != nil {
		return err
	}
	return a.admit(q, person, strong, page)
}

// byPasskey returns the owner of the passkey with which the browser has answered. The error wraps [people.ErrRefused] or
// [checks.ErrNotFound] if that proves nothing.
func (a *Accounts) byPasskey(q *ui.Request, answer string) (person people.Person, err error) {
	begun, err := a.takeCeremony(q, uuid.Nil)
	var used people.Passkey
	if err == nil && a.Passkeys == nil {
		err = people.ErrRefused
	}
	if err == nil {
		person, used, err = a.Passkeys.FinishSignIn(begun.Kept, []byte(answer), func(id []byte) (people.Person, error) {
			return a.people.ByPasskey(q.Ctx(), id)
		})
	}
	if err == nil {
		err = a.spend(q, begun.Kept)
	}
	if err == nil && person.SignInsEndedAt.After(begun.Until.Add(-passkeyAge)) {
		err = people.ErrChanged
	}
	if err == nil {
		err = a.people.UsePasskey(q.Ctx(), person, used)
	}
	if errors.Is(err, people.ErrRefused) || errors.Is(err, checks.ErrNotFound) {
		a.sessions.LogRefusal(q, "refused a passkey", err, "email", person.Email)
	}
	return person, err
}

// passkeysView is the data of the page of passkeys.
type passkeysView struct {
	people.Person
	Form ui.Form
	// Own says that people add passkeys here, not at an identity provider.
	Own bool
	// Required says that the person can open nothing else before there is one, or an authenticator app.
	Required bool
}

// ID names a passkey in a form.
func passkeyID(key people.Passkey) string { return base64.RawURLEncoding.EncodeToString(key.ID) }

// manyPasskeys answers somebody who has as many passkeys as a person may have.
var manyPasskeys = fmt.Sprintf("You have %d passkeys, which is the most. Delete one first.", people.MaxPasskeys)

func (a *Accounts) passkeysPage(q *ui.Request) error { return a.showPasskeys(q, http.StatusOK, "") }

func (a *Accounts) showPasskeys(q *ui.Request, status int, problem string) error {
	person, err := a.account(q)
	if err != nil {
		return err
	}
	return q.RenderStatus(status, "passkeys", "Passkeys", passkeysView{Person: person, Form: ui.Form{Problem: problem}, Own: person.Issuer == "", Required: len(q.Access.Only) > 0})
}

// newPasskeyOptions begins to add a passkey. It needs the password, so that an open browser does not suffice.
func (a *Accounts) newPasskeyOptions(q *ui.Request) error {
	person, err := a.account(q)
	if err != nil {
		return err
	}
	if person.Issuer != "" {
		return ui.ErrForbidden
	}
	if len(person.Passkeys) >= people.MaxPasskeys {
		http.Error(q.W, manyPasskeys, http.StatusForbidden)
		return nil
	}
	if person.HasPassword {
		person, err = a.people.SignIn(q.Ctx(), people.Attempt{Email: person.Email, Password: q.R.PostForm.Get("password"), Address: q.Address(q.R), Device: a.device(q.R)})
		if problem, status := refusal(q, err, "The password is wrong."); problem != "" {
			http.Error(q.W, problem, status)
			return nil
		}
		if err != nil {
			return err
		}
	} else if !q.Proved() {
		http.Error(q.W, "You signed in too long ago for this. Sign out, sign in again, and add the passkey then.", http.StatusForbidden)
		return nil
	} else if !q.Access.Elsewhere {
		if _, err := a.sessions.Current(q.R); err != nil { // the session ended before the person was read
			return err
		}
	}
	options, kept, err := a.Passkeys.BeginAdd(person)
	if err != nil {
		return err
	}
	return a.sendOptions(q, person, options, kept)
}

// addPasskey stores what the browser has made.
func (a *Accounts) addPasskey(q *ui.Request) error {
	person, err := a.account(q)
	if err != nil {
		return err
	}
	begun, err := a.takeCeremony(q, person.ID)
	var added people.Passkey
	if err == nil {
		added, err = a.Passkeys.FinishAdd(person, begun.Kept, []byte(q.R.PostForm.Get("answer")))
	}
	if err == nil {
		err = a.spend(q, begun.Kept)
	}
	if err == nil {
		added.Name, added.AddedAt = words.Name(words.Cut(q.R.PostForm.Get("name"), 100), "Passkey of "+browserOf(q.R.UserAgent())), q.Mon.Now()
		err = a.people.AddPasskey(q.Ctx(), people.Person{ID: person.ID, Revision: begun.Revision}, added)
	}
	if err == nil && len(q.Access.Only) > 0 {
		err = a.prove(q, people.Person{ID: person.ID, Revision: begun.Revision}, true)
	}
	if err == nil {
		q.Notice("Added the passkey " + words.Short(added.Name) + ".")
		return q.Redirect("/account/passkeys")
	}
	status, problem := http.StatusForbidden, "The passkey was not added. Try again."
	switch {
	case errors.Is(err, people.ErrManyPasskeys):
		problem = manyPasskeys
	case errors.Is(err, checks.ErrExists):
		status, problem = http.StatusConflict, "The passkey was not added: it is in use already. Delete it on your device, and try again."
	case !errors.Is(err, people.ErrRefused):
		return err
	}
	a.sessions.LogRefusal(q, "refused a new passkey", err, "email", person.Email)
	return a.showPasskeys(q, status, problem)
}

func (a *Accounts) deletePasskey(q *ui.Request) error {
	id, err := base64.RawURLEncoding.DecodeString(q.R.PostForm.Get("id"))
	if err != nil {
		return ui.ErrBadForm
	}
	person, err := a.account(q)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(person.Passkeys, func(key people.Passkey) bool { return bytes.Equal(key.ID, id) })
	if i < 0 {
		return checks.ErrNotFound
	}
	err = a.people.DeletePasskey(q.Ctx(), person.ID, id)
	if errors.Is(err, people.ErrLastFactor) {
		return a.showPasskeys(q, http.StatusConflict, lastFactor)
	}
	if err != nil {
		return err
	}
	q.Notice("Deleted the passkey " + words.Short(person.Passkeys[i].Name) + ". Delete it on your device too.")
	return q.Redirect("/account/passkeys")
}
