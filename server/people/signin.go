package people

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/pquerna/otp"
	"github.com/pquerna/otp/totp"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/records"
)

// LimitedError reports too many failed attempts.
type LimitedError struct{ Wait time.Duration }

func (e *LimitedError) Error() string {
	return "people: too many failed attempts: wait " + e.Wait.Round(time.Second).String()
}

// Attempt is what somebody typed to sign in. Address is the IP address that the request came from, and Device its browser, if
// somebody has signed in to it before.
type Attempt struct {
	Email, Password, Address string
	Device                   Device
}

// Device is a browser, and who signed in to it last. The caller has verified both, by a cookie for example.
type Device struct{ Person, ID uuid.UUID }

// place is what failed attempts are counted by, and whether the person has signed in there before.
func (d *document) place(network string, device Device) (place string, known bool) {
	if d.ID != uuid.Nil && d.ID == device.Person {
		return device.ID.String(), true
	}
	return network, slices.Contains(d.Known, network)
}

// refuse logs why a sign-in was refused, without what was typed, and returns [ErrRefused].
func (p *People) refuse(ctx context.Context, why, person string) error {
	p.logRefusal(ctx, why, person)
	return ErrRefused
}

// logRefusal logs the refusals of a person and a network for one reason together, after the first.
func (p *People) logRefusal(ctx context.Context, why, person string) {
	address := audit.ActorOf(ctx).Address
	key := why + "\x00" + person + "\x00" + networkOf(address)
	p.refusals.Log(p.log, slog.LevelWarn, key, "refused a sign-in", "reason", why, "person", person, "address", address)
}

// changed is refuse for a person who has another Revision than the sign-in has read, and returns [ErrChanged].
func (p *People) changed(ctx context.Context, person uuid.UUID) error {
	_ = p.refuse(ctx, "the account has changed during the sign-in", person.String())
	return ErrChanged
}

// failedOften is the reason of refusals beyond the limits.
const failedOften = "too many failed attempts"

// limited logs an attempt that must wait, and returns a *[LimitedError].
func (p *People) limited(ctx context.Context, why string, wait time.Duration) error {
	p.logRefusal(ctx, why, "")
	return &LimitedError{Wait: wait}
}

// SignIn verifies a password. The caller then asks a person with HasTOTP for a code. The error is [ErrRefused], for an unknown
// account after the same time, or a *[LimitedError].
func (p *People) SignIn(ctx context.Context, a Attempt) (Person, error) {
	ctx = audit.WithActor(ctx, audit.Actor{Kind: audit.Person, Address: a.Address})
	email, network := foldEmail(a.Email), networkOf(a.Address)
	id := uuid.Nil
	if r, err := p.one(ctx, kindEmail, email); err == nil {
		id = r.Owner
	} else if !errors.Is(err, checks.ErrNotFound) {
		return Person{}, err
	}
	d, err := p.document(ctx, id) // for nobody too, which takes as long
	if errors.Is(err, checks.ErrNotFound) {
		d = &document{}
	} else if err != nil {
		return Person{}, err
	}
	place, known := d.place(network, a.Device)
	succeeded, wait := p.limits.attempt(p.now(), hashOf(email), place, known)
	if wait > 0 {
		return Person{}, p.limited(ctx, failedOften, wait)
	}
	ok, err := p.verify(ctx, d, a.Password, !known)
	switch {
	case err != nil:
		succeeded() // it was not tried
		return Person{}, err
	case d.ID == uuid.Nil:
		return Person{}, p.refuse(ctx, "unknown account", "")
	case !ok:
		return Person{}, p.refuse(ctx, "wrong password", d.ID.String())
	}
	succeeded()
	return p.welcome(ctx, d, a.Password, network)
}

// verify reports whether a password is that of a person. It takes as long for a person without one.
func (p *People) verify(ctx context.Context, d *document, password string, stranger bool) (ok bool, err error) {
	hash, parseErr := parseHash(d.Password)
	if parseErr != nil {
		hash = unknown
	}
	err = p.hash(ctx, stranger, func() { ok = len(password) <= 4*maxPassword && hash.matches(password) })
	return ok && parseErr == nil, err
}

// maxKnown bounds the networks that are remembered of a person.
const maxKnown = 10

// remember keeps the network of a sign-in.
func (d *document) remember(network string) {
	if !slices.Contains(d.Known, network) {
		d.Known = append(d.Known, network)
		d.Known = d.Known[max(0, len(d.Known)-maxKnown):]
	}
}

