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
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/server/internal/sessions"
	"github.com/rollcall-dev/rollcall/server/people"
)

// by is a context in which a person acts.
func by(ctx context.Context, p people.Person) context.Context {
	return audit.WithActor(ctx, audit.Actor{Kind: audit.Person, ID: p.ID.String(), Name: p.Email})
}

// holder is somebody who has invited an address, and holds what they can of its account.
type holder struct {
	*town
	owner, invited people.Person
	link           people.Link
	// a is the owner's project, and b another one.
	a, b uuid.UUID
}

// invite lets an owner invite an address. With prepare, the owner uses the link, and sets everything up that signs in.
func (v *town) invite(email string, prepare bool) *holder {
	v.Helper()
	ctx := v.Context()
	h := &holder{town: v, a: uuid.New(), b: uuid.New()}
	h.owner = v.settled(people.Spec{Email: "owner-" + email, Roles: map[uuid.UUID]people.Role{h.a: people.Owner}})
	var err error
	h.invited, h.link, err = v.Create(by(ctx, h.owner), people.Spec{Email: email, Roles: map[uuid.UUID]people.Role{h.a: people.Viewer}})
	v.must(err)
	if !prepare {
		return h
	}
	h.invited, err = v.UseLink(ctx, h.link.Token, "", "", password)
	v.must(err)
	h.setUp()
	return h
}

// setUp adds a passkey, codes and a session to the invited account.
func (h *holder) setUp() {
	h.Helper()
	ctx, now := h.Context(), h.clock.Now()
	h.must(h.AddPasskey(ctx, h.invited, people.Passkey{ID: []byte(h.invited.Email), Name: "kept"}))
	begun, err := h.BeginTOTP(ctx, h.invited.ID)
	h.must(err)
	code, err := totp.GenerateCode(begun.Secret, now)
	h.must(err)
	_, err = h.ConfirmTOTP(ctx, h.invited.ID, password, begun.Secret, code)
	h.must(err)
	h.invited, err = h.ByID(ctx, h.invited.ID)
	h.must(err)
	h.must(h.open(h.invited.Email, h.invited))
}

// opens returns what of the holder's still opens the account.
func (h *holder) opens() (ways string) {
	h.Helper()
	ctx := h.Context()
	if _, err := h.Link(ctx, h.link.Token); err == nil {
		ways += "link "
	}
	if h.isOpen(h.invited.Email) {
		ways += "session "
	}
	if _, err := h.ByPasskey(ctx, []byte(h.invited.Email)); err == nil {
		ways += "passkey "
	}
	now, err := h.ByID(ctx, h.invited.ID)
	h.must(err)
	if now.HasTOTP || now.RecoveryCodes > 0 {
		ways += "codes "
	}
	if h.signIn(h.invited.Email, password, "192.0.2.1") == nil {
		ways += "password "
	}
	if err := h.open("late", h.invited); err == nil {
		ways += "sign-in in progress "
		h.must(sessions.New(h.mon).End(ctx, "late"))
	}
	if _, err := h.UseLink(ctx, h.link.Token, "", "", password+"!"); err == nil {
		ways += "link used "
	}
	return strings.TrimSpace(ways)
}

// gains are the ways in which an account gains what its inviter has not.
var gains = map[string]func(h *holder) error{
	"role":  func(h *holder) error { return h.SetRole(h.Context(), h.invited.ID, h.b, people.Viewer) },
	"admin": func(h *holder) error { return h.SetAdmin(h.Context(), h.invited.ID, true) },
	"provider": func(h *holder) error {
		_, err := h.SignInExternal(h.Context(), people.External{Issuer: "https://id.example.org", Subject: h.invited.Email, Email: h.invited.Email, EmailVerified: true, HasRoles: true, Admin: true})
		return err
	},
	"provider without roles": func(h *holder) error {
		_, err := h.SignInExternal(h.Context(), people.External{Issuer: "https://id.example.org", Subject: h.invited.Email, Email: h.invited.Email, EmailVerified: true})
		return err
	},
	"proxy": func(h *holder) error { _, err := h.Prove(h.Context(), h.invited.ID); return err },
	"role after the inviter has left": func(h *holder) error {
		return errors.Join(h.SetRole(h.Context(), h.owner.ID, h.a, people.Editor), h.SetRole(h.Context(), h.invited.ID, h.a, people.Editor))
	},
	"role after the inviter is gone": func(h *holder) error {
		return errors.Join(h.Delete(h.Context(), h.owner.ID), h.SetRole(h.Context(), h.invited.ID, h.a, people.Owner))
	},
}

