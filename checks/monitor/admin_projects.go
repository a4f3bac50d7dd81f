package monitor

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/records"
)

// keyPrefixes are the prefixes of API keys (server/API.md section 5).
var keyPrefixes = map[checks.Scope]string{
	checks.ReadWrite: "rcw_", checks.ReadOnly: "rcr_", checks.ReadIDs: "rci_", checks.Admin: "rca_",
}

// keyLength is the length of an API key in characters.
const keyLength = 32

// keyHintLength is how many characters of a key people see.
const keyHintLength = 8

// CreateProject creates a project with two keys.
func (a *admin) CreateProject(ctx context.Context, spec ProjectSpec) (p checks.Project, keys Keys, err error) {
	defer a.forgetLookups() // MaxChecks also changes the other projects of the account
	return a.createProject(ctx, spec, spec.First)
}

// OpenProject returns the project with this name, or creates it.
func (a *admin) OpenProject(ctx context.Context, name string) (checks.Project, error) {
	p, err := a.ProjectByName(ctx, name)
	if !errors.Is(err, checks.ErrNotFound) {
		return p, err
	}
	p, _, err = a.CreateProject(ctx, ProjectSpec{Name: name})
	if errors.Is(err, checks.ErrExists) { // another program has just created it
		return a.ProjectByName(ctx, name)
	}
	return p, err
}

// newProject returns the project of a spec.
func (a *admin) newProject(spec ProjectSpec) (checks.Project, error) {
	p := checks.Project{
		ID: uuid.New(), Name: spec.Name, Account: cmp.Or(spec.Account, "default"), Plan: cmp.Or(spec.Plan, "paid"), MaxChecks: spec.MaxChecks,
		BadgeKey: randomText(publicKeyLength), PingKey: cmp.Or(spec.PingKey, randomText(publicKeyLength)), CreatedAt: a.Now(),
	}
	switch {
	case p.Plan != "free" && p.Plan != "paid":
		return checks.Project{}, &checks.FieldError{Field: "plan", Reason: fmt.Sprintf("must be free or paid: %q", p.Plan)}
	case !checks.ValidPingKey(p.PingKey):
		return checks.Project{}, &checks.FieldError{Field: "ping-key", Reason: "must be 22 lower-case letters and digits"}
	case p.MaxChecks < 0:
		return checks.Project{}, &checks.FieldError{Field: "max-checks", Reason: fmt.Sprintf("is too small: %d, the minimum is 0", p.MaxChecks)}
	}
	return p, errors.Join(checks.ValidateProjectName(p.Name), checks.ValidateName("account", p.Account))
}

// createProject creates a project with two keys, unless the spec has NoKeys. With first, the error is [checks.ErrExists] if there is any project.
func (a *admin) createProject(ctx context.Context, spec ProjectSpec, first bool) (checks.Project, Keys, error) {
	p, err := a.newProject(spec)
	if err != nil {
		return checks.Project{}, Keys{}, err
	}
	var keys Keys
	var saved []checks.Key
	if !spec.NoKeys {
		readWrite, keyRW := a.newKey(p.ID, checks.ReadWrite)
		readOnly, keyRO := a.newKey(p.ID, checks.ReadOnly)
		keys, saved = Keys{ReadWrite: readWrite, ReadOnly: readOnly}, []checks.Key{keyRW, keyRO}
	}
	err = a.Store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		saveProject := tx.SaveProject
		if first {
			saveProject = tx.SaveFirstProject
		}
		if err := saveProject(ctx, p); err != nil {
			return err
		}
		for _, k := range saved {
			if err := tx.SaveKey(ctx, k); err != nil {
				return err
			}
		}
		return a.note(ctx, tx, aboutProject(p, "project.create", audit.Change{Field: "account", To: p.Account}, audit.Change{Field: "plan", To: p.Plan}))
	})
	if err != nil {
		return checks.Project{}, Keys{}, err
	}
	return p, keys, nil
}

// Project returns the project with this identifier.
func (a *admin) Project(ctx context.Context, id uuid.UUID) (checks.Project, error) {
	return a.project(ctx, store.ProjectFilter{ID: &id})
}

