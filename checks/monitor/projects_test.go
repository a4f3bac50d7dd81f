package monitor_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

func TestKeys(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		p, keys, err := s.CreateProject(t.Context(), checks.ProjectSpec{Name: "q"})
		must(t, err)
		if len(keys.ReadWrite) != 32 || !strings.HasPrefix(keys.ReadWrite, "rcw_") || len(keys.ReadOnly) != 32 ||
			!strings.HasPrefix(keys.ReadOnly, "rcr_") || len(p.PingKey) != 22 || strings.ToLower(p.PingKey) != p.PingKey {
			t.Errorf("keys %+v, ping key %s", keys, p.PingKey)
		}
		for text, scope := range map[string]checks.Scope{keys.ReadWrite: checks.ReadWrite, keys.ReadOnly: checks.ReadOnly} {
			key, err := s.Projects().Authenticate(t.Context(), text)
			if err != nil || key.ProjectID != p.ID || key.Scope != scope {
				t.Errorf("key of the project: %+v, error %v", key, err)
			}
		}
		for _, text := range []string{"", "rcw_", keys.ReadWrite + "x", strings.ToUpper(keys.ReadWrite), keys.ReadOnly[:31] + "0"} {
			if _, err := s.Projects().Authenticate(t.Context(), text); !errors.Is(err, checks.ErrNotFound) {
				t.Errorf("%q: error %v, want ErrNotFound", text, err)
			}
		}

		text, key, err := s.CreateKey(t.Context(), p.ID, checks.ReadOnly)
		must(t, err)
		if list, err := s.Keys(t.Context(), p.ID); err != nil || len(list) != 3 {
			t.Errorf("the project has %d keys, want 3; error %v", len(list), err)
		}
		if err := s.DeleteKey(t.Context(), s.project.ID, key.ID); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("RevokeKey of another project's key: error %v, want ErrNotFound", err)
		}
		must(t, s.DeleteKey(t.Context(), p.ID, key.ID))
		if _, err := s.Projects().Authenticate(t.Context(), text); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("revoked key: error %v, want ErrNotFound", err)
		}
		if _, _, err := s.CreateKey(t.Context(), uuid.New(), checks.ReadWrite); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("CreateKey for an unknown project: error %v, want ErrNotFound", err)
		}
	})
}

func TestRename(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		other, _, err := s.CreateProject(t.Context(), checks.ProjectSpec{Name: "other", MaxChecks: 5, Plan: "free"})
		must(t, err)
		if _, err := s.Projects().ByBadgeKey(t.Context(), other.BadgeKey); err != nil { // now it is cached
			t.Error(err)
		}
		want := other
		want.Name = "new"
		got, err := s.Projects().Update(t.Context(), other.ID, checks.ProjectUpdate{Name: new("new")})
		same(t, got, want, err)
		got, err = s.Projects().ByBadgeKey(t.Context(), other.BadgeKey)
		same(t, got, want, err)
		for name, refused := range map[string]error{s.project.Name: checks.ErrExists, "new": nil} {
			if _, err := s.Projects().Update(t.Context(), other.ID, checks.ProjectUpdate{Name: new(name)}); !errors.Is(err, refused) {
				t.Errorf("%q: error %v, want %v", name, err, refused)
			}
		}
		if _, err := s.Projects().Update(t.Context(), uuid.New(), checks.ProjectUpdate{Name: new("x")}); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("unknown project: %v", err)
		}
		if _, err := s.Projects().Update(t.Context(), other.ID, checks.ProjectUpdate{Name: new("")}); err == nil {
			t.Error("an empty name")
		}
	})
}

func TestStormSettings(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		other, _, err := s.CreateProject(t.Context(), checks.ProjectSpec{Name: "other"})
		must(t, err)
		want := other
		if want.Storm != gate.DefaultStorm() {
			t.Errorf("a new project has %+v", want.Storm)
		}
		for _, u := range []checks.ProjectUpdate{{StormChecks: new(0)}, {StormWindow: new(90 * time.Second)}, {StormChecks: new(1000), StormWindow: new(time.Hour)}, {}} {
			want, err = u.Of(want)
			must(t, err)
			got, err := s.Projects().Update(t.Context(), other.ID, u)
			same(t, got, want, err)
			got, err = s.Projects().ByID(t.Context(), other.ID)
			same(t, got, want, err)
		}
		for text, u := range map[string]checks.ProjectUpdate{
			"storm_checks is too small: 1, the minimum is 2":                    {StormChecks: new(1)},
			"storm_checks is too large: 1001, the maximum is 1000":              {StormChecks: new(1001)},
			"storm_checks is too small: -1, the minimum is 2":                   {StormChecks: new(-1), Name: new("lost")},
			"storm_window is too small: 9, the minimum is 10":                   {StormWindow: new(9 * time.Second)},
			"storm_window is too large: 3601, the maximum is 3600":              {StormWindow: new(time.Hour + time.Second)},
			"storm_window is not a whole number of seconds: 10.5s":              {StormWindow: new(10500 * time.Millisecond)},
			"name is too long: 101 characters, the maximum is 100 [not stored]": {Name: new(strings.Repeat("x", 101)), StormChecks: new(7)},
		} {
			_, err := s.Projects().Update(t.Context(), other.ID, u)
			if refused, ok := errors.AsType[*checks.FieldError](err); !ok || !strings.HasPrefix(text, refused.Error()) {
				t.Errorf("%v, want %s", err, text)
			}
		}
		got, err := s.Projects().ByID(t.Context(), other.ID)
		same(t, got, want, err)
		off, _, err := s.CreateProject(t.Context(), checks.ProjectSpec{Name: "off", Storm: gate.Storm{Window: time.Minute}})
		if err != nil || off.Storm.On() {
			t.Errorf("%+v, %v", off.Storm, err)
		}
		if _, _, err := s.CreateProject(t.Context(), checks.ProjectSpec{Name: "bad", Storm: gate.Storm{Checks: 1, Window: time.Minute}}); err == nil {
			t.Error("a project with a storm of 1 check")
		}
	})
}

