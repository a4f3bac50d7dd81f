package accounts

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/records"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/session"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/internal/sessions"
	"github.com/rollcall-dev/rollcall/server/people"
)

const (
	// Idle is how long a session lasts after the last visit, and Lifetime how long in any case.
	Idle, Lifetime = session.Idle, session.Lifetime
	// deviceAge is how long a browser is remembered after the last sign-in.
	deviceAge = 365 * 24 * time.Hour
	// deviceCookie is the cookie of a browser that has signed in before.
	deviceCookie = "rollcall_device"
)

// start replaces the session of the request by a new one of a person as the sign-in has read them. A pending one waits for a code and
// opens no page. The error is [people.ErrChanged] if the person has changed meanwhile.
func (a *Accounts) start(q *ui.Request, person people.Person, fresh sessions.Session) error {
	fresh.Person, fresh.Revision = person.ID, person.Revision
	err := a.sessions.Start(q, fresh, func(ctx context.Context, tx records.Tx) error { return a.people.Unchanged(ctx, tx, person) })
	if err != nil || fresh.Pending {
		return err
	}
	return a.remember(q, person.ID)
}

// strong is the session of somebody who gave more than a password.
var strong = sessions.Session{Strong: true}

// prove lets the session of the request go on after a person as they were read has proved who they are, by more than a password or not.
func (a *Accounts) prove(q *ui.Request, person people.Person, strong bool) error {
	current, err := a.sessions.Current(q.R)
	if err != nil {
		return err
	}
	current.Revision, current.Strong = person.Revision, current.Strong || strong
	return a.sessions.Prove(q, current, func(ctx context.Context, tx records.Tx) error { return a.people.Unchanged(ctx, tx, person) })
}

// device returns the browser of a request, and who signed in to it last. Without a cookie that says so, it is the zero value.
func (a *Accounts) device(r *http.Request) people.Device {
	kept := a.site.Kept(r, deviceCookie)
	if kept == "" {
		return people.Device{}
	}
	text, err := a.site.Seals.Open(r.Context(), "device", kept)
	if err != nil || len(text) != 32 {
		return people.Device{}
	}
	return people.Device{Person: uuid.UUID(text[:16]), ID: uuid.UUID(text[16:])}
}

// remember marks the browser as one to which a person has signed in. The cookie signs nobody in.
func (a *Accounts) remember(q *ui.Request, person uuid.UUID) error {
	d := a.device(q.R)
	if d.Person != person {
		d = people.Device{Person: person, ID: uuid.New()}
	}
	text, err := q.Seals.Seal(q.Ctx(), "device", append(d.Person[:], d.ID[:]...))
	if err == nil {
		q.Keep(q.W, deviceCookie, text, deviceAge)
	}
	return err
}
