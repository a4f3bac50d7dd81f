package ingest

import (
	"errors"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// commit records a batch. Each ping has its entry or its error afterwards. Pings that could not be recorded are passed to
// fail: with a [store.ErrPartly] if they were certainly not recorded, and with another [store.ErrUnavailable] only once and
// those at the end of the batch.
type commit func(batch []*queued, fail func(part []*queued, err error))

// maxFailed is how many checks in a row may fail, and none succeed, before the whole database counts as unavailable.
const maxFailed = 3

// alone returns a commit by transactions. If one fails although the database is there, some of its pings may be the cause: it
// then commits each ping alone, so that only the bad ones fail. A ping does not overtake one of its check that has failed.
func alone(transaction func(batch []*queued) error) commit {
	return func(batch []*queued, fail func([]*queued, error)) {
		err := transaction(batch)
		if err == nil {
			return
		}
		if len(batch) == 1 || store.Away(err) {
			fail(batch, err)
			return
		}
		failed, works := make(map[uuid.UUID]error), false
		for i, p := range batch {
			if err := failed[p.check]; err != nil {
				fail(batch[i:i+1], err)
				continue
			}
			switch err := transaction(batch[i : i+1]); {
			case err == nil:
				works = true
			case store.Away(err):
				fail(batch[i:], err)
				return
			case errors.Is(err, store.ErrUnavailable):
				if failed[p.check] = err; !works && len(failed) == maxFailed {
					fail(batch[i:], err)
					return
				}
				fail(batch[i:i+1], err)
			default:
				fail(batch[i:i+1], err)
			}
		}
	}
}