// TestGainEndsWhatOthersHold: an inviter holds nothing of an account once it gains a right that they do not have.
func TestGainEndsWhatOthersHold(t *testing.T) {
	each(t, func(v *town) {
		n := 0
		for name, gain := range gains {
			for _, prepare := range []bool{false, true} {
				n++
				h := v.invite(fmt.Sprintf("boss%d@example.org", n), prepare)
				v.must(gain(h))
				if ways := h.opens(); ways != "" {
					v.Errorf("%s, prepared %t: the inviter still has: %s", name, prepare, ways)
				}
				now, err := v.ByID(v.Context(), h.invited.ID)
				v.must(err)
				if want := !strings.HasPrefix(name, "pro"); now.NeedsLink != want || now.Proved == want {
					v.Errorf("%s: %+v", name, now)
				}
				entries, err := v.mon.Installation().Audit(v.Context(), audit.Query{})
				v.must(err)
				text := fmt.Sprint(entries[:3])
				for _, want := range []string{"person.credentials", h.invited.Email} {
					if !strings.Contains(text, want) {
						v.Errorf("%s: the audit log has no %s: %s", name, want, text)
					}
				}
				// The person is asked again, and what they set then is theirs.
				link, err := v.ResetPassword(v.Context(), h.invited.ID)
				v.must(err)
				_, err = v.UseLink(v.Context(), link.Token, "", "", password)
				v.must(err)
				v.must(v.SetRole(v.Context(), h.invited.ID, uuid.New(), people.Owner))
				v.must(v.signIn(h.invited.Email, password, "192.0.2.1"))
			}
		}
	})
}

// TestGainOfOwn: what the inviter could give as well ends nothing, and neither does a role that is taken away.
func TestGainOfOwn(t *testing.T) {
	each(t, func(v *town) {
		ctx := v.Context()
		for i, prepare := range []bool{false, true} {
			h := v.invite(fmt.Sprintf("bob%d@example.org", i), prepare)
			for _, role := range []people.Role{people.Editor, people.Owner, people.Viewer, "", people.Editor} {
				v.must(v.SetRole(ctx, h.invited.ID, h.a, role))
			}
			want := "session passkey codes password sign-in in progress"
			if !prepare {
				want = "link sign-in in progress link used"
			}
			if ways := h.opens(); ways != want {
				v.Errorf("%d: the person has %q, want %q", i, ways, want)
			}
		}
		// A program and a command are trusted, and so is an administrator who still is one.
		root := v.settled(people.Spec{Email: "root@example.org", Admin: true})
		for i, ctx := range []context.Context{ctx, audit.WithActor(ctx, audit.Actor{Kind: audit.CommandLine, Name: "root"}), by(ctx, root)} {
			eve, link, err := v.Create(ctx, people.Spec{Email: fmt.Sprintf("eve%d@example.org", i)})
			v.must(err)
			v.must(v.SetRole(ctx, eve.ID, uuid.New(), people.Owner))
			v.must(v.SetAdmin(ctx, eve.ID, true))
			_, err = v.UseLink(ctx, link.Token, "", "", password)
			v.must(err)
		}
		last, link, err := v.Create(by(ctx, root), people.Spec{Email: "last@example.org"})
		v.must(err)
		v.must(v.SetAdmin(ctx, root.ID, false))
		v.must(v.SetRole(ctx, last.ID, uuid.New(), people.Viewer))
		_, err = v.UseLink(ctx, link.Token, "", "", password)
		v.is(err, checks.ErrNotFound)
	})
}

