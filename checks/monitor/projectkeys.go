package monitor

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/records"
)

// CreateKey creates an API key for the project and returns its text: 32 characters that begin with "rcw_" for
// [checks.ReadWrite], "rcr_" for [checks.ReadOnly], "rci_" for [checks.ReadIDs] or "rca_" for [checks.Admin]. The database
// stores only a hash of it. Error: *[checks.FieldError] for another scope,
// and for the field "project" when that has [checks.MaxKeys].
func (p *Project) CreateKey(ctx context.Context, scope checks.Scope) (text string, key checks.Key, err error) {
	return p.CreateKeyUntil(ctx, scope, time.Time{})
}

// CreateKeyUntil is CreateKey for a key that is refused from an instant on; the zero time is never. It must be in the future, at most
// [checks.MaxKeyAge]: the error for others is a *[checks.FieldError] of the field "expires".
func (p *Project) CreateKeyUntil(ctx context.Context, scope checks.Scope, expires time.Time) (text string, key checks.Key, err error) {
	defer describe(&err, "project", p.id)
	if keyPrefixes[scope] == "" {
		return "", checks.Key{}, &checks.FieldError{Field: "scope", Reason: fmt.Sprintf("is unknown: %q", scope)}
	}
	text, key = p.newKey(p.id, scope)
	if key.ExpiresAt, err = p.expiry(expires); err != nil {
		return "", checks.Key{}, err
	}
	err = p.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.LockAccount(ctx, p.id); err != nil {
			return err
		}
		have, err := tx.Keys(ctx, store.KeyFilter{ProjectID: &p.id})
		if err != nil {
			return err
		}
		if err := roomForOne(len(have), checks.MaxKeys, "API keys"); err != nil {
			return err
		}
		change, err := p.note(ctx, tx, aboutKey(key, "key.create", newKeyChanges(key)...))
		if err != nil {
			return err
		}
		return change.SaveKey(ctx, key)
	})
	if err != nil {
		return "", checks.Key{}, err
	}
	return text, key, nil
}

// Keys returns the API keys of the project, oldest first, without their texts.
func (p *Project) Keys(ctx context.Context) ([]checks.Key, error) {
	found, err := p.store.Keys(ctx, store.KeyFilter{ProjectID: &p.id})
	return found, p.about(p.exists(ctx, len(found), err))
}

// DeleteKey revokes an API key of the project. A server of another process accepts it for up to 5 seconds more. Error:
// [checks.ErrNotFound].
func (p *Project) DeleteKey(ctx context.Context, id uuid.UUID) error {
	defer p.cached.forget()
	err := p.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		list, err := tx.Keys(ctx, store.KeyFilter{ProjectID: &p.id})
		if err != nil {
			return err
		}
		key, found := where(list, func(k checks.Key) bool { return k.ID == id })
		if !found {
			return checks.ErrNotFound
		}
		change, err := p.note(ctx, tx, aboutKey(key, "key.delete"))
		if err != nil {
			return err
		}
		return change.DeleteKey(ctx, p.id, id)
	})
	return about("key", id, err)
}

// CreateKey creates a key of the installation and returns its text, which begins with "rca_". It has the scope
// [checks.Admin] in every project. The database stores only a hash of it.
func (i *Installation) CreateKey(ctx context.Context) (text string, key checks.Key, err error) {
	return i.CreateKeyUntil(ctx, time.Time{})
}

// CreateKeyUntil is CreateKey for a key that expires, as [Project.CreateKeyUntil] says.
func (i *Installation) CreateKeyUntil(ctx context.Context, expires time.Time) (text string, key checks.Key, err error) {
	text, key = i.newKey(uuid.Nil, checks.Admin)
	if key.ExpiresAt, err = i.expiry(expires); err != nil {
		return "", checks.Key{}, err
	}
	value, err := json.Marshal(keyRecord{ID: key.ID, Scope: key.Scope, Hint: key.Hint, CreatedAt: key.CreatedAt, ExpiresAt: key.ExpiresAt})
	if err != nil {
		return "", checks.Key{}, err
	}
	err = i.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		record := records.Record{Kind: keyKind, Key: hex.EncodeToString(key.Hash[:]), Value: value, New: true}
		if err := tx.SaveRecords(ctx, i.now(), record); err != nil {
			return err
		}
		_, err := i.note(ctx, tx, aboutKey(key, "key.create", newKeyChanges(key)...))
		return err
	})
	if err != nil {
		return "", checks.Key{}, err
	}
	return text, key, nil
}

// Keys returns the keys of the installation, oldest first, without their texts.
func (i *Installation) Keys(ctx context.Context) ([]checks.Key, error) {
	return keysOfRecords(i.store.Records(ctx, i.now(), records.Query{Kind: new(keyKind)}))
}

