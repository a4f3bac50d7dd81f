// Package bodies keeps the large bodies of pings in object storage. The database has a queue of the bodies to upload and
// of the objects to remove, so that neither an outage of the storage nor a crash loses a body or leaves an object.
package bodies

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/pings"
)

// Storage keeps objects outside the database. Package monitor documents it as its BodyStore.
type Storage interface {
	Put(ctx context.Context, key string, body []byte) error
	Get(ctx context.Context, key string, size int64) ([]byte, error)
	Remove(ctx context.Context, keys []string) error
}

// Bodies moves bodies to object storage and reads them there.
type Bodies struct {
	Storage Storage // nil for none
	Queue   store.BodyQueue
	Now     func() time.Time
	Log     *slog.Logger
}

// Read reads the body of a ping that has a BodyKey. Errors: [checks.ErrNotFound], [checks.ErrBodyUnavailable].
func (b *Bodies) Read(ctx context.Context, ping pings.Ping) ([]byte, error) {
	if b.Storage == nil {
		return nil, fmt.Errorf("%w: none is configured", checks.ErrBodyUnavailable)
	}
	body, err := b.Storage.Get(ctx, ping.BodyKey, ping.BodySize)
	switch {
	case err == nil && int64(len(body)) == ping.BodySize:
		return body, nil
	case err == nil:
		err = fmt.Errorf("%d bytes instead of %d", len(body), ping.BodySize)
	case errors.Is(err, checks.ErrNotFound):
		// The object was removed with its ping after the ping was read, or it is lost.
		b.Log.WarnContext(ctx, "the body of a ping is not in object storage", "object", ping.BodyKey)
		return nil, err
	case errors.Is(err, checks.ErrBodyUnavailable) || ctx.Err() != nil:
		return nil, err
	}
	return nil, fmt.Errorf("%w: object %s: %w", checks.ErrBodyUnavailable, ping.BodyKey, err)
}
