package people_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/pquerna/otp/totp"
	"github.com/uptrace/bun"
	"golang.org/x/crypto/argon2"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/records"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/server/internal/sessions"
	"github.com/rollcall-dev/rollcall/server/people"
)

func TestMain(m *testing.M) { os.Exit(dbtest.Run(m)) }

const password = "correct horse battery"

// town is people on a database, with a clock to move and a log.
type town struct {
	*testing.T
	db dbtest.DB
	*people.People
	store *sqlstore.Store
	mon   *monitor.Monitor
	clock *dbtest.Clock
	log   *bytes.Buffer
}

// each runs a test on each database.
func each(t *testing.T, test func(v *town)) {
	dbtest.Each(t, inTown(test))
}

// eachAtRelease is each for what people keep in memory. On PostgreSQL it runs before a release.
func eachAtRelease(t *testing.T, test func(v *town)) {
	dbtest.EachAtRelease(t, inTown(test))
}

func inTown(test func(v *town)) func(t *testing.T, db dbtest.DB) {
	return func(t *testing.T, db dbtest.DB) {
		v := &town{T: t, db: db, store: db.Open(t), clock: dbtest.NewClock(time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)), log: new(bytes.Buffer)}
		v.mon, v.People = v.on(v.store, 0)
		test(v)
	}
}

// on returns a monitor and its people on a store.
func (v *town) on(s monitor.Store, hashing int) (*monitor.Monitor, *people.People) {
	v.Helper()
	mon, err := monitor.New(s, &monitor.Config{Now: v.clock.Now, AuditRetention: 365 * 24 * time.Hour})
	v.must(err)
	known, err := people.New(mon, &people.Config{Hashing: hashing, Logger: slog.New(slog.NewTextHandler(v.log, nil))})
	v.must(err)
	return mon, known
}

func (v *town) must(err error) {
	v.Helper()
	if err != nil {
		v.Fatal(err)
	}
}

func (v *town) is(err, want error) {
	v.Helper()
	if !errors.Is(err, want) {
		v.Errorf("the error is %v, want %v", err, want)
	}
}

// stored returns a column of all records, as it is in the database.
func (v *town) stored(column string) (values []string) {
	v.Helper()
	v.must(v.db.Bun(v.T).NewRaw("SELECT ? FROM rollcall_records", bun.Ident(column)).Scan(v.Context(), &values))
	return values
}

// totp returns the secret of a person as it is in the database.
func (v *town) totp(p people.Person) string {
	v.Helper()
	var value string
	v.must(v.db.Bun(v.T).NewRaw("SELECT value FROM rollcall_records WHERE kind = 'person' AND key = ?", p.ID.String()).Scan(v.Context(), &value))
	var document struct{ TOTP string }
	v.must(json.Unmarshal([]byte(value), &document))
	return document.TOTP
}

// setTOTP writes the secret of a person into the database.
func (v *town) setTOTP(p people.Person, secret string) {
	v.Helper()
	_, err := v.db.Bun(v.T).NewRaw("UPDATE rollcall_records SET value = replace(value, ?, ?) WHERE kind = 'person' AND key = ?", v.totp(p), secret, p.ID.String()).Exec(v.Context())
	v.must(err)
}

// settled adds a person with a password.
func (v *town) settled(s people.Spec) people.Person {
	v.Helper()
	_, link, err := v.Create(v.Context(), s)
	v.must(err)
	p, err := v.UseLink(v.Context(), link.Token, "", "", password)
	v.must(err)
	return p
}

// open stores a session of a person as a sign-in has read them.
func (v *town) open(token string, p people.Person) error {
	s := sessions.Session{Person: p.ID, Revision: p.Revision, CreatedAt: v.clock.Now(), SeenAt: v.clock.Now(), Until: v.clock.Now().Add(time.Hour)}
	return sessions.New(v.mon).Open(v.Context(), token, "", s, func(ctx context.Context, tx records.Tx) error { return v.Unchanged(ctx, tx, p) })
}

// isOpen reports whether there is a session with a token.
func (v *town) isOpen(token string) bool {
	v.Helper()
	_, err := sessions.New(v.mon).Find(v.Context(), token)
	if err != nil {
		v.is(err, checks.ErrNotFound)
	}
	return err == nil
}

func (v *town) signIn(email, password, address string) error {
	_, err := v.SignIn(v.Context(), people.Attempt{Email: email, Password: password, Address: address})
	return err
}