// welcome replaces a hash of another kind, and remembers the network, if no code has to follow.
func (p *People) welcome(ctx context.Context, d *document, password, network string) (Person, error) {
	hash, err := parseHash(d.Password)
	if err != nil {
		return Person{}, err
	}
	known := d.TOTP != "" || slices.Contains(d.Known, network)
	if hash.own() && known {
		return d.person(), nil
	}
	fresh, before := d.Password, d.Password
	if !hash.own() {
		if err := p.hash(ctx, false, func() { fresh = newHash(password) }); err != nil {
			return Person{}, err
		}
	}
	person := d.person()
	err = p.update(ctx, d.ID, func(_ context.Context, _ records.Tx, d *document) (bool, []audit.Entry, error) {
		if d.Revision != person.Revision || d.Password != before { // it was changed meanwhile
			return false, nil, ErrRefused
		}
		d.same = true
		if d.Password = fresh; !known {
			d.remember(network)
		}
		person = d.person()
		return false, nil, nil
	})
	return person, err
}

// ChangePassword changes a password that the person knows, and ends the sessions but the one with the identifier keep. The
// person has the Revision of a new session. The error is [ErrRefused], a *[LimitedError] or a *[checks.FieldError].
func (p *People) ChangePassword(ctx context.Context, id uuid.UUID, old, new, keep string) (person Person, err error) {
	d, err := p.confirm(ctx, id, old)
	if err != nil {
		return Person{}, err
	}
	hash, err := p.newPassword(ctx, new, d.Email, d.Name)
	if err != nil {
		return Person{}, err
	}
	err = p.update(ctx, id, func(ctx context.Context, tx records.Tx, now *document) (bool, []audit.Entry, error) {
		if now.Revision != d.Revision || now.Password != d.Password {
			return false, nil, ErrRefused
		}
		now.Password = hash
		p.endSignIns(now)
		person = now.person()
		entry := p.note(ctx, uuid.Nil, "person.password", d.Email, audit.Change{Field: "password", From: "(secret)", To: "(secret)"})
		_, err := p.deleteOwned(ctx, tx, kindSession, id, func(r records.Record) bool { return keep != "" && strings.HasPrefix(r.Key, keep) })
		return false, []audit.Entry{entry}, err
	})
	return person, err
}

// ConfirmPassword verifies the password of somebody who is signed in, and returns the person as they were read. The error is
// [ErrRefused] or a *[LimitedError].
func (p *People) ConfirmPassword(ctx context.Context, id uuid.UUID, password string) (Person, error) {
	d, err := p.confirm(ctx, id, password)
	if err != nil {
		return Person{}, err
	}
	return d.person(), nil
}

// confirm verifies the password of somebody who is signed in.
func (p *People) confirm(ctx context.Context, id uuid.UUID, password string) (*document, error) {
	d, err := p.document(ctx, id)
	if err != nil {
		return nil, err
	}
	succeeded, wait := p.limits.confirm(p.now(), id.String())
	if wait > 0 {
		return nil, p.limited(ctx, failedOften, wait)
	}
	ok, err := p.verify(ctx, d, password, false)
	if err != nil {
		succeeded() // it was not tried
		return nil, err
	}
	if !ok {
		return nil, p.refuse(ctx, "wrong password", d.ID.String())
	}
	succeeded()
	return d, nil
}

// TOTP is a secret of an authenticator app, and the URL of its QR code.
type TOTP struct{ Secret, URL string }

// period is the length of a step in seconds.
const period = 30

// BeginTOTP returns a new secret. It is stored by [People.ConfirmTOTP].
func (p *People) BeginTOTP(ctx context.Context, id uuid.UUID) (TOTP, error) {
	d, err := p.document(ctx, id)
	if err != nil {
		return TOTP{}, err
	}
	key, err := totp.Generate(totp.GenerateOpts{Issuer: "Rollcall", AccountName: d.Email, Period: period})
	if err != nil {
		return TOTP{}, fmt.Errorf("people: %w", err)
	}
	return TOTP{Secret: key.Secret(), URL: key.URL()}, nil
}

// step returns the step of a code that is after another one, and whether there is one within a period of now.
func (p *People) step(secret, code string, after int64) (int64, bool) {
	now := p.now().Unix() / period
	for _, step := range []int64{now, now - 1, now + 1} {
		want, err := totp.GenerateCodeCustom(secret, time.Unix(step*period, 0), totp.ValidateOpts{Period: period, Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1})
		if err == nil && step > after && subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 {
			return step, true
		}
	}
	return 0, false
}

// A person gets so many recovery codes of so many letters, which have five bits each. With 120 bits a plain hash keeps them.
const recoveryCodes, recoveryLetters = 10, 24