// ProjectByName returns the project with this name.
func (a *admin) ProjectByName(ctx context.Context, name string) (checks.Project, error) {
	return a.project(ctx, store.ProjectFilter{Name: &name})
}

func (a *admin) project(ctx context.Context, f store.ProjectFilter) (checks.Project, error) {
	return one(a.Store.Projects(ctx, f))
}

// Projects returns all projects by name.
func (a *admin) Projects(ctx context.Context) ([]checks.Project, error) {
	return a.Store.Projects(ctx, store.ProjectFilter{})
}

// RenameProject changes the name of a project.
func (a *admin) RenameProject(ctx context.Context, id uuid.UUID, name string) (p checks.Project, err error) {
	if err := checks.ValidateProjectName(name); err != nil {
		return checks.Project{}, err
	}
	defer a.forgetLookups()
	err = a.Store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		if p, err = tx.LockAccount(ctx, id); err != nil {
			return err
		}
		changes := add(nil, "name", p.Name, name)
		p.Name = name
		if err := tx.SaveProject(ctx, p); err != nil {
			return err
		}
		return a.noteChanged(ctx, tx, aboutProject(p, "project.update", changes...))
	})
	if err != nil {
		return checks.Project{}, err
	}
	return p, nil
}

// retiredKind is the kind of the records of ping keys that were replaced. Their Key is the hash of the text, in hexadecimal,
// and their Owner the project. Only pings that wait in a spool since before look them up.
const (
	retiredKind = "retired ping key"
	retiredFor  = 90 * 24 * time.Hour
)

// RotatePingKey gives a project another ping key.
func (a *admin) RotatePingKey(ctx context.Context, id uuid.UUID) (p checks.Project, err error) {
	defer a.forgetLookups()
	err = a.Store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		if p, err = tx.LockAccount(ctx, id); err != nil {
			return err
		}
		retired := records.Record{Kind: retiredKind, Key: retiredKey(p.PingKey), Owner: id, Value: []byte("{}"), Until: a.Now().Add(retiredFor)}
		p.PingKey = randomText(publicKeyLength)
		if err := tx.SaveProject(ctx, p); err != nil {
			return err
		}
		if err := tx.SaveRecords(ctx, a.Now(), retired); err != nil {
			return err
		}
		return a.note(ctx, tx, aboutProject(p, "project.update", audit.Change{Field: "ping_key", From: hidden, To: hidden}))
	})
	if err != nil {
		return checks.Project{}, err
	}
	return p, nil
}

func retiredKey(pingKey string) string {
	hash := sha256.Sum256([]byte(pingKey))
	return hex.EncodeToString(hash[:])
}

// renewed returns the ping key of the project that had another one before.
func (a *admin) renewed(ctx context.Context, pingKey string) (string, error) {
	r, err := one(a.Store.Records(ctx, a.Now(), records.Query{Kind: new(retiredKind), Key: new(retiredKey(pingKey))}))
	if err != nil {
		return "", err
	}
	p, err := a.project(ctx, store.ProjectFilter{ID: &r.Owner})
	return p.PingKey, err
}

// DeleteProject removes a project with all that it has.
func (a *admin) DeleteProject(ctx context.Context, id uuid.UUID) error {
	defer a.forgetLookups()
	return a.Store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		p, err := one(tx.Projects(ctx, store.ProjectFilter{ID: &id}))
		if err != nil {
			return err
		}
		if err := a.note(ctx, tx, aboutProject(p, "project.delete")); err != nil {
			return err
		}
		return tx.DeleteProject(ctx, p.ID)
	})
}

// CreateKey creates an API key for a project and returns its text.
func (a *admin) CreateKey(ctx context.Context, projectID uuid.UUID, scope checks.Scope) (text string, key checks.Key, err error) {
	if keyPrefixes[scope] == "" {
		return "", checks.Key{}, &checks.FieldError{Field: "scope", Reason: fmt.Sprintf("is unknown: %q", scope)}
	}
	text, key = a.newKey(projectID, scope)
	err = a.Store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.LockAccount(ctx, projectID); err != nil {
			return err
		}
		have, err := tx.Keys(ctx, store.KeyFilter{ProjectID: &projectID})
		if err != nil {
			return err
		}
		if err := checks.ValidateCount(len(have), checks.MaxKeys, "API keys"); err != nil {
			return err
		}
		if err := tx.SaveKey(ctx, key); err != nil {
			return err
		}
		return a.note(ctx, tx, aboutKey(key, "key.create", audit.Change{Field: "scope", To: string(scope)}))
	})
	if err != nil {
		return "", checks.Key{}, err
	}
	return text, key, nil
}