// TestRights: roles stand on the ladder of rights, and what is unknown is below it.
func TestRights(t *testing.T) {
	for role, want := range map[people.Role]checks.Right{
		people.Viewer: checks.Read, people.Editor: checks.Edit, people.Owner: checks.Own, "": checks.None, "admin": checks.None, "Owner": checks.None,
	} {
		if got := role.Right(); got != want {
			t.Errorf("role %q: right %d, want %d", role, got, want)
		}
	}
}

func TestPeople(t *testing.T) {
	each(t, func(v *town) {
		ctx := v.Context()
		first, err := v.First(ctx)
		v.must(err)
		// Somebody from an identity provider does not take the link away from the operator.
		_, err = v.SignInExternal(ctx, people.External{Issuer: "https://id.example.org", Subject: "1", Email: "early@example.org", EmailVerified: true})
		v.must(err)
		for _, email := range []string{"nobody", "early@example.org"} {
			_, err = v.UseLink(ctx, first.Token, email, "", password)
			if _, ok := errors.AsType[*checks.FieldError](err); !ok {
				v.Errorf("%s: %v", email, err)
			}
		}
		ann, err := v.UseLink(ctx, first.Token, " Ann@Example.org ", "Ann", password)
		v.must(err)
		if !ann.Admin || ann.Email != "ann@example.org" || !ann.HasPassword || ann.Role(uuid.New()) != people.Owner {
			v.Errorf("the first administrator is %+v", ann)
		}
		_, err = v.UseLink(ctx, first.Token, "eve@example.org", "", password)
		v.is(err, checks.ErrNotFound)
		_, err = v.First(ctx)
		v.is(err, checks.ErrExists)
		_, _, err = v.Create(ctx, people.Spec{Email: "ANN@example.org"})
		v.is(err, checks.ErrExists)

		project := uuid.New()
		bob, link, err := v.Create(ctx, people.Spec{Email: "bob@example.org", Roles: map[uuid.UUID]people.Role{project: people.Viewer}})
		v.must(err)
		v.is(v.signIn("bob@example.org", "", "192.0.2.1"), people.ErrRefused)
		_, err = v.UseLink(ctx, link.Token, "eve@example.org", "Eve", password)
		v.must(err)
		v.must(v.signIn("bob@example.org", password, "192.0.2.1"))
		_, _, err = v.Create(ctx, people.Spec{Email: "carl@example.org", Roles: map[uuid.UUID]people.Role{uuid.New(): people.Owner}})
		v.must(err)
		if members, err := v.Members(ctx, project); len(members) != 2 || members[0].ID != ann.ID || !members[0].Admin || members[1].ID != bob.ID || members[1].Role(project) != people.Viewer {
			v.Errorf("the members are %+v, %v", members, err)
		}
		v.is(v.SetAdmin(ctx, ann.ID, false), people.ErrLastAdmin)
		v.is(v.Delete(ctx, ann.ID), people.ErrLastAdmin)
		v.must(v.SetAdmin(ctx, bob.ID, true))
		v.must(v.Delete(ctx, ann.ID))
		_, err = v.ByEmail(ctx, "ann@example.org")
		v.is(err, checks.ErrNotFound)
		_, _, err = v.Create(ctx, people.Spec{Email: "ann@example.org"}) // the address is free again
		v.must(err)
		_, old, err := v.Create(ctx, people.Spec{Email: "late@example.org"})
		v.must(err)
		v.clock.Advance(72 * time.Hour)
		_, err = v.Link(ctx, old.Token)
		v.is(err, checks.ErrNotFound)
	})
}

// TestSessionsEnd: what changes the password or a second factor deletes the sessions, and a late visit does not bring one back. A
// new role deletes none.
func TestSessionsEnd(t *testing.T) {
	each(t, func(v *town) {
		ctx, project := v.Context(), uuid.New()
		v.settled(people.Spec{Email: "root@example.org", Admin: true})
		ann := v.settled(people.Spec{Email: "ann@example.org"})
		begin := func(token string) sessions.Session {
			now, err := v.ByID(ctx, ann.ID)
			v.must(err)
			v.must(v.open(token, now))
			s, err := sessions.New(v.mon).Find(ctx, token)
			v.must(err)
			return s
		}
		change := func(from, to string) error { _, err := v.ChangePassword(ctx, ann.ID, from, to, ""); return err }
		for name, end := range map[string]func() error{
			"mfa":      func() error { return v.ResetMFA(ctx, ann.ID) },
			"all":      func() error { return v.EndSessions(ctx, ann.ID, "") },
			"one":      func() error { return v.EndSession(ctx, ann.ID, sessions.ID("token")) },
			"time":     func() error { v.clock.Advance(time.Hour + time.Second); return nil },
			"password": func() error { return change(password, password+"!") },
		} {
			seen := begin("token")
			v.must(end())
			seen.Until = v.clock.Now().Add(time.Hour)
			v.must(sessions.New(v.mon).Renew(ctx, "token", seen)) // a late visit
			if v.isOpen("token") {
				v.Errorf("%s: the session goes on", name)
			}
			if name == "password" {
				v.must(change(password+"!", password))
			}
		}
		begin("mine")
		for _, role := range []people.Role{people.Editor, people.Owner, ""} {
			v.must(v.SetRole(ctx, ann.ID, project, role))
		}
		for _, on := range []bool{true, false} {
			v.must(v.SetAdmin(ctx, ann.ID, on))
		}
		begin("other")
		v.must(v.EndSessions(ctx, ann.ID, sessions.ID("mine")))
		list, err := v.Sessions(ctx, ann.ID)
		v.must(err)
		if len(list) != 1 || list[0].ID != sessions.ID("mine") {
			v.Errorf("the sessions are %+v", list)
		}
		v.is(v.EndSession(ctx, uuid.New(), sessions.ID("mine")), checks.ErrNotFound)
	})
}

