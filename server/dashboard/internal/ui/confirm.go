package ui

import (
	"net/http"
	"net/url"
	"time"
)

// RecentFor is how long after they have proved who they are people may change who has access, without proving it again.
const RecentFor = 15 * time.Minute

// Prover verifies that a request is from the person or the holder of the key whose session it has.
type Prover interface {
	// ConfirmWays says how the viewer can prove it.
	ConfirmWays(q *Request, page *Confirmation) error
	// Confirm verifies the form of the page "prove", and gives the session a new token. problem says why not.
	Confirm(q *Request, given url.Values) (problem string, status int, err error)
}

// Confirmation is the data of the page "prove". To is where its form goes, with the form that it holds, and From the page that was
// asked for, or "".
type Confirmation struct {
	To, Held, From, Problem string
	// Minutes is [RecentFor].
	Minutes int
	// Email is that of the person. The ways to prove it follow; Provider is the name of the identity provider, or "".
	Email                        string
	Password, Code, Passkey, Key bool
	Provider                     string
}

// None reports whether the viewer can only sign in again.
func (c Confirmation) None() bool {
	return !c.Password && !c.Code && !c.Passkey && !c.Key && c.Provider == ""
}

// confirmField is the name of the field that says how the viewer proves who they are.
const confirmField = "confirm"

// Recent lets only viewers on who have proved within [RecentFor] who they are. The others are asked to, and then go on with what they
// have sent. Those for whom a program or a proxy vouches are not asked.
func Recent(h Handler) Handler {
	return func(q *Request) error {
		if q.Proved() {
			return h(q)
		}
		page, status := Confirmation{}, http.StatusForbidden
		if q.given != nil {
			var err error
			page.Problem, status, err = q.Prover.Confirm(q, q.given)
			if err != nil {
				return err
			}
			if page.Problem == "" {
				return h(q)
			}
		}
		return q.askToConfirm(status, page)
	}
}

// Proved reports whether the viewer has proved within [RecentFor] who they are. A minute is left for clocks of servers that differ.
func (q *Request) Proved() bool {
	if q.Config.ForeignSignIn() || q.Access.Elsewhere {
		return true
	}
	at := q.Access.Entered[q.Project.ID]
	if p := q.Access.Person; p != nil {
		at = p.ProvedAt
	}
	age := q.Mon.Now().Sub(at)
	return age > -time.Minute && age < RecentFor
}

// askToConfirm answers with the page that asks who the viewer is. Its form goes to the same address: beside a page that needs this
// there is an action, which leads to the page if it gets nothing else.
func (q *Request) askToConfirm(status int, page Confirmation) error {
	page.To, page.Held, page.Minutes = q.R.URL.RequestURI(), q.held(), int(RecentFor/time.Minute)
	if q.R.Method == http.MethodPost && len(q.R.PostForm) > 0 && page.Held == "" && !q.Fetches() {
		return Refusal{Status: http.StatusForbidden, Title: "Sign in again first", Text: "You signed in too long ago for this, and the form is too large to be kept. Sign in again in another tab, go back and send it again."}
	}
	if q.R.Method != http.MethodPost {
		page.From = q.R.URL.RequestURI()
	}
	if err := q.Prover.ConfirmWays(q, &page); err != nil {
		return err
	}
	return q.RenderStatus(status, "prove", "Confirm it’s you", page)
}

// takeGiven separates what the page "prove" has sent from the form that it holds.
func (q *Request) takeGiven() {
	if !q.R.PostForm.Has(confirmField) {
		return
	}
	q.given = q.R.PostForm
	q.R.PostForm = url.Values{}
	if held := q.given.Get(heldField); held != "" {
		q.R.PostForm.Set(heldField, held)
	}
	q.R.Form = q.R.PostForm
}
