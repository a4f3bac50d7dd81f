package monitor_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

// vault is a store that can do nothing but look for a key by its hash. It notes what it is asked for.
type vault struct {
	monitor.Store // panics when anything else is used
	keys          map[[32]byte]checks.Key
	asked         [][32]byte
}

func (v *vault) Keys(_ context.Context, f monitor.KeyFilter) ([]checks.Key, error) {
	v.asked = append(v.asked, *f.Hash)
	if key, ok := v.keys[*f.Hash]; ok {
		return []checks.Key{key}, nil
	}
	return nil, nil
}

// TestAuthenticateByHash holds what keeps keys from being guessed by the time that an answer takes: all that is done
// with a key is to hash the whole of it and to look for the hash. How much of a key is right makes no difference that
// the looking could show, because hashes of keys that are alike are not.
func TestAuthenticateByHash(t *testing.T) {
	const right = "rcw_0123456789abcdefghijklmnopqr"
	store := &vault{keys: map[[32]byte]checks.Key{sha256.Sum256([]byte(right)): {ID: uuid.New()}}}
	mon, err := monitor.New(store, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		right, right[:31] + "s", "s" + right[1:], strings.ToUpper(right), "rcr_" + right[4:], strings.Repeat("\x00", 32), strings.Repeat("é", 16),
	} {
		store.asked = nil
		key, err := mon.Authenticate(t.Context(), text)
		if found := err == nil && key.ID != uuid.Nil; found != (text == right) || !found && !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("%q: %v, %v", text, key, err)
		}
		if len(store.asked) != 1 || store.asked[0] != sha256.Sum256([]byte(text)) {
			t.Errorf("%q: the store was asked for %x", text, store.asked)
		}
	}
	for _, text := range []string{"", right[:31], right + "x", right + "\x00", strings.Repeat("é", 32)} {
		store.asked = nil
		if _, err := mon.Authenticate(t.Context(), text); !errors.Is(err, checks.ErrNotFound) || store.asked != nil {
			t.Errorf("%q: %v, asked for %x", text, err, store.asked)
		}
	}
}