// TestLookAlikes: an address equals another one in any case, but not one that merely folds to the same ASCII.
func TestLookAlikes(t *testing.T) {
	each(t, func(v *town) {
		mike := v.settled(people.Spec{Email: "Mike@example.org"})
		for _, email := range []string{"MIKE@Example.ORG", " mike@example.org "} {
			if p, err := v.ByEmail(v.Context(), email); err != nil || p.ID != mike.ID {
				v.Errorf("%q: %v, %v", email, p, err)
			}
		}
		for _, email := range []string{"mi\u212ae@example.org", "m\u0130ke@example.org", "\uff4dike@example.org", "mike@example.org\u202e", "mike@\u200bexample.org",
			"mike@example.org\x00", "m\xffke@example.org", "m\ufffdke@example.org", "\xff", ""} {
			_, err := v.ByEmail(v.Context(), email)
			v.is(err, checks.ErrNotFound)
			v.is(v.signIn(email, password, "192.0.2.1"), people.ErrRefused)
			_, _, err = v.Create(v.Context(), people.Spec{Email: email})
			if _, ok := errors.AsType[*checks.FieldError](err); !ok {
				v.Errorf("%q: %v", email, err)
			}
			_, err = v.SignInExternal(v.Context(), people.External{Issuer: "https://id.example.org", Subject: email, Email: email, EmailVerified: true})
			v.is(err, people.ErrRefused)
		}
		if _, _, err := v.Create(v.Context(), people.Spec{Email: "jürgen@exämple.org"}); err != nil {
			v.Error(err)
		}
		if _, _, err := v.Create(v.Context(), people.Spec{Email: "JU\u0308RGEN@example.org"}); err != nil {
			v.Error(err)
		}
	})
}

func TestCodes(t *testing.T) {
	each(t, func(v *town) {
		ctx := v.Context()
		ann := v.settled(people.Spec{Email: "ann@example.org"})
		begun, err := v.BeginTOTP(ctx, ann.ID)
		v.must(err)
		code := func() string {
			text, err := totp.GenerateCode(begun.Secret, v.clock.Now())
			v.must(err)
			return text
		}
		_, err = v.ConfirmTOTP(ctx, ann.ID, password, begun.Secret, "000000")
		if _, ok := errors.AsType[*checks.FieldError](err); !ok {
			v.Errorf("a wrong code: %v", err)
		}
		used := code()
		_, err = v.ConfirmTOTP(ctx, ann.ID, "wrong", begun.Secret, used) // by somebody at an open browser
		v.is(err, people.ErrRefused)
		recovery, err := v.ConfirmTOTP(ctx, ann.ID, password, begun.Secret, used)
		v.must(err)
		v.is(v.CheckCode(ctx, ann.ID, used, "", people.Device{}), people.ErrRefused)
		v.clock.Advance(time.Minute)
		used = code()
		v.must(v.CheckCode(ctx, ann.ID, used, "", people.Device{}))
		v.is(v.CheckCode(ctx, ann.ID, used, "", people.Device{}), people.ErrRefused)
		v.must(v.CheckCode(ctx, ann.ID, strings.ToUpper(recovery[3]), "", people.Device{}))
		v.is(v.CheckCode(ctx, ann.ID, recovery[3], "", people.Device{}), people.ErrRefused)
		v.is(v.RemoveTOTP(ctx, ann.ID, "wrong"), people.ErrRefused)
		v.must(v.RemoveTOTP(ctx, ann.ID, password))
		v.clock.Advance(time.Minute)
		v.is(v.CheckCode(ctx, ann.ID, code(), "", people.Device{}), people.ErrRefused)
		v.is(v.CheckCode(ctx, ann.ID, recovery[4], "", people.Device{}), people.ErrRefused)
	})
}

