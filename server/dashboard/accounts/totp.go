package accounts

import (
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/boombuler/barcode/qr"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/people"
)

// totpView is the data of the page that sets up codes of an authenticator app.
type totpView struct {
	people.TOTP
	QR template.HTML
	// Kept is the secret, encrypted, for the form.
	Kept string
	Form ui.Form
	// Required says that the person can open nothing else before, and OffersPasskeys that a passkey does it too.
	Required, OffersPasskeys bool
}

// begunTOTP is what the page keeps until the first code.
type begunTOTP struct {
	Person   uuid.UUID
	Revision int64 // of the person
	TOTP     people.TOTP
	Until    time.Time
}

// totpPage shows a new secret. Nothing is stored until the first code shows that the app has it.
func (a *Accounts) totpPage(q *ui.Request) error {
	person, err := a.account(q)
	if err != nil {
		return err
	}
	if !person.HasPassword { // which codes follow
		return q.Redirect("/account")
	}
	fresh, err := a.people.BeginTOTP(q.Ctx(), person.ID)
	if err != nil {
		return err
	}
	text, err := json.Marshal(begunTOTP{person.ID, person.Revision, fresh, q.Mon.Now().Add(time.Hour)})
	if err != nil {
		return err
	}
	kept, err := q.Seals.Hide(q.Ctx(), "totp", text)
	if err != nil {
		return err
	}
	return a.showTOTP(q, http.StatusOK, totpView{TOTP: fresh, Kept: kept, Form: totpForm()})
}

func totpForm() ui.Form {
	return ui.Form{Fields: []ui.Field{
		{Name: "code", Label: "Code from the app", Called: "Code", Class: "code", Attrs: `inputmode="numeric" autocomplete="one-time-code" required maxlength="10" spellcheck="false"`},
		ownPassword("Your password"),
	}}
}

func (a *Accounts) showTOTP(q *ui.Request, status int, view totpView) (err error) {
	view.Required, view.OffersPasskeys = len(q.Access.Only) > 0, a.Passkeys != nil
	if view.QR, err = qrCode(view.URL); err != nil {
		return err
	}
	return q.RenderStatus(status, "totp", "Authenticator app", view)
}

// confirmTOTP stores the secret once a code of it is right, and shows the recovery codes, which no other answer ever does. It
// needs the password, so that an open browser does not suffice to lock the person out.
func (a *Accounts) confirmTOTP(q *ui.Request) error {
	kept := q.R.PostForm.Get("kept")
	text, err := q.Seals.Reveal(q.Ctx(), "totp", kept)
	var begun begunTOTP
	if errors.Is(err, server.ErrSignedOut) || err == nil && json.Unmarshal(text, &begun) != nil {
		return ui.ErrBadForm
	}
	if err != nil {
		return err
	}
	person, err := a.account(q)
	if err != nil {
		return err
	}
	if begun.Person != person.ID || begun.Revision != person.Revision || q.Mon.Now().After(begun.Until) {
		return q.Redirect("/account/totp")
	}
	codes, err := a.people.ConfirmTOTP(q.Ctx(), begun.Person, q.R.PostForm.Get("password"), begun.TOTP.Secret, strings.ReplaceAll(q.R.PostForm.Get("code"), " ", ""))
	form := totpForm()
	wrong, status := refusal(q, err, "The password is wrong.")
	if form.Wrong("password", wrong); form.Refuse(err) != 0 {
		status = http.StatusBadRequest
	}
	if form.Refused() {
		return a.showTOTP(q, status, totpView{TOTP: begun.TOTP, Kept: kept, Form: form})
	}
	if err != nil {
		return err
	}
	if len(q.Access.Only) > 0 {
		if person, err = a.account(q); err == nil {
			err = a.prove(q, person, true)
		}
	}
	if err != nil { // the next page asks to sign in; the codes are shown all the same
		q.Log.WarnContext(q.Ctx(), "cannot continue a session after an authenticator app was set up", "error", err)
	}
	return q.Render("recovery", "Recovery codes", codes)
}

// lastFactor answers somebody who would remove the only second factor.
const lastFactor = "This server requires a second factor. Set another one up before you remove this one."

// removeTOTP turns the codes off. It needs the password, so that an open browser does not suffice.
func (a *Accounts) removeTOTP(q *ui.Request) error {
	err := a.people.RemoveTOTP(q.Ctx(), q.Access.Person.ID, q.R.PostForm.Get("password"))
	problem, status := refusal(q, err, "The password is wrong.")
	if errors.Is(err, people.ErrLastFactor) {
		problem, status = lastFactor, http.StatusConflict
	}
	if problem != "" {
		return a.showAccount(q, status, func(v *accountView) { v.TOTP.Wrong("password", problem) })
	}
	if err != nil {
		return err
	}
	q.Notice("The authenticator app is off.")
	return q.Redirect("/account")
}

// qrCode draws a text as a QR code, dark on a light ground in both themes, because readers need that.
func qrCode(text string) (template.HTML, error) {
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return "", err
	}
	var path strings.Builder
	size := code.Bounds().Dx()
	for y := range size {
		for x := range size {
			if r, _, _, _ := code.At(x, y).RGBA(); r == 0 {
				fmt.Fprintf(&path, "M%d %dh1v1h-1z", x, y)
			}
		}
	}
	return template.HTML(fmt.Sprintf(`<svg class="qr" viewBox="0 0 %d %[1]d" role="img" aria-label="QR code with the secret" shape-rendering="crispEdges"><path d="%s" fill="#000"/></svg>`, size, path.String())), nil
}
