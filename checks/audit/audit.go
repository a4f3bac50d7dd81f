// Package audit says who changed what, when and from where. A monitor with Config.AuditRetention writes an [Entry] for each
// change that people, keys and programs make, in the transaction of the change. Pings and what follows from them are no
// entries: the log, the flips and the deliveries of a check say all about those.
//
// The context of a call names who makes it:
//
//	ctx = audit.WithActor(ctx, audit.Actor{Kind: audit.Program, Name: "deploy", Address: "192.0.2.7"})
//	_, err := jobs.Update(ctx, id, checks.Spec{Grace: new(time.Hour)})
package audit

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Kind says what an [Actor] is.
type Kind string

// The kinds of actors.
const (
	Person      Kind = "person"       // who is signed in
	Key         Kind = "key"          // the holder of an API key
	CommandLine Kind = "command line" // a command on the machine of the database
	Program     Kind = "program"      // a program that embeds the monitor
	Ping        Kind = "ping"         // a ping that created its check
	PingKey     Kind = "ping key"     // the holder of the ping key of a project
	Link        Kind = "link"         // who opened the link of an alert, by the name that they gave
)

// ByLink follows a name that somebody has typed on the page of a link, wherever people read it.
const ByLink = " (name given by link)"

// Actor is who makes a change.
type Actor struct {
	Kind Kind `json:"kind"`
	// ID is the identifier of a person or a key, or "".
	ID string `json:"id,omitempty"`
	// Name is what people know the actor by: an e-mail address, the first characters of a key, a user of the machine.
	Name string `json:"name,omitempty"`
	// Address is the IP address that the request came from, or "".
	Address string `json:"address,omitempty"`
	// Called is the name of a person that others read instead of Name, or "". People choose it, so the audit log does not keep it.
	Called string `json:"-"`
}

// Known names the actor for the colleagues, as on an outage that they have acknowledged: by Called, or else by [Actor.Words].
func (a Actor) Known() string { return cmp.Or(a.Called, a.Words()) }

// Words names the actor for people: by Name, such as an e-mail address, or as "the API key rcw_abc…", "the command line ann",
// "a ping" or "an embedding program". The name of a [Link], which anybody may have typed, has [ByLink] behind it. The address is not
// among them.
func (a Actor) Words() string {
	switch a.Kind {
	case Key:
		return "the API key " + a.Name + "…"
	case CommandLine:
		return strings.TrimSpace("the command line " + a.Name)
	case Ping:
		return "a ping"
	case PingKey:
		return "the ping key"
	case Link:
		return a.Name + ByLink
	}
	return cmp.Or(a.Name, "an embedding program")
}

type actorKey struct{}

// WithActor returns a context for the changes of an actor.
func WithActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// ActorOf returns the actor of a context: a [Program] without a name unless [WithActor] has set another one.
func ActorOf(ctx context.Context) Actor {
	if a, ok := ctx.Value(actorKey{}).(Actor); ok {
		return a
	}
	return Actor{Kind: Program}
}

// Entry is one change.
type Entry struct {
	// ID grows with each entry of the database.
	ID    int64
	At    time.Time
	Actor Actor
	// ProjectID is the project of what was changed, or uuid.Nil for the installation. CheckID is uuid.Nil unless it was a check.
	ProjectID, CheckID uuid.UUID
	// Action is the kind of thing and what happened to it, such as "check.update".
	Action string
	// Object names the thing, such as the name of a check.
	Object string
	// Changes are the fields that changed. Secrets read "(secret)" on both sides.
	Changes []Change
}

// Change is a field that changed. From is "" for a new thing, and To for one that was deleted.
type Change struct {
	Field string `json:"field"`
	From  string `json:"from,omitempty"`
	To    string `json:"to,omitempty"`
}

// Query selects entries, newest first. The zero value of a field selects all.
type Query struct {
	// Project selects the entries of one project, and Check those of one check.
	Project, Check uuid.UUID
	// Except leaves out entries about kinds of things: the first part of Action, such as "person".
	Except []string
	// Before selects lower identifiers, for the next page.
	Before int64
	// Since selects the entries of that instant and later, and Until those of earlier instants.
	Since, Until time.Time
	// Limit bounds the number of entries. 0 is no limit.
	Limit int
}