func TestExternal(t *testing.T) {
	each(t, func(v *town) {
		ctx := v.Context()
		mon, err := monitor.New(v.store, nil)
		v.must(err)
		project, _, err := mon.Projects().Create(ctx, checks.ProjectSpec{Name: "harbor"})
		v.must(err)
		local := v.settled(people.Spec{Email: "ann@example.org"})
		ann := people.External{Issuer: "https://id.example.org", Subject: "1", Email: "Ann@example.org"}
		_, err = v.SignInExternal(ctx, ann)
		v.is(err, people.ErrRefused) // not verified
		ann.EmailVerified = true
		found, err := v.SignInExternal(ctx, ann)
		v.must(err)
		if found.ID != local.ID || found.Issuer != ann.Issuer {
			v.Errorf("found %+v", found)
		}
		other := ann
		other.Subject = "2"
		_, err = v.SignInExternal(ctx, other)
		v.is(err, people.ErrRefused)
		ann.Email, ann.HasRoles, ann.Roles = "moved@example.org", true, map[string]people.Role{"harbor": people.Editor, "gone": people.Owner}
		found, err = v.SignInExternal(ctx, ann)
		v.must(err)
		if found.ID != local.ID || len(found.Roles) != 1 || found.Roles[project.ID] != people.Editor {
			v.Errorf("found %+v", found)
		}
		fresh, err := v.SignInExternal(ctx, people.External{Issuer: "https://id.example.org", Subject: "3", Email: "bob@example.org", HasRoles: true, Roles: map[string]people.Role{"*": people.Viewer}})
		v.must(err) // nobody has the address
		if !fresh.Unverified || fresh.HasPassword || fresh.Email != "bob@example.org" || fresh.Roles[project.ID] != people.Viewer {
			v.Errorf("a new person is %+v", fresh)
		}
		for _, email := range []string{"other@example.org", "bob@example.org"} {
			want := email != "bob@example.org"
			again, err := v.SignInExternal(ctx, people.External{Issuer: "https://id.example.org", Subject: "3", Email: email, EmailVerified: true})
			v.must(err)
			if again.Unverified != want {
				v.Errorf("with %s verified, the address is unverified: %t", email, again.Unverified)
			}
		}
		v.must(v.AddPasskey(ctx, fresh, people.Passkey{ID: []byte{1, 2}, Name: "phone"}))
		v.is(v.AddPasskey(ctx, found, people.Passkey{ID: []byte{1, 2}}), checks.ErrExists)
		owner, err := v.ByPasskey(ctx, []byte{1, 2})
		v.must(err)
		if owner.ID != fresh.ID {
			v.Errorf("the passkey is of %+v", owner)
		}
		v.must(v.DeletePasskey(ctx, fresh.ID, []byte{1, 2}))
		_, err = v.ByPasskey(ctx, []byte{1, 2})
		v.is(err, checks.ErrNotFound)
		for _, want := range []bool{true, false} {
			first, err := v.Spend(ctx, "answer", v.clock.Now().Add(time.Minute))
			v.must(err)
			if first != want {
				v.Errorf("spending is the first: %t, want %t", first, want)
			}
		}
	})
}

// TestUnprovedClaims: an address that a provider has not verified keeps nobody from getting it, in any way.
func TestUnprovedClaims(t *testing.T) {
	const issuer = "https://id.example.org"
	at := func(subject, email string, verified bool) people.External {
		return people.External{Issuer: issuer, Subject: subject, Email: email, EmailVerified: verified}
	}
	for name, proves := range map[string]func(v *town, email string) (people.Person, error){
		"provider": func(v *town, email string) (people.Person, error) {
			return v.SignInExternal(v.Context(), at("owner", email, true))
		},
		"invitation": func(v *town, email string) (people.Person, error) {
			p, _, err := v.Create(v.Context(), people.Spec{Email: email})
			return p, err
		},
		"first administrator": func(v *town, email string) (people.Person, error) {
			link, err := v.First(v.Context())
			v.must(err)
			return v.UseLink(v.Context(), link.Token, email, "", password)
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(v *town) {
				ctx := v.Context()
				eve, err := v.SignInExternal(ctx, at("eve", "ann@example.org", false))
				v.must(err)
				mallory, err := v.SignInExternal(ctx, at("mallory", "Ann@example.org", false)) // nor from another claim
				v.must(err)
				owner, err := proves(v, "ann@example.org")
				v.must(err)
				if owner.Unverified || eve.ID == owner.ID || eve.ID == mallory.ID || mallory.ID == owner.ID {
					t.Fatalf("the owner is %+v, the others %+v and %+v", owner, eve, mallory)
				}
				found := func() {
					t.Helper()
					if p, err := v.ByEmail(ctx, "ANN@example.org"); err != nil || p.ID != owner.ID {
						t.Errorf("the address is that of %+v, %v", p, err)
					}
				}
				found()
				for range 2 { // a claim that is proved later comes too late
					again, err := v.SignInExternal(ctx, at("eve", "ann@example.org", true))
					v.must(err)
					if again.ID != eve.ID || !again.Unverified {
						t.Errorf("eve is %+v", again)
					}
					found()
				}
				_, err = v.SignInExternal(ctx, at("late", "ann@example.org", false))
				v.is(err, people.ErrRefused)
				v.must(v.Delete(ctx, eve.ID)) // takes nothing along
				found()
			})
		})
	}
}

