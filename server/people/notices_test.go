package people_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/pquerna/otp/totp"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/server/people"
)

// mailbox receives what people are sent. While it is away, it takes nothing.
type mailbox struct {
	away  bool
	mails []mailed
}

type mailed struct{ to, subject, text string }

func (m *mailbox) take(_ context.Context, to, subject, text string) error {
	if m.away {
		return errors.New("connection refused")
	}
	m.mails = append(m.mails, mailed{to, subject, text})
	return nil
}

// mailing replaces the people of a town by those of a server that sends mail.
func (v *town) mailing() *mailbox {
	v.Helper()
	box := new(mailbox)
	v.People = v.server(&people.Config{Mail: box.take, URL: "https://rollcall.example.org"})
	return box
}

// server returns the people of another server on the database.
func (v *town) server(c *people.Config) *people.People {
	v.Helper()
	mon, err := monitor.New(v.store, &monitor.Config{Now: v.clock.Now, AuditRetention: time.Hour})
	v.must(err)
	known, err := people.New(mon, c)
	v.must(err)
	return known
}

// arrived returns the mails that have arrived since the last call, after the server has sent those that are due.
func (v *town) arrived(box *mailbox) []mailed {
	v.Helper()
	v.must(v.Tick(v.Context()))
	list := box.mails
	box.mails = nil
	return list
}

// code returns a code of a secret that was not used before.
func (v *town) code(secret string) string {
	v.Helper()
	v.clock.Advance(time.Minute)
	text, err := totp.GenerateCode(secret, v.clock.Now())
	v.must(err)
	return text
}

// TestMailAboutChanges: each way to change how a person signs in sends one mail, which says what, when, from where and by whom, and
// no secret. What changes nothing sends none.
func TestMailAboutChanges(t *testing.T) {
	each(t, func(v *town) {
		box := v.mailing()
		ctx := people.WithBrowser(v.Context(), "Firefox on Linux")
		root := v.settled(people.Spec{Email: "root@example.org", Admin: true})
		ann, link, err := v.Create(ctx, people.Spec{Email: "ann@example.org"})
		v.must(err)
		v.arrived(box)
		own := audit.WithActor(ctx, audit.Actor{Kind: audit.Person, ID: ann.ID.String(), Name: ann.Email, Address: "192.0.2.7"})
		admin := audit.WithActor(ctx, audit.Actor{Kind: audit.Person, ID: root.ID.String(), Name: root.Email, Address: "192.0.2.1"})
		command := audit.WithActor(v.Context(), audit.Actor{Kind: audit.CommandLine, Name: "root"})
		const second = "purple monkey dishwasher 7"
		var secret string
		var recovery []string
		key := people.Passkey{ID: []byte("key"), Name: "http://evil.example.org"}
		for _, step := range []struct {
			name, subject, by string
			do                func() error
		}{
			{"invited", "a password was set", "your own account", func() (err error) {
				_, err = v.UseLink(own, link.Token, "", "", password)
				return err
			}},
			{"signed in", "", "", func() error { return v.signIn("ann@example.org", password, "192.0.2.7") }},
			{"a name", "", "", func() error { return v.SetName(own, ann.ID, "Ann") }},
			{"password", "the password was changed", "your own account", func() (err error) {
				_, err = v.ChangePassword(own, ann.ID, password, second, "")
				return err
			}},
			{"app", "", "your own account", func() error {
				begun, err := v.BeginTOTP(own, ann.ID)
				v.must(err)
				secret = begun.Secret
				recovery, err = v.ConfirmTOTP(own, ann.ID, second, secret, v.code(secret))
				return err
			}},
			{"a code", "", "", func() error { return v.CheckCode(own, ann.ID, v.code(secret), "192.0.2.7", people.Device{}) }},
			{"a recovery code", "a recovery code was used instead of the app. 9 recovery codes left", "your own account", func() error {
				return v.CheckCode(own, ann.ID, recovery[0], "192.0.2.7", people.Device{})
			}},
			{"passkey", "a passkey was added", "your own account", func() error {
				ann, err = v.ByID(ctx, ann.ID)
				v.must(err)
				return v.AddPasskey(own, ann, key)
			}},
			{"a passkey is used", "", "", func() error {
				used := key
				used.Counter = 3
				return v.UsePasskey(own, ann, used)
			}},
			{"passkey removed", "a passkey was removed", "your own account", func() error { return v.DeletePasskey(own, ann.ID, key.ID) }},
			{"app removed", "the authenticator app was turned off, and its recovery codes have ended", "your own account", func() error { return v.RemoveTOTP(own, ann.ID, second) }},
			{"nothing to reset", "", "", func() error { return v.ResetMFA(admin, ann.ID) }},
			{"second factors", "a passkey was removed", "root@example.org", func() error {
				ann, err = v.ByID(ctx, ann.ID)
				v.must(err)
				v.must(v.AddPasskey(own, ann, key))
				v.arrived(box)
				return v.ResetMFA(admin, ann.ID)
			}},
			{"reset", "the password was removed", "the command line root", func() (err error) {
				_, err = v.ResetPassword(command, ann.ID)
				return err
			}},
			{"provider", "an account at https://id.example.org was linked, which signs in to this account", "your own account", func() (err error) {
				_, err = v.SignInExternal(own, people.External{Issuer: "https://id.example.org", Subject: "1", Email: "ann@example.org", EmailVerified: true})
				return err
			}},
			{"provider again", "", "", func() (err error) {
				_, err = v.SignInExternal(own, people.External{Issuer: "https://id.example.org", Subject: "1", Email: "ann@example.org", EmailVerified: true})
				return err
			}},
		} {
			v.clock.Advance(15 * time.Minute)
			if err := step.do(); err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
			got := v.arrived(box)
			if step.by == "" {
				if len(got) > 0 {
					v.Errorf("%s: sent %q", step.name, got)
				}
				continue
			}
			if len(got) != 1 || got[0].to != "ann@example.org" {
				v.Fatalf("%s: sent %q", step.name, got)
			}
			mail := got[0]
			if step.subject != "" && mail.subject != "Your Rollcall account: "+step.subject {
				v.Errorf("%s: the subject is %q", step.name, mail.subject)
			}
			from := map[bool]string{true: "  From:    192.0.2.", false: "\n"}[step.name != "reset"]
			for _, want := range []string{"ann@example.org", "  Server:  https://rollcall.example.org\n", "\n  When:    24 November 2026, ", " UTC\n", "\n  By:      " + step.by + "\n", from} {
				if !strings.Contains(mail.text, want) {
					v.Errorf("%s: no %q in:\n%s", step.name, want, mail.text)
				}
			}
			if step.name != "reset" && !strings.Contains(mail.text, ", Firefox on Linux\n") {
				v.Errorf("%s: no browser in:\n%s", step.name, mail.text)
			}
			for _, not := range append([]string{"/signin/", "evil", password, second, secret}, recovery...) {
				if not != "" && strings.Contains(mail.text+mail.subject, not) {
					v.Errorf("%s: %q in:\n%s", step.name, not, mail.text)
				}
			}
		}
	})
}