// TestInviterChangesMeanwhile: what the inviter may do counts in the transaction that uses a link or gives a right.
func TestInviterChangesMeanwhile(t *testing.T) {
	each(t, func(v *town) {
		ctx, n := v.Context(), 0
		for name, lose := range map[string]func(h *holder) error{
			"role":    func(h *holder) error { return h.SetRole(ctx, h.owner.ID, h.a, people.Editor) },
			"account": func(h *holder) error { return h.Delete(ctx, h.owner.ID) },
		} {
			for what, use := range map[string]func(known *people.People, h *holder) error{
				"link": func(known *people.People, h *holder) error {
					_, err := known.UseLink(ctx, h.link.Token, "", "", password)
					v.is(err, checks.ErrNotFound)
					return nil
				},
				"role": func(known *people.People, h *holder) error {
					return known.SetRole(ctx, h.invited.ID, h.a, people.Editor)
				},
			} {
				n++
				h := v.invite(fmt.Sprintf("boss%d@example.org", n), false)
				_, known := v.on(&dbtest.Hooked{Store: v.store, Around: func(op string, do func() error) error {
					if op == "Update" {
						v.must(lose(h))
					}
					return do()
				}}, 0)
				v.must(use(known, h))
				ways := h.opens()
				if ways = strings.TrimPrefix(ways, "sign-in in progress"); ways != "" {
					v.Errorf("the inviter loses the %s before the transaction of a %s, and still has: %s", name, what, ways)
				}
			}
		}
	})
}

// TestLinkOfTheDemoted: a kept link gives nobody back what they have lost.
func TestLinkOfTheDemoted(t *testing.T) {
	each(t, func(v *town) {
		ctx := v.Context()
		v.settled(people.Spec{Email: "boss@example.org", Admin: true})
		root := v.settled(people.Spec{Email: "root@example.org", Admin: true})
		_, link, err := v.Create(by(ctx, root), people.Spec{Email: "new@example.org", Admin: true})
		v.must(err)
		for i, loss := range []func(h *holder) error{
			func(h *holder) error { return v.SetRole(ctx, h.owner.ID, h.a, people.Editor) },
			func(h *holder) error { return v.Delete(ctx, h.owner.ID) },
			func(h *holder) error { link, h.link = h.link, link; return v.SetAdmin(ctx, root.ID, false) },
		} {
			h := v.invite(fmt.Sprintf("bob%d@example.org", i), false)
			v.must(loss(h))
			_, err := v.UseLink(ctx, h.link.Token, "", "", password)
			v.is(err, checks.ErrNotFound)
		}
		_, err = v.UseLink(ctx, link.Token, "", "", password) // of an owner who still is one
		v.must(err)
	})
}

// TestClaimsAfterReset: what somebody has reset who is no administrator any more opens no account that its provider promotes.
func TestClaimsAfterReset(t *testing.T) {
	each(t, func(v *town) {
		ctx := v.Context()
		v.settled(people.Spec{Email: "boss@example.org", Admin: true})
		root := v.settled(people.Spec{Email: "root@example.org", Admin: true})
		e := people.External{Issuer: "https://id.example.org", Subject: "1", Email: "ann@example.org", EmailVerified: true, HasRoles: true}
		for _, demoted := range []bool{false, true} {
			e.Admin = false
			ann, err := v.SignInExternal(ctx, e)
			v.must(err)
			link, err := v.ResetPassword(by(ctx, root), ann.ID)
			v.must(err)
			if demoted {
				v.must(v.SetAdmin(ctx, root.ID, false))
			}
			e.Admin = true
			_, err = v.SignInExternal(ctx, e)
			v.must(err)
			if _, err = v.UseLink(ctx, link.Token, "", "", password); errors.Is(err, checks.ErrNotFound) != demoted {
				v.Errorf("demoted %t: %v", demoted, err)
			}
		}
	})
}

