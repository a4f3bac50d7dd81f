package monitor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/records"
)

// keyID identifies the text of an API key. Only with admin can the key be one of the installation.
type keyID struct {
	hash  [sha256.Size]byte
	admin bool
}

// findKey returns the API key with a text.
func (a *admin) findKey(ctx context.Context, id keyID) (checks.Key, error) {
	key, err := one(a.Store.Keys(ctx, store.KeyFilter{Hash: &id.hash}))
	if !id.admin || !errors.Is(err, checks.ErrNotFound) {
		return key, err
	}
	return one(a.keysOfRecords(a.Store.Records(ctx, a.Now(), records.Query{Kind: new(keyKind), Key: new(hex.EncodeToString(id.hash[:]))})))
}

// keyKind is the kind of the records of keys of the installation. Their Key is the hash of the text, in hexadecimal.
const keyKind = "key"

// keyRecord is the value of the record of a key of the installation.
type keyRecord struct {
	ID        uuid.UUID    `json:"id"`
	Scope     checks.Scope `json:"scope"`
	Hint      string       `json:"hint"`
	CreatedAt time.Time    `json:"created_at"`
}

func (a *admin) keysOfRecords(records []records.Record, err error) ([]checks.Key, error) {
	if err != nil {
		return nil, err
	}
	keys := make([]checks.Key, len(records))
	for i, r := range records {
		var value keyRecord
		if err := json.Unmarshal(r.Value, &value); err != nil {
			return nil, err
		}
		keys[i] = checks.Key{ID: value.ID, Scope: value.Scope, Hint: value.Hint, CreatedAt: value.CreatedAt}
		if _, err := hex.Decode(keys[i].Hash[:], []byte(r.Key)); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(keys, func(a, b checks.Key) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return keys, nil
}

// CreateInstallationKey creates a key of the installation and returns its text.
func (a *admin) CreateInstallationKey(ctx context.Context) (text string, key checks.Key, err error) {
	text, key = a.newKey(uuid.Nil, checks.Admin)
	value, err := json.Marshal(keyRecord{ID: key.ID, Scope: key.Scope, Hint: key.Hint, CreatedAt: key.CreatedAt})
	if err != nil {
		return "", checks.Key{}, err
	}
	err = a.Store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		record := records.Record{Kind: keyKind, Key: hex.EncodeToString(key.Hash[:]), Value: value, New: true}
		if err := tx.SaveRecords(ctx, a.Now(), record); err != nil {
			return err
		}
		return a.note(ctx, tx, aboutKey(key, "key.create", audit.Change{Field: "scope", To: string(key.Scope)}))
	})
	if err != nil {
		return "", checks.Key{}, err
	}
	return text, key, nil
}

// InstallationKeys returns the keys of the installation, oldest first.
func (a *admin) InstallationKeys(ctx context.Context) ([]checks.Key, error) {
	return a.keysOfRecords(a.Store.Records(ctx, a.Now(), records.Query{Kind: new(keyKind)}))
}

// DeleteInstallationKey removes a key of the installation.
func (a *admin) DeleteInstallationKey(ctx context.Context, id uuid.UUID) error {
	defer a.forgetLookups()
	return a.Store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		keys, err := a.keysOfRecords(tx.LockRecords(ctx, a.Now(), records.Query{Kind: new(keyKind)}))
		if err != nil {
			return err
		}
		key, found := where(keys, func(k checks.Key) bool { return k.ID == id })
		if !found {
			return checks.ErrNotFound
		}
		if err := a.note(ctx, tx, aboutKey(key, "key.delete")); err != nil {
			return err
		}
		return tx.SaveRecords(ctx, a.Now(), records.Record{Kind: keyKind, Key: hex.EncodeToString(key.Hash[:])})
	})
}