// ConfirmTOTP stores a secret once the password and a code of the secret are right, and returns recovery codes, which the
// database keeps as hashes. The sessions stay, and sign-ins in progress fail. The error is [ErrRefused] for the password, a
// *[checks.FieldError] for the code, or a *[LimitedError].
func (p *People) ConfirmTOTP(ctx context.Context, id uuid.UUID, password, secret, code string) (recovery []string, err error) {
	confirmed, err := p.confirm(ctx, id, password)
	if err != nil {
		return nil, err
	}
	step, ok := p.step(secret, code, 0)
	if !ok {
		return nil, &checks.FieldError{Field: "code", Reason: "is wrong: check the clock of your phone, and enter the newest code"}
	}
	var hashes []string
	for range recoveryCodes {
		letters := []byte(strings.ToLower(rand.Text())[:recoveryLetters])
		text := string(bytes.Join(slices.Collect(slices.Chunk(letters, 4)), []byte("-")))
		recovery, hashes = append(recovery, text), append(hashes, hashOf(plainCode(text)))
	}
	sealers, err := p.sealers(ctx, true)
	if err != nil {
		return nil, err
	}
	return recovery, p.update(ctx, id, func(ctx context.Context, _ records.Tx, d *document) (bool, []audit.Entry, error) {
		if d.Revision != confirmed.Revision {
			return false, nil, ErrRefused
		}
		if known, _, err := sealers.open(d); err == nil && known == secret { // the form is sent again: no code that was used counts again
			step = max(step, d.TOTPStep)
		}
		d.TOTP, d.TOTPStep, d.Recovery = sealers.seal(id, secret), step, hashes
		p.endSignIns(d)
		return false, []audit.Entry{p.note(ctx, uuid.Nil, "person.totp", d.Email, audit.Change{Field: "authenticator app", To: "(secret)"})}, nil
	})
}

// plainCode returns a recovery code as it is hashed: in lower case, without hyphens and spaces.
func plainCode(text string) string {
	return strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(text, "-", ""), " ", ""))
}

// RemoveTOTP turns the authenticator app off. The error is [ErrRefused] for a wrong password, [ErrLastFactor], or a *[LimitedError].
func (p *People) RemoveTOTP(ctx context.Context, id uuid.UUID, password string) error {
	confirmed, err := p.confirm(ctx, id, password)
	if err != nil {
		return err
	}
	return p.update(ctx, id, func(ctx context.Context, _ records.Tx, d *document) (bool, []audit.Entry, error) {
		if d.Revision != confirmed.Revision {
			return false, nil, ErrRefused
		}
		if d.TOTP, d.Recovery = "", nil; p.NeedsFactor(d.person()) && len(d.Passkeys) == 0 {
			return false, nil, ErrLastFactor
		}
		return false, []audit.Entry{p.note(ctx, uuid.Nil, "person.totp", d.Email, audit.Change{Field: "authenticator app", From: "(secret)"})}, nil
	})
}

// CheckCode verifies a code of the authenticator app, which is good once, or uses a recovery code up. The error is
// [ErrRefused], a *[LimitedError], or [ErrSecret] if the secret of the app cannot be read and the code is no recovery code.
func (p *People) CheckCode(ctx context.Context, id uuid.UUID, code, address string, device Device) error {
	ctx = audit.WithActor(ctx, audit.Actor{Kind: audit.Person, Address: address})
	known, err := p.document(ctx, id)
	if err != nil {
		return err
	}
	network, key := networkOf(address), "code "+id.String()
	if place, ok := known.place(network, device); ok { // somebody elsewhere who has the password cannot lock the person out
		key += " " + place
	}
	succeeded, wait := p.limits.confirm(p.now(), key)
	if wait > 0 {
		return p.limited(ctx, failedOften, wait)
	}
	sealers, err := p.sealers(ctx, false)
	if err != nil {
		succeeded() // it was not tried
		return err
	}
	err = p.update(ctx, id, func(ctx context.Context, _ records.Tx, d *document) (bool, []audit.Entry, error) {
		d.remember(network) // not stored unless the code is right
		secret, _, unread := sealers.open(d)
		if step, ok := p.step(secret, code, d.TOTPStep); ok && secret != "" {
			d.TOTPStep = step
			return false, nil, sealers.renew(d)
		}
		i := slices.Index(d.Recovery, hashOf(plainCode(code)))
		if i < 0 {
			return false, nil, cmp.Or(unread, ErrRefused)
		}
		d.Recovery = slices.Delete(d.Recovery, i, i+1)
		return false, []audit.Entry{p.note(audit.WithActor(ctx, actorOf(ctx, d)), uuid.Nil, "person.recovery", d.Email, audit.Change{Field: "recovery code", From: "(secret)"})}, nil
	})
	switch {
	case errors.Is(err, ErrRefused):
		return p.refuse(ctx, "wrong code", id.String())
	case err == nil:
		succeeded()
	case errors.Is(err, ErrSecret):
		p.log.ErrorContext(ctx, "cannot verify a code: restore the key of authenticator apps, or reset the second factors of the person", "person", id, "error", err)
	}
	return err
}