func (a *admin) newKey(projectID uuid.UUID, scope checks.Scope) (string, checks.Key) {
	prefix := keyPrefixes[scope]
	text := prefix + randomText(keyLength-len(prefix))
	return text, checks.Key{
		ID: uuid.New(), ProjectID: projectID, Scope: scope,
		Hash: sha256.Sum256([]byte(text)), Hint: text[:keyHintLength], CreatedAt: a.Now(),
	}
}

// publicKeyLength is the length of badge keys and of ping keys; see [checks.ValidPingKey].
const publicKeyLength = 22

// randomText returns n random lower-case letters and digits, with 5 bits of randomness each.
func randomText(n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(strings.ToLower(rand.Text()))
	}
	return b.String()[:n]
}

// Keys returns the API keys of a project, oldest first.
func (a *admin) Keys(ctx context.Context, projectID uuid.UUID) ([]checks.Key, error) {
	found, err := a.Store.Keys(ctx, store.KeyFilter{ProjectID: &projectID})
	return found, a.Exists(ctx, projectID, len(found), err)
}

// DeleteKey removes an API key of a project.
func (a *admin) DeleteKey(ctx context.Context, projectID, id uuid.UUID) error {
	defer a.forgetLookups()
	return a.Store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		list, err := tx.Keys(ctx, store.KeyFilter{ProjectID: &projectID})
		if err != nil {
			return err
		}
		key, found := where(list, func(k checks.Key) bool { return k.ID == id })
		if !found {
			return checks.ErrNotFound
		}
		if err := a.note(ctx, tx, aboutKey(key, "key.delete")); err != nil {
			return err
		}
		return tx.DeleteKey(ctx, projectID, id)
	})
}

// Authenticate returns the API key with this text, from a cache.
func (a *admin) Authenticate(ctx context.Context, text string) (checks.Key, error) {
	if len(text) != keyLength {
		return checks.Key{}, checks.ErrNotFound
	}
	id := keyID{hash: sha256.Sum256([]byte(text)), admin: strings.HasPrefix(text, keyPrefixes[checks.Admin])}
	return a.keys.get(ctx, id, a.Now())
}

// forgetLookups empties the caches of projects and keys, so that a change takes effect in this process at once.
func (a *admin) forgetLookups() {
	a.keys.forget()
	a.byBadgeKey.forget()
	a.byID.forget()
}

// Secret returns a secret of the installation by name, and generates it first if there is none.
func (a *admin) Secret(ctx context.Context, name string) (string, error) {
	s, err := a.Store.Setting(ctx, a.Now(), store.Setting{Name: name, Value: randomText(52)})
	return s.Value, err
}

// Once reports whether this call is the first with this name, for good.
func (a *admin) Once(ctx context.Context, name string) (first bool, err error) {
	mine := randomText(52)
	stored, err := a.Store.Setting(ctx, a.Now(), store.Setting{Name: name, Value: mine})
	return stored.Value == mine, err
}

// ended returns the setting that says that a session has ended.
func ended(id uuid.UUID) store.Setting { return store.Setting{Name: "session " + id.String()} }

// EndSession ends a session, which would have ended by itself until the given instant.
func (a *admin) EndSession(ctx context.Context, id uuid.UUID, until time.Time) error {
	s := ended(id)
	s.Value, s.Until = "ended", until
	_, err := a.Store.Setting(ctx, a.Now(), s)
	return err
}

// SessionEnded reports whether EndSession has ended a session.
func (a *admin) SessionEnded(ctx context.Context, id uuid.UUID) (bool, error) {
	s, err := a.Store.Setting(ctx, a.Now(), ended(id))
	return s.Value != "", err
}
