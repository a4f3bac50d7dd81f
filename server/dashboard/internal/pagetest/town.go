package pagetest

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/url"
	"testing"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/server/dashboard/accounts"
	"github.com/rollcall-dev/rollcall/server/people"
)

// Password is that of everybody in the tests.
const Password = "correct horse battery"

// Town is a site with accounts.
type Town struct {
	*Site
	People *people.People
	Log    bytes.Buffer // of the pages
}

// NewTown returns a site with accounts, on which people sign in with keys too.
func NewTown(t *testing.T, configure ...func(*Config)) *Town {
	t.Helper()
	return New(t, configure...).Town(accounts.Config{KeySignIn: true}, configure...)
}

// Town adds accounts to a site.
func (s *Site) Town(c accounts.Config, configure ...func(*Config)) *Town {
	s.T.Helper()
	known, err := people.New(s.Mon, nil)
	NoError(s.T, err)
	v := &Town{Site: s, People: known}
	s.T.Cleanup(func() {
		if s.T.Failed() {
			s.T.Log(v.Log.String())
		}
	})
	logged := func(of *Config) { of.Logger = slog.New(slog.NewTextHandler(&v.Log, nil)) }
	v.Pages.Close()
	v.Serve(append([]func(*Config){v.Accounts(c), logged}, configure...)...)
	return v
}

// Accounts configures accounts.
func (v *Town) Accounts(c accounts.Config) func(*Config) {
	return func(of *Config) { of.Pages.Accounts = accounts.New(v.People, &c) }
}

// Person adds a person who has chosen the password. Without a role, it is an administrator.
func (v *Town) Person(email string, role people.Role) people.Person {
	v.T.Helper()
	spec := people.Spec{Email: email, Admin: role == ""}
	if role != "" {
		spec.Roles = map[uuid.UUID]people.Role{v.Project.ID: role}
	}
	_, link, err := v.People.Create(v.T.Context(), spec)
	NoError(v.T, err)
	p, err := v.People.UseLink(v.T.Context(), link.Token, "", "", Password)
	NoError(v.T, err)
	return p
}

// As returns a browser in which a person has signed in.
func (v *Town) As(email string) *Browser {
	v.T.Helper()
	b := v.Browser()
	b.Post("/signin", Credentials(email)).Is(http.StatusSeeOther)
	return b
}

// Credentials are the form that signs a person in.
func Credentials(email string) url.Values {
	return url.Values{"email": {email}, "password": {Password}}
}
