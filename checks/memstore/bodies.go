package memstore

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// upload is a body that is to move to object storage.
type upload struct {
	store.BodyJob
	entry *entry
}

// uploadSlack is how long after the end of its lease an upload may still take effect: object storage may complete an
// abandoned request.
const uploadSlack = 2 * time.Minute

// queueUpload queues the body of a log entry. Its key is random, because objects outlive the store.
func (t *transaction) queueUpload(checkID uuid.UUID, e *entry) {
	e.upload = t.s.next()
	put(t, t.s.uploads, e.upload, &upload{entry: e, BodyJob: store.BodyJob{
		Task: store.UploadTask, ID: e.upload, Key: checkID.String() + "/" + uuid.NewString(), Due: e.At,
	}})
}

// queueRemoval queues the removal of an object. If it is queued already, it gets a new due time, which makes the server
// that works on it do it once more.
func (s *Store) queueRemoval(key string, due time.Time) {
	if job := s.removals[key]; job != nil {
		job.Due = due
	} else {
		s.removals[key] = &store.BodyJob{Task: store.RemovalTask, Key: key, Due: due}
	}
}

// disown ends the upload of a log entry that leaves the log, and queues the removal of its object if there may be one.
func (s *Store) disown(e *entry) {
	if u := s.uploads[e.upload]; u != nil {
		delete(s.uploads, e.upload)
		if u.Attempts > 0 {
			s.queueRemoval(u.Key, u.Due.Add(uploadSlack))
		}
	}
	if e.BodyKey != "" {
		delete(s.objects, e.BodyKey)
		s.queueRemoval(e.BodyKey, time.Time{})
	}
}

// ClaimBodies leases jobs that are due.
func (s *Store) ClaimBodies(
	ctx context.Context, task store.BodyTask, now, until time.Time, limit int,
) (claimed []store.BodyJob, err error) {
	err = s.change(ctx, func() {
		var due []*store.BodyJob
		consider := func(job *store.BodyJob) {
			if !job.Due.After(now) {
				due = append(due, job)
			}
		}
		if task == store.UploadTask {
			for _, u := range s.uploads {
				consider(&u.BodyJob)
			}
		} else {
			for _, job := range s.removals {
				consider(job)
			}
		}
		slices.SortFunc(due, func(a, b *store.BodyJob) int { return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.ID, b.ID)) })
		for _, job := range due[:min(limit, len(due))] {
			job.Attempts++
			job.Due = until
			claimed = append(claimed, *job)
		}
	})
	return claimed, err
}

// UploadBody returns the body of an upload.
func (s *Store) UploadBody(ctx context.Context, job store.BodyJob) (body []byte, err error) {
	found := false
	err = s.view(ctx, func() {
		if u := s.uploads[job.ID]; u != nil && u.Key == job.Key {
			body, found = bytes.Clone(u.entry.Body), true
		}
	})
	if err == nil && !found {
		err = checks.ErrNotFound
	}
	return body, err
}

// SettleBodies records the outcome of jobs.
func (s *Store) SettleBodies(ctx context.Context, results []store.BodyResult) error {
	return s.change(ctx, func() {
		for _, r := range results {
			if r.Task == store.UploadTask {
				s.settleUpload(r)
			} else {
				s.settleRemoval(r)
			}
		}
	})
}

func (s *Store) settleUpload(r store.BodyResult) {
	u := s.uploads[r.ID]
	queued := u != nil && u.Key == r.Key
	switch {
	case queued && r.RetryAt.IsZero():
		u.entry.Body, u.entry.BodyKey = nil, u.Key
		s.objects[u.Key] = true
		delete(s.uploads, r.ID)
	case queued:
		u.Attempts, u.Due = r.Attempts, checks.Instant(r.RetryAt)
	case r.RetryAt.IsZero() && !s.objects[r.Key]: // the ping is gone; otherwise another monitor has settled the upload
		s.queueRemoval(r.Key, time.Time{})
	}
}

func (s *Store) settleRemoval(r store.BodyResult) {
	job := s.removals[r.Key]
	switch {
	case job == nil || !job.Due.Equal(r.Due): // the object was uploaded again
	case r.RetryAt.IsZero():
		delete(s.removals, r.Key)
	default:
		job.Attempts, job.Due = r.Attempts, checks.Instant(r.RetryAt)
	}
}