// TestClaimsLookAlike: an address that a provider has not verified looks like no other one.
func TestClaimsLookAlike(t *testing.T) {
	each(t, func(v *town) {
		claim := func(email string, verified bool) (people.Person, error) {
			return v.SignInExternal(v.Context(), people.External{Issuer: "https://id.example.org", Subject: email, Email: email, EmailVerified: verified})
		}
		for _, email := range []string{"ann@example\u3002org", "ann@example\uff61org", "ann@example\uff0eorg", "ann@example\ufe12org", "ann@example\ufe52org",
			"ann@example\u2024org", "ann\u3002smith@example.org", "\u0430nn@example.org", "ann\ua4f8smith@example.org", "ann\uff20example.org@example.net"} {
			_, err := claim(email, false)
			v.is(err, people.ErrAddress)
			v.is(err, people.ErrRefused)
		}
		for email, want := range map[string]string{
			"ann@example\ua4f8org": "ann@xn--exampleorg-5c29a", "ann@\u0435xample.org": "ann@xn--xample-2of.org", "ann@ex\u00e4mple.org": "ann@xn--exmple-cua.org",
		} {
			p, err := claim(email, false)
			v.must(err)
			if p.Email != want || !p.Unverified {
				v.Errorf("%q is shown as %q, want %q", email, p.Email, want)
			}
		}
		// A verified address is what its owner writes, and so is one that is verified later.
		p, err := claim("ann@ex\u00e4mple.org", true)
		v.must(err)
		if p.Email != "ann@ex\u00e4mple.org" || p.Unverified {
			v.Errorf("%+v", p)
		}
		_, err = v.ByEmail(v.Context(), "ann@xn--exmple-cua.org")
		v.is(err, checks.ErrNotFound)
		if found, err := v.ByEmail(v.Context(), p.Email); err != nil || found.ID != p.ID {
			v.Errorf("%+v, %v", found, err)
		}
	})
}

// TestLastAdministratorOfProvider: the claims of a provider take the right from all administrators but the last.
func TestLastAdministratorOfProvider(t *testing.T) {
	each(t, func(v *town) {
		ctx := v.Context()
		in := func(subject string, admin bool) bool {
			t.Helper()
			p, err := v.SignInExternal(ctx, people.External{Issuer: "https://id.example.org", Subject: subject, Email: subject + "@example.org", EmailVerified: true, HasRoles: true, Admin: admin})
			v.must(err)
			return p.Admin
		}
		root := v.settled(people.Spec{Email: "root@example.org", Admin: true})
		for range 2 {
			if !in("root", false) {
				t.Error("the last administrator has lost the right")
			}
		}
		if n := strings.Count(v.log.String(), "kept the last administrator"); n != 1 || !strings.Contains(v.log.String(), root.ID.String()) {
			t.Errorf("the log says it %d times: %s", n, v.log)
		}
		if !in("ann", true) || in("root", false) || !in("ann", false) || in("root", false) {
			t.Error("not exactly ann is an administrator")
		}
	})
}

