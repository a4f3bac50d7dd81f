package accounts

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
	"github.com/rollcall-dev/rollcall/server/people"
)

const (
	// Idle is how long a session lasts after the last visit, and Lifetime how long in any case.
	Idle, Lifetime = 12 * time.Hour, 30 * 24 * time.Hour
	// pendingAge is how long a person has for the code after the password.
	pendingAge = 10 * time.Minute
	// renewAfter is the age of the last note of a visit at which a visit is noted again.
	renewAfter = 5 * time.Minute
	// deviceAge is how long a browser is remembered after the last sign-in.
	deviceAge = 365 * 24 * time.Hour
	// maxAgent bounds the name of a browser that a session keeps.
	maxAgent = 200
	dataKey  = "session"
	// The cookies of a session, and of a browser that has signed in before.
	personCookie, deviceCookie = "rollcall_person", "rollcall_device"
)

// codec writes the data of a session as the list of a person's sessions reads it.
type codec struct{}

func (codec) Encode(deadline time.Time, values map[string]any) ([]byte, error) {
	data, _ := values[dataKey].(people.SessionData)
	data.Deadline = deadline
	return json.Marshal(data)
}

func (codec) Decode(text []byte) (time.Time, map[string]any, error) {
	var data people.SessionData
	err := json.Unmarshal(text, &data)
	return data.Deadline, map[string]any{dataKey: data}, err
}

func (a *Accounts) newSessions() {
	// scs.New would start a store in memory, with a goroutine that never ends.
	a.sessions = &scs.SessionManager{Store: a.people.SessionStore(), Codec: codec{}, IdleTimeout: Idle, Lifetime: Lifetime}
}

// current is the session of a request.
type current struct {
	ctx  context.Context
	data people.SessionData
}

func (a *Accounts) token(r *http.Request) string {
	return a.site.Kept(r, personCookie)
}

// current returns the session of a request, or [server.ErrSignedOut].
func (a *Accounts) current(r *http.Request) (current, error) {
	token := a.token(r)
	if token == "" {
		return current{}, server.ErrSignedOut
	}
	ctx, err := a.sessions.Load(r.Context(), token)
	if err != nil {
		return current{}, err
	}
	data, _ := a.sessions.Get(ctx, dataKey).(people.SessionData)
	if data.Person == uuid.Nil {
		return current{}, server.ErrSignedOut
	}
	return current{ctx, data}, nil
}

// start replaces the session of the request by a new one of a person as the sign-in has read them, under a new token. A pending
// one waits for a code and opens no page. The error is [people.ErrChanged] if the person has changed meanwhile.
func (a *Accounts) start(q *ui.Request, person people.Person, pending bool) error {
	ctx, err := a.sessions.Load(q.Ctx(), a.token(q.R))
	if err != nil {
		return err
	}
	if err := a.sessions.RenewToken(ctx); err != nil {
		return err
	}
	if err := a.keys.End(q); err != nil { // a browser is signed in in one way
		return err
	}
	if pending {
		a.sessions.SetDeadline(ctx, time.Now().Add(pendingAge))
	}
	now := q.Mon.Now()
	a.sessions.Put(ctx, dataKey, people.SessionData{
		Person: person.ID, Revision: person.Revision, Pending: pending, CreatedAt: now, SeenAt: now, Address: q.Address(q.R), Agent: words.Cut(q.R.UserAgent(), maxAgent),
	})
	if err := a.save(ctx, q.W); err != nil || pending {
		return err
	}
	return a.remember(q, person.ID)
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

// save stores a session, and its token in the browser.
func (a *Accounts) save(ctx context.Context, w http.ResponseWriter) error {
	token, until, err := a.sessions.Commit(ctx)
	if err != nil {
		return err
	}
	a.site.Keep(w, personCookie, token, time.Until(until))
	return nil
}

// renew notes a visit. What an open page asks for by itself is none.
func (a *Accounts) renew(w http.ResponseWriter, r *http.Request, c current) error {
	now := a.site.Mon.Now()
	if askedByPage(r) || now.Sub(c.data.SeenAt) < renewAfter {
		return nil
	}
	c.data.SeenAt, c.data.Address = now, a.site.Address(r)
	a.sessions.Put(c.ctx, dataKey, c.data)
	return a.save(c.ctx, w)
}

// askedByPage reports whether an open page asks by itself.
func askedByPage(r *http.Request) bool {
	return r.Header.Get("Rollcall-Version") != "" || strings.HasSuffix(r.URL.Path, "/events")
}

// end ends the session of a request, of a person or with a key.
func (a *Accounts) end(q *ui.Request) error {
	if err := a.endPerson(q); err != nil {
		return err
	}
	return a.keys.End(q)
}

func (a *Accounts) endPerson(q *ui.Request) error {
	token := a.token(q.R)
	if token == "" {
		return nil
	}
	ctx, err := a.sessions.Load(q.Ctx(), token)
	if err != nil {
		return err
	}
	if err := a.sessions.Destroy(ctx); err != nil {
		return err
	}
	q.Keep(q.W, personCookie, "", -1)
	return nil
}
