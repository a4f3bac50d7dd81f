package people_test

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/server/people"
)

// TestPasskeys: a passkey is added once, by one person, and 20 to each person at most, whatever arrives at two servers at once. The
// audit log has each.
func TestPasskeys(t *testing.T) {
	each(t, func(v *town) {
		ctx := v.Context()
		ann, bob := v.settled(people.Spec{Email: "ann@example.org"}), v.settled(people.Spec{Email: "bob@example.org"})
		_, other := v.on(v.store, 0)
		key := people.Passkey{ID: []byte("key"), Name: "phone", Counter: 7}
		v.must(v.AddPasskey(ctx, ann, key))
		for _, who := range []people.Person{ann, bob} {
			v.is(other.AddPasskey(ctx, who, people.Passkey{ID: key.ID, Name: "another"}), checks.ErrExists)
		}
		owner, err := v.ByPasskey(ctx, key.ID)
		v.must(err)
		if len(owner.Passkeys) != 1 || owner.ID != ann.ID || owner.Passkeys[0].Counter != 7 || owner.Passkeys[0].Name != "phone" {
			v.Errorf("the passkey is of %+v", owner)
		}
		errs := v.race(60, func(p *people.People, i int) error {
			return p.AddPasskey(ctx, bob, people.Passkey{ID: fmt.Append(nil, "bob ", i), Name: "key"})
		}, other)
		v.many(errs, people.MaxPasskeys, people.ErrManyPasskeys)
		if bob, err = v.ByID(ctx, bob.ID); err != nil || len(bob.Passkeys) != people.MaxPasskeys {
			v.Errorf("bob has %d passkeys, %v", len(bob.Passkeys), err)
		}
		v.must(v.DeletePasskey(ctx, bob.ID, bob.Passkeys[0].ID))
		bob, err = v.ByID(ctx, bob.ID)
		v.must(err)
		v.must(v.AddPasskey(ctx, bob, people.Passkey{ID: []byte("one more"), Name: "key"}))
		entries, err := v.mon.Installation().Audit(ctx, audit.Query{Limit: 100})
		v.must(err)
		noted := 0
		for _, e := range entries {
			if e.Action == "person.passkey" && e.Changes[0].To != "" {
				noted++
			}
		}
		if want := 1 + people.MaxPasskeys + 1; noted != want {
			v.Errorf("%d new passkeys are in the audit log, want %d", noted, want)
		}
	})
}

// TestCounterOfPasskey: two servers accept a counter once. It never goes back, and 0 is none.
func TestCounterOfPasskey(t *testing.T) {
	each(t, func(v *town) {
		ctx := v.Context()
		ann := v.settled(people.Spec{Email: "ann@example.org"})
		_, other := v.on(v.store, 0)
		key := people.Passkey{ID: []byte("key"), Name: "phone", Credential: []byte(`{"n":0}`)}
		v.must(v.AddPasskey(ctx, ann, key))
		use := func(counter uint32) []error {
			used := people.Passkey{ID: key.ID, Counter: counter, Credential: fmt.Appendf(nil, `{"n":%d}`, counter)}
			return v.race(10, func(p *people.People, _ int) error { return p.UsePasskey(ctx, ann, used) }, other)
		}
		v.many(use(0), 10, nil)
		v.many(use(3), 1, people.ErrCloned)
		v.many(use(2), 0, people.ErrCloned)
		v.many(use(0), 0, people.ErrCloned)
		v.many(use(9), 1, people.ErrCloned)
		found, err := v.ByPasskey(ctx, key.ID)
		v.must(err)
		if got := found.Passkeys[0]; got.Counter != 9 || string(got.Credential) != `{"n":9}` || got.Name != "phone" {
			v.Errorf("the passkey is %+v", got)
		}
		v.is(v.UsePasskey(ctx, ann, people.Passkey{ID: []byte("other"), Counter: 10}), people.ErrChanged)
	})
}

// race does something n times at once, on this server and another one.
func (v *town) race(n int, do func(p *people.People, i int) error, other *people.People) []error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = do([]*people.People{v.People, other}[i%2], i) })
	}
	all.Wait()
	return errs
}

// many checks how many of some errors are nil. All others are the given one.
func (v *town) many(errs []error, want int, others error) {
	v.Helper()
	n := 0
	for _, err := range errs {
		if err == nil {
			n++
		} else {
			v.is(err, others)
		}
	}
	if n != want {
		v.Errorf("%d of %d succeeded, want %d", n, len(errs), want)
	}
}

// TestCodeAfterSecondConfirmation: sending the form of an authenticator app again makes no used code good.
func TestCodeAfterSecondConfirmation(t *testing.T) {
	each(t, func(v *town) {
		ctx := v.Context()
		ann := v.settled(people.Spec{Email: "ann@example.org"})
		begun, err := v.BeginTOTP(ctx, ann.ID)
		v.must(err)
		code := func(after time.Duration) string {
			text, err := totp.GenerateCode(begun.Secret, v.clock.Now().Add(after))
			v.must(err)
			return text
		}
		first, next := code(0), code(30*time.Second)
		_, err = v.ConfirmTOTP(ctx, ann.ID, password, begun.Secret, first)
		v.must(err)
		v.must(v.CheckCode(ctx, ann.ID, next, "192.0.2.1", people.Device{}))
		_, err = v.ConfirmTOTP(ctx, ann.ID, password, begun.Secret, first)
		v.must(err)
		v.is(v.CheckCode(ctx, ann.ID, next, "192.0.2.1", people.Device{}), people.ErrRefused)
	})
}

// TestLastFactor: of two factors that are removed at once, from two servers, one stays if the person must have one.
func TestLastFactor(t *testing.T) {
	each(t, func(v *town) {
		strict, err := people.New(v.mon, &people.Config{SecondFactor: people.OfAdmins, Logger: slog.New(slog.DiscardHandler)})
		v.must(err)
		for i, admin := range []bool{true, false} {
			p := v.settled(people.Spec{Email: fmt.Sprintf("p%d@example.org", i), Admin: admin})
			if strict.NeedsFactor(p) != admin || v.NeedsFactor(p) {
				t.Errorf("an administrator %t: needs a factor %t, without the demand %t", admin, strict.NeedsFactor(p), v.NeedsFactor(p))
			}
			begun, err := v.BeginTOTP(t.Context(), p.ID)
			v.must(err)
			code, err := totp.GenerateCode(begun.Secret, v.clock.Now())
			v.must(err)
			_, err = v.ConfirmTOTP(t.Context(), p.ID, password, begun.Secret, code)
			v.must(err)
			p, err = v.ByID(t.Context(), p.ID)
			v.must(err)
			key := []byte(fmt.Sprint("key ", i))
			v.must(v.AddPasskey(t.Context(), p, people.Passkey{ID: key, Credential: []byte(`{}`)}))
			errs := make(chan error, 2)
			go func() { errs <- strict.RemoveTOTP(t.Context(), p.ID, password) }()
			go func() { errs <- strict.DeletePasskey(t.Context(), p.ID, key) }()
			for range 2 { // ErrRefused is of a passkey that went while the password was compared
				if err := <-errs; err != nil && !errors.Is(err, people.ErrRefused) && !(admin && errors.Is(err, people.ErrLastFactor)) {
					t.Errorf("an administrator %t: %v", admin, err)
				}
			}
			now, err := v.ByID(t.Context(), p.ID)
			v.must(err)
			if admin && !now.HasFactor() {
				t.Error("an administrator has lost both factors")
			}
			v.must(strict.ResetMFA(t.Context(), p.ID)) // for a lost phone
		}
	})
}
