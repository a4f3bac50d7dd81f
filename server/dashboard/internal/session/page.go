package session

import (
	"fmt"
	"log/slog"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
)

// SignIn is the data of the page "signin". Next is the page to which it leads, and Held a form that is sent after it.
type SignIn struct {
	Problem, Next, Held, Email string
	// HeldTo is where the held form goes.
	HeldTo string
	// Person is who has signed in, or nobody.
	Person uuid.UUID
	// ByKey says that the form for a key is the one that was sent.
	ByKey bool
	Ways  Ways
}

// Ways are the ways to sign in.
type Ways struct {
	Password, Key, Passkey bool
	// Nobody says that accounts are possible, and none exists yet.
	Nobody bool
	// Provider is the name of the provider of sign-in that the button shows, or "".
	Provider string
}

// Enter leads a person who has just signed in to the form that the page held, or to its next page, or else to a path below
// the base.
func (s *Sessions) Enter(q *ui.Request, page SignIn, path string) error {
	if form, err := q.OpenHeld(page.Held); err == nil && form.Of(page.Person) {
		return q.Render("again", "Signed in again", struct{ Held, To string }{page.Held, form.To})
	}
	if page.Next != "" {
		q.Lead(page.Next)
		return nil
	}
	q.Lead(q.Base + path)
	return nil
}

// AskToSignIn answers with the page to sign in.
func (s *Sessions) AskToSignIn(q *ui.Request, status int, page SignIn) (err error) {
	if page.Ways, err = s.Ways(q.Ctx()); err != nil {
		return err
	}
	if form, err := q.OpenHeld(page.Held); err == nil {
		page.HeldTo = form.To
	} else {
		page.Held = ""
	}
	return q.RenderStatus(status, "signin", "Sign in", page)
}

// LogRefusal logs that nobody was signed in and why, an error or a text, without what was sent. The refusals of an address for one
// reason are logged together, after the first.
func (s *Sessions) LogRefusal(q *ui.Request, text string, why any, args ...any) {
	name, address := "reason", q.Address(q.R)
	if _, failed := why.(error); failed {
		name = "error"
	}
	args = append([]any{name, why, "address", address}, args...)
	s.refusals.Log(q.Log, slog.LevelWarn, address+"\x00"+fmt.Sprint(why), text, args...)
}