// TestMailIsKept: a mail survives a mail server that is away, a restart, and a server that dies while it sends. It goes out once.
func TestMailIsKept(t *testing.T) {
	each(t, func(v *town) {
		box := v.mailing()
		ann := v.settled(people.Spec{Email: "ann@example.org"})
		v.arrived(box)
		box.away = true
		begun := time.Now()
		v.must(v.DeletePasskeyOf(ann))
		if took := time.Since(begun); took > time.Minute {
			v.Errorf("the change took %v", took)
		}
		for range 5 {
			if got := v.arrived(box); len(got) > 0 {
				v.Fatal(got)
			}
			v.clock.Advance(10 * time.Second)
		}
		v.People = v.server(&people.Config{}) // of a server without mail
		v.must(v.Tick(v.Context()))
		dying, die := context.WithCancel(v.Context())
		v.People = v.server(&people.Config{Mail: func(ctx context.Context, _, _, _ string) error {
			die()
			<-ctx.Done()
			return ctx.Err()
		}})
		v.clock.Advance(10 * time.Minute)
		v.must(v.Tick(dying))
		*box = mailbox{}
		others := []*people.People{v.server(&people.Config{Mail: box.take}), v.server(&people.Config{Mail: box.take})}
		for _, p := range append(others, others...) {
			v.must(p.Tick(v.Context()))
			v.clock.Advance(time.Second)
		}
		if len(box.mails) != 1 || !strings.Contains(box.mails[0].text, "A passkey was added.") || !strings.Contains(box.mails[0].text, "A passkey was removed.") {
			v.Errorf("sent %q", box.mails)
		}
	})
}

// DeletePasskeyOf adds and deletes a passkey.
func (v *town) DeletePasskeyOf(p people.Person) error {
	p, err := v.ByID(v.Context(), p.ID)
	v.must(err)
	v.must(v.AddPasskey(v.Context(), p, people.Passkey{ID: []byte(p.Email), Name: "key"}))
	return v.DeletePasskey(v.Context(), p.ID, []byte(p.Email))
}

