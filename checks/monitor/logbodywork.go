package monitor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/background"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

const (
	// uploadBatch is the number of uploads in one claim, and uploadWorkers how many of them run at once.
	uploadBatch, uploadWorkers = 64, 8
	// removalBatch is the number of removals in one claim.
	removalBatch = 500
	// leaseTime is the lease of claimed jobs. Work on them stops after workTime, well before the lease ends.
	leaseTime, workTime = 30 * time.Second, 20 * time.Second
	// recordTime bounds the recording of results, which continues while the monitor stops.
	recordTime = 5 * time.Second
	// objectWait is the first pause after object storage has refused one object. It doubles up to objectWaitMost.
	objectWait, objectWaitMost = time.Minute, time.Hour
)

var (
	// errNotTried is the error of a job that was skipped because another one had failed.
	errNotTried = errors.New("not tried")
	// errGone means that the ping was removed, and with it the upload of its body.
	errGone = errors.New("the ping is gone")
)

// upload moves all bodies that are due when it is called from the database to object storage, and returns how many it moved. The error is
// [checks.ErrBodyUnavailable] if object storage is unavailable. If it refuses one body, upload logs that and retries it
// later.
func (b bodies) upload(ctx context.Context) (moved int, err error) {
	return b.work(ctx, store.UploadTask, uploadBatch, b.uploadAll)
}

// remove removes all objects that are due and whose pings no longer exist, and returns how many it removed. The error is
// that of [bodies.upload].
func (b bodies) remove(ctx context.Context) (removed int, err error) {
	return b.work(ctx, store.RemovalTask, removalBatch, b.removeAll)
}

// work claims and does the jobs of a task that are due now, and returns how many are done.
func (b bodies) work(ctx context.Context, task store.BodyTask, batch int, do func(context.Context, []store.BodyJob) []error) (done int, err error) {
	if b.config.Bodies == nil {
		return 0, nil
	}
	asOf := b.now() // so that it ends although pings arrive
	for {
		jobs, err := b.store.ClaimBodies(ctx, task, asOf, b.now().Add(leaseTime), batch)
		if err != nil || len(jobs) == 0 {
			return done, err
		}
		working, cancel := context.WithTimeout(ctx, workTime)
		errs := do(working, jobs)
		cancel()
		n, err := b.record(ctx, jobs, errs)
		done += n
		if err != nil || len(jobs) < batch {
			return done, err
		}
	}
}

// record records the outcome of jobs and returns how many are done. It returns the first error that concerns all
// jobs.
func (b bodies) record(ctx context.Context, jobs []store.BodyJob, errs []error) (done int, err error) {
	now := b.now()
	results := make([]store.BodyResult, 0, len(jobs))
	var cause error
	for i, job := range jobs {
		r := store.BodyResult{BodyJob: job}
		switch err := errs[i]; {
		case err == nil:
			done++
		case errors.Is(err, errGone):
			continue
		case concernsAll(err) || ctx.Err() != nil:
			cause = firstCause(cause, err)
			// The whole task pauses, so the claim counts for no job. Attempts stays at least 1, because an upload may
			// have left an object.
			r.Attempts, r.RetryAt = max(1, job.Attempts-1), now
		default:
			wait := background.Backoff(objectWait, objectWaitMost, job.Attempts)
			r.RetryAt = now.Add(wait)
			if !b.told.once(fmt.Sprint(job.Task, " ", job.Key)) {
				break
			}
			b.logger("bodies").WarnContext(ctx, "an object in object storage cannot be written or removed", "task", job.Task, "object", job.Key, "attempts", job.Attempts,
				"again_in", wait.Round(time.Second), "error", err)
		}
		results = append(results, r)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	if err := b.store.RecordBodies(ctx, results); err != nil {
		return 0, errors.Join(cause, err)
	}
	return done, cause
}

// concernsAll reports whether an error has a cause other than the object itself.
func concernsAll(err error) bool {
	for _, target := range []error{checks.ErrBodyUnavailable, errNotTried, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, target) {
			return true
		}
	}
	return store.Away(err)
}

// firstCause returns the earlier error, unless that is only errNotTried.
func firstCause(earlier, later error) error {
	if earlier == nil || earlier == errNotTried && later != nil {
		return later
	}
	return earlier
}

// uploadAll uploads several bodies at a time and returns the error of each. It begins no further upload once an error
// concerns all.
func (b bodies) uploadAll(ctx context.Context, jobs []store.BodyJob) []error {
	errs := make([]error, len(jobs))
	var next atomic.Int64
	var stop atomic.Bool
	var workers sync.WaitGroup
	for range min(uploadWorkers, len(jobs)) {
		workers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(jobs) {
					return
				}
				errs[i] = errNotTried
				if !stop.Load() && ctx.Err() == nil {
					errs[i] = b.uploadOne(ctx, jobs[i])
				}
				if concernsAll(errs[i]) {
					stop.Store(true)
				}
			}
		})
	}
	workers.Wait()
	return errs
}

// uploadOne moves one body.
func (b bodies) uploadOne(ctx context.Context, job store.BodyJob) error {
	body, err := b.store.UploadBody(ctx, job)
	if errors.Is(err, checks.ErrNotFound) {
		return errGone
	}
	if err != nil {
		return err
	}
	return background.Call(func() error {
		if err := b.config.Bodies.Put(ctx, job.Key, body); err != nil {
			return err
		}
		return b.prove(ctx, job.Key, body)
	})
}

// prove reads an object that was put: the database keeps the body until object storage returns it.
func (b bodies) prove(ctx context.Context, key string, body []byte) error {
	got, err := b.config.Bodies.Get(ctx, key, int64(len(body)))
	if errors.Is(err, checks.ErrNotFound) {
		return fmt.Errorf("object storage has not stored what it acknowledged: %w", err)
	}
	if err == nil && !bytes.Equal(got, body) {
		err = fmt.Errorf("get %s: %w", key, checks.ErrBodyCorrupt)
	}
	return err
}

// removeAll removes objects and returns the error of each. If the request for all fails because of some objects, it
// removes them one by one.
func (b bodies) removeAll(ctx context.Context, jobs []store.BodyJob) []error {
	keys := make([]string, len(jobs))
	for i, job := range jobs {
		keys[i] = job.Key
	}
	errs := make([]error, len(jobs))
	err := b.removeObjects(ctx, keys)
	if err == nil {
		return errs
	}
	for i := range errs {
		errs[i] = err
		if !concernsAll(err) && len(keys) > 1 {
			errs[i] = b.removeObjects(ctx, keys[i:i+1])
			if concernsAll(errs[i]) {
				err = errNotTried // for the rest
			}
		}
	}
	return errs
}

func (b bodies) removeObjects(ctx context.Context, keys []string) error {
	return background.Call(func() error { return b.config.Bodies.Remove(ctx, keys) })
}
