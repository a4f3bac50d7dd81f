package ui

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server"
)

// A form that could not be answered, because the session had ended or the database was unavailable, comes back within the
// page that says so, encrypted: it may hold secrets. That page sends it again.

// HeldForm is such a form.
type HeldForm struct {
	To     string // the path and the query that it was sent to
	Fields url.Values
	Until  time.Time
	Person uuid.UUID // who typed it, or nobody without accounts
}

const (
	// heldField is the name of the field that has the form.
	heldField = "held"
	// heldAge is how long it can be sent again.
	heldAge = 24 * time.Hour
	// maxHeld bounds a form that comes back, so that it fits into a form.
	maxHeld = MaxForm / 4
)

// held returns the form of the request for the page that sends it again, or "" if there is none or it cannot be kept.
func (q *Request) held() string {
	if q.R.Method != http.MethodPost || q.Fetches() {
		return ""
	}
	if q.R.PostForm == nil && q.R.ParseForm() != nil {
		return ""
	}
	if text := q.R.PostForm.Get(heldField); text != "" { // this page was sent already
		return text
	}
	if len(q.R.PostForm) == 0 {
		return ""
	}
	text, err := json.Marshal(HeldForm{To: q.R.URL.RequestURI(), Fields: q.R.PostForm, Until: q.Mon.Now().Add(heldAge), Person: q.typist()})
	if err != nil || len(text) > maxHeld {
		return ""
	}
	var small bytes.Buffer
	z, _ := flate.NewWriter(&small, flate.BestSpeed) // fails for an unknown level
	_, _ = z.Write(text)                             // a buffer takes everything
	_ = z.Close()
	hidden, err := q.Seals.Hide(q.Ctx(), "held", small.Bytes())
	if err != nil {
		return ""
	}
	return hidden
}

// typist is who typed the form of the request: who sends it, or else who signed in to the browser last.
func (q *Request) typist() uuid.UUID {
	switch {
	case q.Access.Person != nil:
		return q.Access.Person.ID
	case q.LastPerson != nil:
		return q.LastPerson(q.R)
	}
	return uuid.Nil
}

// Of reports whether a person may send the form: nobody sends what another person typed in the same browser.
func (f HeldForm) Of(person uuid.UUID) bool { return f.Person == uuid.Nil || f.Person == person }

// errForeignForm is the page for a person who sends what another has typed.
var errForeignForm = Refusal{
	Status: http.StatusForbidden, Title: "This is not your form",
	Text: "Someone else typed it in this browser, so you cannot send it. Nothing was changed.",
}

// OpenHeld returns a form that a page held.
func (q *Request) OpenHeld(held string) (form HeldForm, err error) {
	body, err := q.Seals.Reveal(q.Ctx(), "held", held)
	if err != nil {
		return form, err
	}
	text, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(body)), maxHeld+1))
	if err != nil || json.Unmarshal(text, &form) != nil || q.Mon.Now().After(form.Until) {
		return HeldForm{}, ErrBadForm
	}
	return form, nil
}

// takeHeld replaces the form of a request by the one that it holds, if it does.
func (q *Request) takeHeld() error {
	held := q.R.PostForm.Get(heldField)
	if held == "" {
		return nil
	}
	form, err := q.OpenHeld(held)
	if errors.Is(err, server.ErrSignedOut) || err == nil && form.To != q.R.URL.RequestURI() {
		return ErrBadForm
	}
	if errors.Is(err, checks.ErrUnavailable) {
		return err
	}
	if err != nil {
		return ErrBadForm
	}
	person := uuid.Nil
	if p := q.Access.Person; p != nil {
		person = p.ID
	}
	if !form.Of(person) {
		return errForeignForm
	}
	q.R.PostForm, q.R.Form = form.Fields, form.Fields
	return nil
}

// Fetches reports whether a script of ours has sent the form: it keeps the page, and goes where the answer says.
func (q *Request) Fetches() bool { return q.R.Header.Get("Rollcall-Form") != "" }

// Lead leads the browser to an address, with 303.
func (q *Request) Lead(to string) {
	if q.Fetches() { // which cannot see where a redirect leads without following it, and that would use up the notice
		q.W.Header().Set("Rollcall-Location", to)
		q.W.WriteHeader(http.StatusNoContent)
		return
	}
	http.Redirect(q.W, q.R, to, http.StatusSeeOther)
}