// TestMailsAreBounded: however much changes, five mails go to an address in an hour. The rest leaves in one, with the latest
// change.
func TestMailsAreBounded(t *testing.T) {
	each(t, func(v *town) {
		box := v.mailing()
		ann := v.settled(people.Spec{Email: "ann@example.org"})
		sent := len(v.arrived(box))
		for range 100 {
			v.must(v.DeletePasskeyOf(ann))
			sent += len(v.arrived(box))
			v.clock.Advance(time.Second)
		}
		if sent != 5 {
			v.Errorf("sent %d mails, want 5", sent)
		}
		v.clock.Advance(time.Hour)
		last := v.arrived(box)
		if len(last) != 1 || strings.Count(last[0].text, "When:") != 50 || !strings.Contains(last[0].text, "changes more. The latest:\n\nA passkey was removed.\n") {
			v.Fatalf("sent %q", last)
		}
		v.clock.Advance(2 * time.Hour)
		v.must(v.DeletePasskeyOf(ann))
		if got := v.arrived(box); len(got) != 1 || strings.Count(got[0].text, "When:") != 2 {
			v.Errorf("sent %q", got)
		}
	})
}

// TestMailOfUnverified: an address that nobody has verified may be somebody else's, and gets no mail. It does once it is verified.
func TestMailOfUnverified(t *testing.T) {
	each(t, func(v *town) {
		box := v.mailing()
		ctx := v.Context()
		eve := people.External{Issuer: "https://id.example.org", Subject: "eve", Email: "ann@example.org"}
		claimed, err := v.SignInExternal(ctx, eve)
		v.must(err)
		v.must(v.DeletePasskeyOf(claimed))
		if got := v.arrived(box); len(got) > 0 {
			v.Errorf("sent %q", got)
		}
		eve.EmailVerified = true
		_, err = v.SignInExternal(ctx, eve)
		v.must(err)
		v.must(v.DeletePasskeyOf(claimed))
		if got := v.arrived(box); len(got) != 1 || got[0].to != "ann@example.org" {
			v.Errorf("sent %q", got)
		}
		v.must(v.DeletePasskeyOf(claimed))
		v.must(v.Delete(ctx, claimed.ID))
		if got := v.arrived(box); len(got) > 0 {
			v.Errorf("to a deleted account: %q", got)
		}
	})
}

// TestZoneOfMail: a mail has the times of its person, with their zone.
func TestZoneOfMail(t *testing.T) {
	each(t, func(v *town) {
		box := v.mailing()
		ann := v.settled(people.Spec{Email: "ann@example.org"})
		v.must(v.SetPreferences(v.Context(), ann.ID, people.Preferences{Zone: "Europe/Riga"}))
		if got := v.arrived(box); len(got) != 1 || !strings.Contains(got[0].text, "When:    24 November 2026, 14:00:00 UTC+02:00 (Europe/Riga)\n") {
			v.Errorf("sent %q", got)
		}
	})
}

// TestRun: Run sends mails at once, removes roles in projects that are gone, and ends with its context.
func TestRun(t *testing.T) {
	each(t, func(v *town) {
		sent := make(chan string, 10)
		server := v.server(&people.Config{Mail: func(_ context.Context, to, _, _ string) error { sent <- to; return nil }})
		ctx, cancel := context.WithCancel(v.Context())
		done := make(chan struct{})
		go func() { server.Run(ctx); close(done) }()
		project, _, err := v.mon.Projects().Create(ctx, checks.ProjectSpec{Name: "kept"})
		v.must(err)
		gone := uuid.New()
		v.People = server
		v.settled(people.Spec{Email: "ann@example.org", Roles: map[uuid.UUID]people.Role{project.ID: people.Viewer, gone: people.Owner}})
		if to := <-sent; to != "ann@example.org" {
			v.Error(to)
		}
		cancel()
		<-done
		v.tend(server)
		if ann, err := v.ByEmail(v.Context(), "ann@example.org"); err != nil || fmt.Sprint(ann.Roles) != fmt.Sprint(map[uuid.UUID]people.Role{project.ID: people.Viewer}) {
			v.Errorf("the roles are %v, %v", ann.Roles, err)
		}
	})
}

// tend lets a server look through all people once.
func (v *town) tend(p *people.People) {
	v.Helper()
	v.must(p.Tend(v.Context()))
}