// TestProofLink: a link that only the mailbox gets proves the address. Only somebody who needs one gets it.
func TestProofLink(t *testing.T) {
	each(t, func(v *town) {
		ctx := v.Context()
		h := v.invite("bob@example.org", true)
		_, err := v.ProofLink(ctx, h.invited.ID)
		v.is(err, checks.ErrNotFound)
		v.must(v.SetRole(ctx, h.invited.ID, h.b, people.Viewer))
		old, err := v.ProofLink(ctx, h.invited.ID)
		v.must(err)
		link, err := v.ProofLink(ctx, h.invited.ID)
		v.must(err)
		_, err = v.UseLink(ctx, old.Token, "", "", password)
		v.is(err, checks.ErrNotFound)
		bob, err := v.UseLink(ctx, link.Token, "", "", password)
		v.must(err)
		if !bob.Proved || bob.NeedsLink || !bob.HasPassword {
			v.Errorf("after the link: %+v", bob)
		}
		v.must(v.SetRole(ctx, bob.ID, uuid.New(), people.Owner))
		v.must(v.signIn(bob.Email, password, "192.0.2.1"))
		// Without a provider, they need a new link too once somebody who has reset the password may do less than they.
		root := v.settled(people.Spec{Email: "root@example.org", Admin: true})
		v.settled(people.Spec{Email: "boss@example.org", Admin: true})
		link, err = v.ResetPassword(by(ctx, root), bob.ID)
		v.must(err)
		v.must(v.SetAdmin(ctx, root.ID, false))
		v.must(v.SetAdmin(ctx, bob.ID, true))
		_, err = v.UseLink(ctx, link.Token, "", "", password)
		v.is(err, checks.ErrNotFound)
		link, err = v.ProofLink(ctx, bob.ID)
		v.must(err)
		_, err = v.UseLink(ctx, link.Token, "", "", password)
		v.must(err)
		_, err = v.Prove(ctx, bob.ID) // nothing is left to end
		v.must(err)
		v.must(v.signIn(bob.Email, password, "192.0.2.1"))
	})
}

// TestResetAfterInvitation: the second factors that the inviter may have set up do not outlive a reset by somebody else.
func TestResetAfterInvitation(t *testing.T) {
	each(t, func(v *town) {
		h := v.invite("bob@example.org", true)
		link, err := v.ResetPassword(v.Context(), h.invited.ID)
		v.must(err)
		if ways := h.opens(); ways != "" {
			v.Errorf("the inviter still has: %s", ways)
		}
		h.invited, err = v.UseLink(v.Context(), link.Token, "", "", password)
		v.must(err)
		v.clock.Advance(time.Minute)
		h.setUp()
		_, err = v.ResetPassword(v.Context(), h.invited.ID) // by a program again, which leaves the person's own
		v.must(err)
		if ways := h.opens(); ways != "passkey codes" {
			v.Errorf("the person has: %s", ways)
		}
	})
}

// hooked is people whose transactions a test runs something before.
func (v *town) hooked(before *func()) *people.People {
	v.Helper()
	_, known := v.on(&dbtest.Hooked{Store: v.store, Around: func(op string, do func() error) error {
		if run := *before; op == "Update" && run != nil {
			*before = nil
			run()
		}
		return do()
	}}, 0)
	return known
}

// TestLinkDuringGain: a link that is being used while its account gains a right opens nothing.
func TestLinkDuringGain(t *testing.T) {
	each(t, func(v *town) {
		n := 0
		for name, gain := range gains {
			n++
			h := v.invite(fmt.Sprintf("boss%d@example.org", n), false)
			before := func() { v.must(gain(h)) }
			_, err := v.hooked(&before).UseLink(v.Context(), h.link.Token, "", "", password)
			v.is(err, checks.ErrNotFound)
			if ways := h.opens(); ways != "" {
				v.Errorf("%s: the inviter still has: %s", name, ways)
			}
		}
	})
}