// TestLimits: attempts are limited by address and by account, and a flood from elsewhere does not lock a person out. Each
// refusal is logged once, without what was typed.
func TestLimits(t *testing.T) {
	eachAtRelease(t, func(v *town) {
		ann := v.settled(people.Spec{Email: "ann@example.org"})
		v.must(v.signIn("ann@example.org", password, "192.0.2.1"))
		v.log.Reset()
		refused, limited := 0, 0
		for i := range 200 {
			err := v.signIn("ann@example.org", "wr0ng-secret", fmt.Sprintf("198.51.100.%d", i))
			if _, ok := errors.AsType[*people.LimitedError](err); ok {
				limited++
			} else if v.is(err, people.ErrRefused); err != nil {
				refused++
			}
		}
		if refused != 100 || limited != 100 {
			v.Errorf("%d attempts were refused and %d limited, want 100 and 100", refused, limited)
		}
		if n := strings.Count(v.log.String(), "refused a sign-in"); n < 2 || n > 60 { // the others are counted
			v.Errorf("%d lines for 200 refusals", n)
		}
		if text := v.log.String(); strings.Contains(text, "wr0ng") || !strings.Contains(text, ann.ID.String()) {
			v.Errorf("the log: %.500s", text)
		}
		v.must(v.signIn("ann@example.org", password, "192.0.2.1"))
		for range 30 {
			v.must(v.signIn("ann@example.org", password, "192.0.2.1")) // successes do not count
		}
		for range 10 {
			v.is(v.signIn("eve@example.org", "wrong", "203.0.113.9"), people.ErrRefused)
		}
		if err := v.signIn("eve@example.org", "wrong", "203.0.113.9"); errors.Is(err, people.ErrRefused) {
			v.Error("an unknown account has no limit")
		}
		// A known browser has a separate limit, so the person can sign in from a new network.
		device := people.Device{Person: ann.ID, ID: uuid.New()}
		byDevice := func(password string) error {
			_, err := v.SignIn(v.Context(), people.Attempt{Email: "ann@example.org", Password: password, Address: "198.51.100.200", Device: device})
			return err
		}
		if err := v.signIn("ann@example.org", password, "198.51.100.201"); err == nil || errors.Is(err, people.ErrRefused) {
			v.Errorf("a stranger during the flood: %v", err)
		}
		v.must(byDevice(password))
		for range 10 {
			v.is(byDevice("wrong"), people.ErrRefused)
		}
		if _, ok := errors.AsType[*people.LimitedError](byDevice(password)); !ok {
			v.Error("a known browser has no limit")
		}
		device.Person = uuid.New()
		if err := byDevice(password); err != nil { // the network is known since the sign-in above
			v.Error(err)
		}
		// One network can neither go on with other accounts nor fill the memory with them, which would reset all counts.
		before := v.Buckets()
		for i := range 300 {
			_ = v.signIn(fmt.Sprintf("%d@example.org", i), "wrong", "203.0.113.9")
		}
		if grown := v.Buckets() - before; grown > 100 {
			v.Errorf("300 attempts from one network left %d counts", grown)
		}
	})
}

func TestHashesOfDjango(t *testing.T) {
	salt := []byte("c29tZXNhbHRzb21lc2FsdA")
	b := base64.RawStdEncoding
	django := fmt.Sprintf("argon2$argon2id$v=19$m=102400,t=2,p=8$%s$%s", b.EncodeToString(salt), b.EncodeToString(argon2.IDKey([]byte(password), salt, 2, 102400, 8, 32)))
	for _, hash := range []string{django, "pbkdf2_sha256$600000$nTLZvO1aYkkCZ5vK9bFq3d$n7SqrY5hIWXf8D4LmWrUIXaWEkAlYaNPK+rMHSYs2lA="} {
		for text, want := range map[string]bool{password: true, password + "x": false, "": false} {
			if ok, replace := people.Verify(hash, text); ok != want || !replace {
				t.Errorf("%s verifies %q: %v, replaced %v", hash, text, ok, replace)
			}
		}
	}
	for _, hash := range []string{"", "$", "$argon2id$v=19$m=999999999,t=2,p=1$c2FsdHNhbHQ$AAAAAAAAAAAAAAAAAAAAAAAAAAA", "pbkdf2_sha256$9999999999$s$AAAA", "md5$x"} {
		if ok, _ := people.Verify(hash, password); ok {
			t.Errorf("%q verifies", hash)
		}
	}
}