// DeleteKey revokes a key of the installation, as [Project.DeleteKey] does for one of a project. Error: [checks.ErrNotFound].
func (i *Installation) DeleteKey(ctx context.Context, id uuid.UUID) error {
	defer i.cached.forget()
	err := i.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		keys, err := keysOfRecords(tx.LockRecords(ctx, i.now(), records.Query{Kind: new(keyKind)}))
		if err != nil {
			return err
		}
		key, found := where(keys, func(k checks.Key) bool { return k.ID == id })
		if !found {
			return checks.ErrNotFound
		}
		if _, err := i.note(ctx, tx, aboutKey(key, "key.delete")); err != nil {
			return err
		}
		return tx.SaveRecords(ctx, i.now(), records.Record{Kind: keyKind, Key: hex.EncodeToString(key.Hash[:])})
	})
	return about("key", id, err)
}

// keyPrefixes are the prefixes of API keys (server/API.md section 5).
var keyPrefixes = map[checks.Scope]string{
	checks.ReadWrite: "rcw_", checks.ReadOnly: "rcr_", checks.ReadIDs: "rci_", checks.Admin: "rca_",
}

// keyLength is the length of an API key in characters.
const keyLength = 32

// keyHintLength is how many characters of a key people see.
const keyHintLength = 8

func (s *service) newKey(projectID uuid.UUID, scope checks.Scope) (string, checks.Key) {
	prefix := keyPrefixes[scope]
	text := prefix + randomText(keyLength-len(prefix))
	return text, checks.Key{
		ID: uuid.New(), ProjectID: projectID, Scope: scope,
		Hash: sha256.Sum256([]byte(text)), Hint: text[:keyHintLength], CreatedAt: s.now(),
	}
}

// expiry returns an instant as it is stored, if a new key may expire then.
func (s *service) expiry(at time.Time) (time.Time, error) {
	switch now := s.now(); {
	case at.IsZero():
		return at, nil
	case !at.After(now):
		return at, &checks.FieldError{Field: "expires", Reason: "must be in the future"}
	case at.After(now.Add(checks.MaxKeyAge)):
		return at, &checks.FieldError{Field: "expires", Reason: "must be within 10 years"}
	}
	return at.UTC().Truncate(time.Microsecond), nil
}

// newKeyChanges is what the audit log says of a new key.
func newKeyChanges(k checks.Key) []audit.Change {
	changes := []audit.Change{{Field: "scope", To: string(k.Scope)}}
	if !k.ExpiresAt.IsZero() {
		changes = append(changes, audit.Change{Field: "expires", To: k.ExpiresAt.Format(time.RFC3339)})
	}
	return changes
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

// Authenticate returns the API key with this text, of a project or of the installation, or [checks.ErrNotFound]: for one that has
// expired [checks.ErrKeyExpired], which wraps it, with the key. It looks up a hash of the text, so its timing does not reveal how
// much of the text is right. A key that another process revokes stays valid for up to 5 seconds.
func (s *Projects) Authenticate(ctx context.Context, text string) (key checks.Key, err error) {
	defer describe(&err, "api", "key")
	if len(text) != keyLength {
		return checks.Key{}, checks.ErrNotFound
	}
	id := keyID{hash: sha256.Sum256([]byte(text)), admin: strings.HasPrefix(text, keyPrefixes[checks.Admin])}
	now := s.now()
	if key, err = s.cached.keys.get(ctx, id, now); err == nil && key.Expired(now) {
		err = checks.ErrKeyExpired
	}
	return key, err
}

// keyID identifies the text of an API key. Only with admin can the key be one of the installation.
type keyID struct {
	hash  [sha256.Size]byte
	admin bool
}

// keyKind is the kind of the records of keys of the installation. Their Key is the hash of the text, in hexadecimal.
const keyKind = "key"

// keyRecord is the value of the record of a key of the installation.
type keyRecord struct {
	ID        uuid.UUID    `json:"id"`
	Scope     checks.Scope `json:"scope"`
	Hint      string       `json:"hint"`
	CreatedAt time.Time    `json:"created_at"`
	ExpiresAt time.Time    `json:"expires_at,omitzero"`
}

// findKey returns the API key with a text.
func (s *service) findKey(ctx context.Context, id keyID) (checks.Key, error) {
	key, err := one(s.store.Keys(ctx, store.KeyFilter{Hash: &id.hash}))
	if !id.admin || !errors.Is(err, checks.ErrNotFound) {
		return key, err
	}
	return one(keysOfRecords(s.store.Records(ctx, s.now(), records.Query{Kind: new(keyKind), Key: new(hex.EncodeToString(id.hash[:]))})))
}

func keysOfRecords(list []records.Record, err error) ([]checks.Key, error) {
	if err != nil {
		return nil, err
	}
	keys := make([]checks.Key, len(list))
	for i, r := range list {
		var value keyRecord
		if err := json.Unmarshal(r.Value, &value); err != nil {
			return nil, err
		}
		keys[i] = checks.Key{ID: value.ID, Scope: value.Scope, Hint: value.Hint, CreatedAt: value.CreatedAt, ExpiresAt: value.ExpiresAt}
		if _, err := hex.Decode(keys[i].Hash[:], []byte(r.Key)); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(keys, func(a, b checks.Key) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return keys, nil
}