// TestSignInDuringChange: what a sign-in has read before the credentials of the person change, or all sessions end, is no longer
// good for a session, and neither is a passkey that was asked for before.
func TestSignInDuringChange(t *testing.T) {
	each(t, func(v *town) {
		ctx := v.Context()
		v.settled(people.Spec{Email: "root@example.org", Admin: true})
		n := 0
		for name, change := range map[string]func(p people.Person) error{
			"change password": func(p people.Person) error {
				_, err := v.ChangePassword(ctx, p.ID, password, password+"!", "")
				return err
			},
			"reset password": func(p people.Person) error { _, err := v.ResetPassword(ctx, p.ID); return err },
			"reset factors":  func(p people.Person) error { return v.ResetMFA(ctx, p.ID) },
			"delete passkey": func(p people.Person) error { return v.DeletePasskey(ctx, p.ID, []byte(p.Email)) },
			"all sessions":   func(p people.Person) error { return v.EndSessions(ctx, p.ID, "") },
			"other sessions": func(p people.Person) error { return v.EndSessions(ctx, p.ID, sessions.ID("mine")) },
			"delete":         func(p people.Person) error { return v.Delete(ctx, p.ID) },
			"use link": func(p people.Person) error {
				link, err := v.ResetPassword(ctx, p.ID)
				v.must(err)
				_, err = v.UseLink(ctx, link.Token, "", "", password)
				return err
			},
			"set up codes": func(p people.Person) error {
				begun, err := v.BeginTOTP(ctx, p.ID)
				v.must(err)
				code, err := totp.GenerateCode(begun.Secret, v.clock.Now())
				v.must(err)
				_, err = v.ConfirmTOTP(ctx, p.ID, password, begun.Secret, code)
				return err
			},
		} {
			n++
			email := fmt.Sprintf("ann%d@example.org", n)
			e := people.External{Issuer: "https://id.example.org", Subject: email, Email: email, EmailVerified: true}
			_, err := v.SignInExternal(ctx, e)
			v.must(err)
			known, err := v.ByEmail(ctx, email)
			v.must(err)
			link, err := v.ResetPassword(ctx, known.ID)
			v.must(err)
			ann, err := v.UseLink(ctx, link.Token, "", "", password)
			v.must(err)
			key := people.Passkey{ID: []byte(email)}
			v.must(v.AddPasskey(ctx, ann, key))
			byPassword, err := v.SignIn(ctx, people.Attempt{Email: email, Password: password})
			v.must(err)
			byPasskey, err := v.ByPasskey(ctx, key.ID)
			v.must(err)
			byProvider, err := v.SignInExternal(ctx, e)
			v.must(err)
			v.must(v.open("early", ann))
			e.Began = v.clock.Now()
			v.clock.Advance(time.Second)
			v.must(change(ann))
			if _, err := v.SignInExternal(ctx, e); name != "delete" && !errors.Is(err, people.ErrChanged) {
				v.Errorf("%s while somebody is at the provider: %v", name, err)
			}
			e.Began = v.clock.Now()
			_, err = v.SignInExternal(ctx, e)
			v.must(err)
			for way, read := range map[string]people.Person{"password": byPassword, "passkey": byPasskey, "provider": byProvider} {
				if err := v.open(name+way, read); !errors.Is(err, people.ErrChanged) {
					v.Errorf("%s while a sign-in by %s is running: %v", name, way, err)
				}
				if v.isOpen(name + way) {
					v.Errorf("%s: there is a session by %s", name, way)
				}
			}
			if err := v.UsePasskey(ctx, byPasskey, key); !errors.Is(err, people.ErrChanged) && !errors.Is(err, checks.ErrNotFound) {
				v.Errorf("%s brings a passkey back: %v", name, err)
			}
		}
	})
}

// TestChangeDuringChange: what is confirmed with the password before the credentials change is not stored after it.
func TestChangeDuringChange(t *testing.T) {
	each(t, func(v *town) {
		ctx := v.Context()
		for name, store := range map[string]func(p *people.People, id uuid.UUID, secret, code string) error{
			"sign in": func(p *people.People, id uuid.UUID, _, _ string) error {
				_, err := p.SignIn(ctx, people.Attempt{Email: "ann@example.org", Password: password, Address: "192.0.2.9"})
				return err
			},
			"change password": func(p *people.People, id uuid.UUID, _, _ string) error {
				_, err := p.ChangePassword(ctx, id, password, password+"!", "")
				return err
			},
			"set up codes": func(p *people.People, id uuid.UUID, secret, code string) error {
				_, err := p.ConfirmTOTP(ctx, id, password, secret, code)
				return err
			},
			"remove codes": func(p *people.People, id uuid.UUID, _, _ string) error { return p.RemoveTOTP(ctx, id, password) },
		} {
			for what, change := range map[string]func(id uuid.UUID) error{
				"reset":    func(id uuid.UUID) error { return v.ResetMFA(ctx, id) },
				"sessions": func(id uuid.UUID) error { return v.EndSessions(ctx, id, "") },
			} {
				ann := v.settled(people.Spec{Email: "ann@example.org"})
				begun, err := v.BeginTOTP(ctx, ann.ID)
				v.must(err)
				code, err := totp.GenerateCode(begun.Secret, v.clock.Now())
				v.must(err)
				before := func() { v.must(change(ann.ID)) }
				if err := store(v.hooked(&before), ann.ID, begun.Secret, code); !errors.Is(err, people.ErrRefused) {
					v.Errorf("%s during %s: %v", name, what, err)
				}
				v.must(v.Delete(ctx, ann.ID))
			}
		}
	})
}