// TestSecretsAtRest: the database has no secret of an authenticator app in the clear. A copy in the record of another person, an
// altered one, and one whose key is missing are refused; recovery codes work, and a reset leads out.
func TestSecretsAtRest(t *testing.T) {
	each(t, func(v *town) {
		ctx := v.Context()
		keys := [][]byte{[]byte("the first key of this test")}
		with := func() *people.People {
			return v.server(&people.Config{Keys: func(context.Context, bool) ([][]byte, error) { return keys, nil }})
		}
		v.People = with()
		ann, bob := v.settled(people.Spec{Email: "ann@example.org"}), v.settled(people.Spec{Email: "bob@example.org"})
		secrets, recovery := map[uuid.UUID]string{}, map[uuid.UUID][]string{}
		for _, p := range []people.Person{ann, bob} {
			begun, err := v.BeginTOTP(ctx, p.ID)
			v.must(err)
			secrets[p.ID] = begun.Secret
			recovery[p.ID], err = v.ConfirmTOTP(ctx, p.ID, password, begun.Secret, v.code(begun.Secret))
			v.must(err)
		}
		check := func(p people.Person) error {
			return v.CheckCode(ctx, p.ID, v.code(secrets[p.ID]), "", people.Device{})
		}
		clear := func(what string) {
			v.Helper()
			for _, text := range v.stored("value") {
				for _, secret := range secrets {
					if strings.Contains(text, secret) {
						v.Errorf("%s: a secret is in the clear: %s", what, text)
					}
				}
			}
		}
		clear("set up")
		v.must(check(ann))
		before := v.totp(ann)
		if !strings.HasPrefix(before, "sealed:") {
			v.Errorf("stored %q", before)
		}

		// Rotation: the first key encrypts, and the others decrypt.
		keys = [][]byte{[]byte("the second key of this test"), keys[0]}
		v.People = with()
		v.must(check(ann))
		v.tend(v.People)
		keys = keys[:1]
		v.People = with()
		v.must(check(ann))
		v.must(check(bob))

		// A copied row, an altered one, and a missing key.
		good := v.totp(ann)
		v.setTOTP(ann, v.totp(bob))
		secrets[ann.ID] = secrets[bob.ID]
		v.is(check(ann), people.ErrSecret)
		v.setTOTP(ann, good+"AAAA")
		v.is(check(ann), people.ErrSecret)
		v.setTOTP(ann, secrets[ann.ID]) // nobody stores one in the clear
		v.is(check(ann), people.ErrSecret)
		v.setTOTP(ann, good)
		keys = [][]byte{[]byte("a key that is another one")}
		v.People = with()
		v.is(check(ann), people.ErrSecret)
		v.must(v.CheckCode(ctx, ann.ID, recovery[ann.ID][0], "", people.Device{}))
		v.must(v.RemoveTOTP(ctx, ann.ID, password))
		v.must(v.ResetMFA(ctx, bob.ID))
		begun, err := v.BeginTOTP(ctx, bob.ID)
		v.must(err)
		secrets[bob.ID] = begun.Secret
		_, err = v.ConfirmTOTP(ctx, bob.ID, password, begun.Secret, v.code(begun.Secret))
		v.must(err)
		v.must(check(bob))
		clear("set up again")
		for _, code := range recovery[bob.ID] {
			if len(strings.ReplaceAll(code, "-", "")) < 23 { // 112 bits, without which a plain hash would not keep it
				v.Errorf("the recovery code %q is too short", code)
			}
			for _, text := range v.stored("value") {
				if strings.Contains(text, code) || strings.Contains(text, strings.ReplaceAll(code, "-", "")) {
					v.Errorf("a recovery code is in the clear: %s", text)
				}
			}
		}
	})
}

// TestKeyInDatabase: without keys, one in the database encrypts. A key that is given later takes over.
func TestKeyInDatabase(t *testing.T) {
	each(t, func(v *town) {
		ctx := v.Context()
		ann := v.settled(people.Spec{Email: "ann@example.org"})
		begun, err := v.BeginTOTP(ctx, ann.ID)
		v.must(err)
		_, err = v.ConfirmTOTP(ctx, ann.ID, password, begun.Secret, v.code(begun.Secret))
		v.must(err)
		before := v.totp(ann)
		if strings.Contains(before, begun.Secret) || !strings.HasPrefix(before, "sealed:") {
			v.Errorf("stored %q", before)
		}
		v.People = v.server(&people.Config{Keys: func(context.Context, bool) ([][]byte, error) { return [][]byte{[]byte("a key of the server")}, nil }})
		v.must(v.CheckCode(ctx, ann.ID, v.code(begun.Secret), "", people.Device{}))
		if after := v.totp(ann); after[:len("sealed:")+12] == before[:len("sealed:")+12] {
			v.Errorf("stored %q, still under the key in the database", after)
		}
	})
}