func same(t *testing.T, got, want checks.Project, err error) {
	t.Helper()
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestProjectNames(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		for name, spec := range map[string]checks.ProjectSpec{
			"empty":             {Name: ""},
			"too long":          {Name: strings.Repeat("ü", 101)},
			"control character": {Name: "a\nb"},
			"not UTF-8":         {Name: "\xff"},
			"unknown plan":      {Name: "x", Plan: "gold"},
			"negative limit":    {Name: "x", MaxChecks: -1},
		} {
			_, _, err := s.CreateProject(t.Context(), spec)
			if _, ok := errors.AsType[*checks.FieldError](err); !ok {
				t.Errorf("%s: error %v, want a *checks.FieldError", name, err)
			}
		}
		if _, _, err := s.CreateProject(t.Context(), checks.ProjectSpec{Name: "p"}); !errors.Is(err, checks.ErrExists) {
			t.Errorf("name that is in use: error %v, want ErrExists", err)
		}
		if _, _, err := s.CreateProject(t.Context(), checks.ProjectSpec{Name: "first", First: true}); !errors.Is(err, checks.ErrExists) {
			t.Errorf("first project beside another: error %v, want ErrExists", err)
		}
	})
}

// vault is a store of keys that notes the hashes it is asked for. Any other use panics.
type vault struct {
	store.Store
	keys  map[[32]byte]checks.Key
	asked [][32]byte
}

func (v *vault) Keys(_ context.Context, f store.KeyFilter) (found []checks.Key, _ error) {
	v.asked = append(v.asked, *f.Hash)
	if key, ok := v.keys[*f.Hash]; ok {
		found = []checks.Key{key}
	}
	return found, nil
}

// TestAuthenticateByHash holds what keeps keys from being guessed by the time that an answer takes: Authenticate does
// nothing with a key but to hash all of it and to look up the hash. The hashes of similar keys differ, so a timing tells
// nothing about how much of a key is right.
func TestAuthenticateByHash(t *testing.T) {
	const right = "rcw_0123456789abcdefghijklmnopqr"
	store := &vault{Store: dbtest.Memory(t).Contract().(store.Store), keys: map[[32]byte]checks.Key{sha256.Sum256([]byte(right)): {ID: uuid.New()}}}
	mon, err := monitor.New(database{store}, nil)
	must(t, err)
	for _, text := range []string{
		right, right[:31] + "s", "s" + right[1:], strings.ToUpper(right), "rcr_" + right[4:], strings.Repeat("\x00", 32), strings.Repeat("é", 16),
	} {
		store.asked = nil
		key, err := mon.Projects().Authenticate(t.Context(), text)
		if found := err == nil && key.ID != uuid.Nil; found != (text == right) || !found && !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("%q: key %v, error %v", text, key, err)
		}
		if len(store.asked) != 1 || store.asked[0] != sha256.Sum256([]byte(text)) {
			t.Errorf("%q: the store was asked for %x, want the hash once", text, store.asked)
		}
	}
	for _, text := range []string{"", right[:31], right + "x", right + "\x00", strings.Repeat("é", 32)} {
		store.asked = nil
		if _, err := mon.Projects().Authenticate(t.Context(), text); !errors.Is(err, checks.ErrNotFound) || store.asked != nil {
			t.Errorf("%q, not a key's length: error %v, want ErrNotFound; the store was asked for %x", text, err, store.asked)
		}
	}
}

func TestRotatePingKey(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		c := s.create(t, checks.Spec{Slug: new("job")})
		old, err := s.Projects().ByID(t.Context(), s.project.ID)
		must(t, err)
		ping := func(key string) error {
			_, _, err := s.Monitor.PingSlug(t.Context(), key, "job", false, pings.Signal{})
			return err
		}
		must(t, ping(old.PingKey))
		got, err := s.Projects().RotatePingKey(t.Context(), old.ID)
		must(t, err)
		if !checks.ValidPingKey(got.PingKey) || got.PingKey == old.PingKey {
			t.Errorf("the ping key is %q, it was %q", got.PingKey, old.PingKey)
		}
		if err := ping(old.PingKey); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("the old key: error %v, want ErrNotFound", err)
		}
		must(t, ping(got.PingKey))
		_, err = s.Monitor.Ping(t.Context(), c.ID, pings.Signal{})
		must(t, err)
		stored, err := s.Projects().ByID(t.Context(), old.ID)
		old.PingKey = got.PingKey
		if diff := cmp.Diff(old, stored); err != nil || diff != "" {
			t.Errorf("error %v, project (-want +got):\n%s", err, diff)
		}
		if _, err := s.Projects().RotatePingKey(t.Context(), uuid.New()); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("an unknown project: error %v, want ErrNotFound", err)
		}
	})
}
