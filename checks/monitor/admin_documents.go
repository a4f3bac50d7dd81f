package monitor

import (
	"context"
	"time"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/records"
)

// documentKind returns the kind of the records that hold documents of a kind. No other record has such a kind.
func documentKind(kind string) string { return "document " + kind }

// Documents returns the documents of a kind, by key.
func (a *admin) Documents(ctx context.Context, kind string) ([]records.Record, error) {
	return a.Store.Records(ctx, a.Now(), records.Query{Kind: new(documentKind(kind))})
}

// SaveDocument adds or replaces a document.
func (a *admin) SaveDocument(ctx context.Context, kind, key string, value []byte, until time.Time) error {
	r := records.Record{Kind: documentKind(kind), Key: key, Value: value, Until: until}
	return a.Store.Update(ctx, func(ctx context.Context, tx store.Tx) error { return tx.SaveRecords(ctx, a.Now(), r) })
}

// TakeDocument removes a document and returns its value.
func (a *admin) TakeDocument(ctx context.Context, kind, key string) (value []byte, err error) {
	kind = documentKind(kind)
	err = a.Store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		r, err := one(tx.LockRecords(ctx, a.Now(), records.Query{Kind: &kind, Key: &key}))
		if err != nil {
			return err
		}
		value = r.Value
		return tx.SaveRecords(ctx, a.Now(), records.Record{Kind: kind, Key: key})
	})
	if err != nil {
		return nil, err
	}
	return value, nil
}
