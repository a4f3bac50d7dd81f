package ingest

import (
	"errors"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// commit records a batch. Each ping has its entry or its error afterwards. Pings that could not be recorded are passed to
// fail, with [store.ErrUnavailable] only once and those at the end of the batch.
type commit func(batch []*queued, fail func(part []*queued, err error))

// alone returns a commit by transactions. If one fails although the database is available, one of its pings must be the
// cause: it then commits each ping alone, so that only the bad one fails.
func alone(transaction func(batch []*queued) error) commit {
	return func(batch []*queued, fail func([]*queued, error)) {
		err := transaction(batch)
		if err == nil {
			return
		}
		if len(batch) == 1 || errors.Is(err, store.ErrUnavailable) {
			fail(batch, err)
			return
		}
		for i := range batch {
			switch err := transaction(batch[i : i+1]); {
			case errors.Is(err, store.ErrUnavailable):
				fail(batch[i:], err)
				return
			case err != nil:
				fail(batch[i:i+1], err)
			}
		}
	}
}
