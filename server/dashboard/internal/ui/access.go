package ui

import (
	"cmp"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// Access says what a viewer may see and change. [Site].Authorize returns it for each request.
type Access struct {
	server.Access
	Keys map[uuid.UUID]checks.Key // the API key for each project, if the viewer has signed in with keys
	// Entered is when each of Keys was entered.
	Entered map[uuid.UUID]time.Time
	// Elsewhere says that a proxy vouches for the person with each request, so that the pages do not ask who they are.
	Elsewhere bool
	// Only lists the paths of the only pages that the viewer may open, and the others lead to the first. nil is all.
	Only []string
	// Person is who has signed in with an account, or nil. Name is the e-mail address then.
	Person *Person
}

// Person is a person with an account of the installation.
type Person struct {
	ID          uuid.UUID
	Name, Email string
	// Known is the name that colleagues read, which no other person has, on a page that changes something; "" without a Name.
	Known string
	// Admin says that the person owns every project and manages people.
	Admin bool
	// ProvedAt is when the person has last proved who they are.
	ProvedAt time.Time
	// Zone is an IANA time zone and Clock 12 or 24, or the zero value for those of the browser.
	Zone  string
	Clock int
	// FirstPage is a word of [FirstPages], and Theme is light, dark or "".
	FirstPage, Theme string
}

// Called is the name of the person, or else the e-mail address.
func (p *Person) Called() string { return cmp.Or(p.Name, p.Email) }

// Right returns the right in a project.
func (a Access) Right(project uuid.UUID) (right checks.Right) {
	for _, p := range a.Projects {
		if p.ProjectID == project {
			right = max(right, p.Right)
		}
	}
	return right
}

// countedBy is whose pages count together: those of a person, or those of a key or a name in a project.
type countedBy struct {
	project, id uuid.UUID
	name        string
}

func (q *Request) countedBy() countedBy {
	if p := q.Access.Person; p != nil {
		return countedBy{id: p.ID}
	}
	return countedBy{project: q.Project.ID, id: q.Access.Keys[q.Project.ID].ID, name: q.Access.Name}
}

// streamsBy is whose streams count together: viewers without a name go by their address.
func (q *Request) streamsBy() countedBy {
	by := q.countedBy()
	if by.id == uuid.Nil && by.name == "" {
		by.name = q.Address(q.R)
	}
	return by
}

// Viewer names who sends the request, for what is kept on their behalf.
func (q *Request) Viewer() string {
	if p := q.Access.Person; p != nil {
		return p.ID.String()
	}
	return q.Access.Keys[q.Project.ID].ID.String() + " " + q.Access.Name
}

// Unnamed returns a check as the viewer may see it: those who may only read do not see who has acknowledged its outage.
func (q *Request) Unnamed(c checks.Check) checks.Check {
	if !q.Right.Edits() && c.Ack.By != "" {
		c.Ack.By = words.Somebody
	}
	return c
}

// UnnamedAlert is Unnamed for a delivery that an acknowledgement keeps back or has dropped.
func (q *Request) UnnamedAlert(d checks.Delivery) checks.Delivery {
	if !q.Right.Edits() && d.Held == gate.ByAck {
		if d.HeldBy = words.Somebody; d.State == checks.DeliverySkipped {
			d.Error = d.Held.Words(d.HeldBy)
		}
	}
	return d
}

// Actor is who may see and change that, for the audit log, with the address that a request comes from.
func (a Access) Actor(project uuid.UUID, address string) audit.Actor {
	if p := a.Person; p != nil {
		return audit.Actor{Kind: audit.Person, ID: p.ID.String(), Name: p.Email, Address: address, Called: cmp.Or(p.Known, p.Name)}
	}
	if key, ok := a.Keys[project]; ok {
		return audit.Actor{Kind: audit.Key, ID: key.ID.String(), Name: key.Hint, Address: address}
	}
	return audit.Actor{Kind: audit.Person, Name: a.Name, Address: address}
}

// Address returns the IP address that a request comes from, as the trusted proxies say.
func (s *Site) Address(r *http.Request) string {
	address, _ := s.Proxies.Of(r)
	return address
}