// TestPasswords: short, long, common and guessable passwords are refused in words that say why.
func TestPasswords(t *testing.T) {
	for text, weak := range map[string]bool{
		password: false, "zwölf-Zeichen": false, strings.Repeat("a", 40): true, "Password1234": true, "123456789012": true,
		"qwertyuiopqw": true, "abcabcabcabc": true, "ann@example.org": true, "p@ssw0rd1234": true,
		"iloveyou1234": true, "gloomy otter paints tiles": false,
		// A known word with a year, and signs around it.
		"Rollcall2024!": true, "Password2024!": true, "Summer2025!!": true, "Administrator2026!": true, "#2024-Rollcall!": true,
		"R0llc@ll2024!": true, "Lena.2026-27": true, "Example.2026": true, "Example2026!": true, "Anna-Lena-2026": false,
		"RollcallRollcall1!": true, "MyPassword2024": true, "testpassword123": true, "Rollcall-2024-24": true, "kfjq-8392017": false,
		"correct-horse-9": false, "8%3$9&2*7@5k1!": false, "test-password-123": false,
		// Letters outside of ASCII.
		strings.Repeat("ü", 12): true, strings.Repeat("я", 12): true, strings.Repeat("🔑", 12): true, strings.Repeat("密码", 6): true,
		"pässwörd1234": true, "ｐａｓｓｗｏｒｄ１２３４": true, "абвгдежзийкл": true, "йцукенгшщзхъ": true, "ЙЦУКЕНГШЩЗХЪ": true,
		"Пароль2024!!": true, "Müller-2024!": true, "αβγδεζηθικλμ": true, "١٢٣٤٥٦٧٨٩٠١٢": true, "߁߂߃߁߂߃߁߂߃߁߂߃": true, "Пароль٢٠٢٤!!": true, "верблюд-танцует": false, "密码安全很重要的事情啊是吧": false, "naïve façade ünder": false,
	} {
		if got := people.Weak(text, "ann@example.org", "Anna Lena"); got != weak {
			t.Errorf("%q is weak: %v", text, got)
		}
	}
	each(t, func(v *town) {
		_, link, err := v.Create(v.Context(), people.Spec{Email: "ann@example.org"})
		v.must(err)
		for text, want := range map[string]string{"short": "too short", strings.Repeat("long ", 60): "too long", "\xff" + password: "UTF-8", "password1234": "easy to guess"} {
			_, err := v.UseLink(v.Context(), link.Token, "", "", text)
			if field, ok := errors.AsType[*checks.FieldError](err); !ok || field.Field != "password" || !strings.Contains(field.Reason, want) {
				v.Errorf("%.20q: %v", text, err)
			}
		}
		_, err = v.UseLink(v.Context(), link.Token, "", "", password) // the link was not used up
		v.must(err)
	})
}

// TestForeignHash: a person who comes with a hash of Django signs in, and the hash is replaced.
func TestForeignHash(t *testing.T) {
	each(t, func(v *town) {
		const django = "pbkdf2_sha256$600000$nTLZvO1aYkkCZ5vK9bFq3d$n7SqrY5hIWXf8D4LmWrUIXaWEkAlYaNPK+rMHSYs2lA="
		if _, _, err := v.Create(v.Context(), people.Spec{Email: "bad@example.org", PasswordHash: "md5$x"}); err == nil {
			v.Error("a hash that cannot be verified is taken")
		}
		ann, _, err := v.Create(v.Context(), people.Spec{Email: "ann@example.org", PasswordHash: django})
		v.must(err)
		v.is(v.signIn("ann@example.org", "wrong", "192.0.2.1"), people.ErrRefused)
		for range 2 {
			v.must(v.signIn("ann@example.org", password, "192.0.2.1"))
		}
		kind, key := "person", ann.ID.String()
		found, err := v.mon.Installation().Records().Records(v.Context(), v.clock.Now(), records.Query{Kind: &kind, Key: &key})
		v.must(err)
		if text := string(found[0].Value); strings.Contains(text, "pbkdf2") || !strings.Contains(text, "$argon2id$v=19$m=19456,t=2,p=1$") {
			v.Errorf("the hash was not replaced: %s", text)
		}
	})
}

// TestHashing: a flood of passwords is refused rather than queued, except from where the person has signed in before. Each
// refusal is logged once.
func TestHashing(t *testing.T) {
	each(t, func(v *town) {
		_, known := v.on(v.store, 1)
		v.settled(people.Spec{Email: "ann@example.org"})
		v.must(v.signIn("ann@example.org", password, "192.0.2.1"))
		v.log.Reset()
		var wait sync.WaitGroup
		var limited, refused atomic.Int32
		for i := range 200 {
			wait.Go(func() {
				_, err := known.SignIn(context.Background(), people.Attempt{Email: fmt.Sprintf("e%d@example.org", i), Password: "wrong", Address: fmt.Sprintf("198.51.100.%d", i)})
				if _, ok := errors.AsType[*people.LimitedError](err); ok {
					limited.Add(1)
				} else if errors.Is(err, people.ErrRefused) {
					refused.Add(1)
				}
			})
		}
		_, err := known.SignIn(v.Context(), people.Attempt{Email: "ann@example.org", Password: password, Address: "192.0.2.1"})
		v.must(err) // during the flood
		wait.Wait()
		if limited.Load()+refused.Load() != 200 || refused.Load() == 0 {
			v.Errorf("%d were refused and %d limited of 200", refused.Load(), limited.Load())
		}
		if lines := strings.Count(v.log.String(), "refused a sign-in"); lines == 0 || lines > 60 { // the others are counted
			v.Errorf("%d lines for 200 refusals", lines)
		}
	})
}

