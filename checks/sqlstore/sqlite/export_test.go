package sqlite

import (
	"context"
	"database/sql"
	"time"
)

// OpenWithin is OpenDB with another busy timeout.
func OpenWithin(ctx context.Context, path string, busy time.Duration) (*sql.DB, error) {
	return openDB(ctx, path, busy)
}
