package main

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
	"github.com/rollcall-dev/rollcall/server/people"
)

// TestUserRoleOfTheInvited: a role that ends an invitation says so, and what to do; one that does not says nothing.
func TestUserRoleOfTheInvited(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		known, err := people.New(openMonitor(t, db), nil)
		if err != nil {
			t.Fatal(err)
		}
		administer(t, db, "project", "create", "team")
		project, err := openMonitor(t, db).Projects().ByName(t.Context(), "team")
		if err != nil {
			t.Fatal(err)
		}
		owner, _, err := known.Create(t.Context(), people.Spec{Email: "owner@example.org", Roles: map[uuid.UUID]people.Role{project.ID: people.Owner}})
		if err != nil {
			t.Fatal(err)
		}
		ctx := audit.WithActor(t.Context(), audit.Actor{Kind: audit.Person, ID: owner.ID.String()})
		_, link, err := known.Create(ctx, people.Spec{Email: "bob@example.org", Roles: map[uuid.UUID]people.Role{project.ID: people.Viewer}})
		if err != nil {
			t.Fatal(err)
		}
		role := func(args ...string) (said string) {
			t.Helper()
			var stdout, stderr strings.Builder
			if status := run(append([]string{"--database", db.URL, "user", "role", "bob@example.org"}, args...), &stdout, &stderr); status != console.ExitOK {
				t.Fatalf("%q: status %d: %s", args, status, stderr.String())
			}
			return stderr.String()
		}
		if said := role("--project", "team", "--role", "owner"); said != "" {
			t.Errorf("a role that the inviter could give: %s", said)
		}
		if _, err := known.Link(t.Context(), link.Token); err != nil {
			t.Errorf("the link ended: %v", err)
		}
		if said := role("--role", "admin"); !strings.Contains(said, "had invited bob@example.org") || !strings.Contains(said, "user reset-password") {
			t.Errorf("a role that the inviter could not give: %q", said)
		}
		if _, err := known.Link(t.Context(), link.Token); err == nil {
			t.Error("the link still opens the account")
		}
	})
}

// TestUserUnverified: two users can have one address if it is not verified, and commands take the id of either.
func TestUserUnverified(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		known, err := people.New(openMonitor(t, db), nil)
		if err != nil {
			t.Fatal(err)
		}
		eve, err := known.SignInExternal(t.Context(), people.External{Issuer: "https://id.example.org", Subject: "eve", Email: "ann@example.org"})
		if err != nil {
			t.Fatal(err)
		}
		administer(t, db, "user", "create", "ann@example.org", "--admin")
		if list := administer(t, db, "user", "list"); strings.Count(list, "ann@example.org") != 2 || strings.Count(list, "ann@example.org (not verified)") != 1 {
			t.Errorf("the list is\n%s", list)
		}
		administer(t, db, "user", "delete", eve.ID.String())
		if list := administer(t, db, "user", "list", "--json"); strings.Contains(list, eve.ID.String()) || !strings.Contains(list, `"unverified": false`) {
			t.Errorf("the list is\n%s", list)
		}
	})
}