// TestAudit: changes are in the log, and secrets are not.
func TestAudit(t *testing.T) {
	each(t, func(v *town) {
		ctx := audit.WithActor(v.Context(), audit.Actor{Kind: audit.CommandLine, Name: "root"})
		project := uuid.New()
		ann := v.settled(people.Spec{Email: "ann@example.org"})
		v.must(v.SetRole(ctx, ann.ID, project, people.Editor))
		_, err := v.ChangePassword(ctx, ann.ID, password, password+"!", "")
		v.must(err)
		entries, err := v.mon.Installation().Audit(ctx, audit.Query{})
		v.must(err)
		text := fmt.Sprint(entries)
		for _, want := range []string{"person.create", "person.role", "person.password", "ann@example.org", "root", string(people.Editor)} {
			if !strings.Contains(text, want) {
				v.Errorf("the audit log has no %s: %s", want, text)
			}
		}
		if strings.Contains(text, password) || strings.Contains(text, "argon2") {
			v.Errorf("the audit log has a secret: %s", text)
		}
	})
}

// TestLinkOnce: of many who use a link at once, one gets in.
func TestLinkOnce(t *testing.T) {
	each(t, func(v *town) {
		_, link, err := v.Create(v.Context(), people.Spec{Email: "ann@example.org"})
		v.must(err)
		var wait sync.WaitGroup
		results := make(chan error, 6)
		for range cap(results) {
			wait.Go(func() {
				_, err := v.UseLink(context.Background(), link.Token, "", "", password)
				results <- err
			})
		}
		wait.Wait()
		close(results)
		used := 0
		for err := range results {
			if err == nil {
				used++
			} else {
				v.is(err, checks.ErrNotFound)
			}
		}
		if used != 1 {
			v.Errorf("the link was used %d times", used)
		}
	})
}

// TestFirstAtOnce: of two links that are used at once, one creates the first administrator.
func TestFirstAtOnce(t *testing.T) {
	each(t, func(v *town) {
		var links [2]people.Link
		for i := range links {
			var err error
			links[i], err = v.First(v.Context())
			v.must(err)
		}
		var errs [2]error
		var both sync.WaitGroup
		for i, link := range links {
			both.Go(func() {
				_, errs[i] = v.UseLink(v.Context(), link.Token, fmt.Sprintf("a%d@example.org", i), "A", password)
			})
		}
		both.Wait()
		all, err := v.List(v.Context())
		v.must(err)
		if len(all) != 1 || (errs[0] == nil) == (errs[1] == nil) {
			v.Errorf("%d people, errors %v", len(all), errs)
		}
	})
}

// TestPersonLeavesNothing: whatever an account has, a deletion leaves no record of it, or one that ends within days.
func TestPersonLeavesNothing(t *testing.T) {
	each(t, func(v *town) {
		ctx := v.Context()
		root := v.settled(people.Spec{Email: "root@example.org", Admin: true})
		before := v.stored("kind")
		ann, err := v.SignInExternal(ctx, people.External{Issuer: "https://id.example.org", Subject: "1", Email: "ann@example.org", EmailVerified: true})
		v.must(err)
		_, err = v.ResetPassword(by(ctx, root), ann.ID)
		v.must(err)
		ann, err = v.ByID(ctx, ann.ID)
		v.must(err)
		v.must(v.AddPasskey(ctx, ann, people.Passkey{ID: []byte("key"), Name: "key"}))
		v.must(v.open("token", ann))
		_, err = v.Spend(ctx, "once", v.clock.Now().Add(time.Minute))
		v.must(err)
		made := v.stored("kind")
		for _, kind := range []string{"person", "email", "identity", "link", "passkey", "session", "notice", "spent"} {
			if count(made, kind) == count(before, kind) {
				v.Errorf("nothing of the kind %s", kind)
			}
		}
		v.must(v.Delete(ctx, ann.ID))
		v.clock.Advance(96 * time.Hour)
		v.must(v.mon.Tick(ctx))
		for _, kind := range v.stored("kind") {
			if count(v.stored("kind"), kind) > count(before, kind) {
				v.Errorf("of the kind %s, something is left: %v, before %v", kind, v.stored("kind"), before)
			}
		}
	})
}

func count(list []string, text string) (n int) {
	for _, item := range list {
		if item == text {
			n++
		}
	}
	return n
}
