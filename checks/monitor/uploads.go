package monitor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/rollcall-dev/rollcall/checks"
)

// uploadBatch is how many uploads are claimed at a time, and uploadWorkers how many of them run at once.
const uploadBatch, uploadWorkers = 64, 8

// errGone says that the ping has been removed, and with it the upload of its body.
var errGone = errors.New("the ping is gone")

// UploadBodies moves bodies larger than [Config.BodyThreshold] from the database to object storage until none is
// left that is due, and returns how many it has moved. [Monitor.Run] calls it all the time. The error is
// [ErrBodyUnavailable] when object storage cannot be used: the bodies stay in the database then. A body that alone
// is refused is logged and tried again later.
func (m *Monitor) UploadBodies(ctx context.Context) (moved int, err error) {
	if m.bodies.store == nil {
		return 0, nil
	}
	for {
		now := m.Now()
		claimed, err := m.store.ClaimUploads(ctx, now, now.Add(claimTime), uploadBatch)
		if err != nil {
			return moved, err
		}
		n, err := m.uploadClaimed(ctx, claimed)
		moved += n
		if err != nil || len(claimed) < uploadBatch {
			return moved, err
		}
	}
}

// uploadClaimed uploads what was claimed and records what became of it.
func (m *Monitor) uploadClaimed(ctx context.Context, claimed []Upload) (moved int, err error) {
	if len(claimed) == 0 {
		return 0, nil
	}
	results := m.uploadAll(ctx, claimed)
	now := m.Now()
	var done, retry []Upload
	var cause error
	for i, u := range claimed {
		switch err := results[i]; {
		case err == nil:
			done = append(done, u)
		case errors.Is(err, errGone):
		default:
			if concernsAll(err) {
				cause = firstCause(cause, err)
			}
			u.Attempts, u.Due = m.failure(ctx, "cannot upload the body of a ping", u.Key, u.Attempts, now, err)
			retry = append(retry, u)
		}
	}
	settle, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	if err := m.store.FinishUploads(settle, done); err != nil {
		return 0, errors.Join(cause, err)
	}
	return len(done), errors.Join(cause, m.store.RetryUploads(settle, retry))
}

// uploadAll uploads several bodies at a time and returns what became of each. After the first sign that object
// storage as a whole cannot be used it begins no other.
func (m *Monitor) uploadAll(ctx context.Context, claimed []Upload) []error {
	ctx, cancel := context.WithTimeout(ctx, workTime)
	defer cancel()
	results := make([]error, len(claimed))
	var next atomic.Int64
	var stop atomic.Bool
	var workers sync.WaitGroup
	for range min(uploadWorkers, len(claimed)) {
		workers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(claimed) {
					return
				}
				results[i] = errNotTried
				if !stop.Load() && ctx.Err() == nil {
					results[i] = m.upload(ctx, claimed[i])
				}
				if concernsAll(results[i]) {
					stop.Store(true)
				}
			}
		})
	}
	workers.Wait()
	return results
}

func (m *Monitor) upload(ctx context.Context, u Upload) (err error) {
	defer func() {
		if r := recover(); r != nil { // the storage may be another program's code
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	body, err := m.store.UploadBody(ctx, u)
	if errors.Is(err, checks.ErrNotFound) {
		return errGone
	}
	if err != nil {
		return err
	}
	return m.bodies.store.Put(ctx, u.Key, body)
}
