package sqlstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/pings"
)

// pingLarge records pings whose bodies are to be uploaded.
func (f fixture) pingLarge(t *testing.T, id uuid.UUID, at time.Time, bodies ...[]byte) {
	t.Helper()
	must(t, f.edit(t.Context(), id, func(l *store.Locked) error {
		for _, body := range bodies {
			l.Uploads = append(l.Uploads, receive(l, pings.Signal{Body: body}, at).N)
		}
		return nil
	}))
}

// claim claims uploads.
func (f fixture) claim(t *testing.T, now time.Time, limit int) []store.BodyJob {
	t.Helper()
	list, err := f.ClaimBodies(t.Context(), store.UploadTask, now, now.Add(time.Minute), limit)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// removals claims all removals that are due.
func (f fixture) removals(t *testing.T, now time.Time) []store.BodyJob {
	t.Helper()
	list, err := f.ClaimBodies(t.Context(), store.RemovalTask, now, now.Add(time.Minute), 10_000)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func done(list []store.BodyJob) (results []store.BodyResult) {
	for _, job := range list {
		results = append(results, store.BodyResult{BodyJob: job})
	}
	return results
}

func (f fixture) finish(t *testing.T, list ...store.BodyJob) {
	t.Helper()
	f.settleBodies(t, done(list)...)
}

func (f fixture) settleBodies(t *testing.T, results ...store.BodyResult) {
	t.Helper()
	if err := f.RecordBodies(t.Context(), results); err != nil {
		t.Fatal(err)
	}
}

func (f fixture) deleteCheck(t *testing.T, id uuid.UUID) {
	t.Helper()
	f.update(t, func(ctx context.Context, tx store.Tx) error {
		l, err := tx.LockCheck(ctx, id)
		if err != nil {
			return err
		}
		return tx.DeleteChecks(ctx, l)
	})
}

func (f fixture) body(t *testing.T, id uuid.UUID, n int64) pings.Ping {
	t.Helper()
	list := f.pings(t, store.PingQuery{Checks: []uuid.UUID{id}, Number: &n, Limit: 1000})[id]
	if len(list) != 1 {
		t.Fatalf("ping %d: found %d", n, len(list))
	}
	return list[0]
}

// testUploads: an upload is leased, retried and finished once. Its body is in the database until then, and its key
// after that.
func testUploads(t *testing.T, f fixture) {
	c, other := f.create(t, checks.Spec{}), f.create(t, checks.Spec{})
	bodies := [][]byte{[]byte("one"), {0, 0xff, '\\', '"'}, bytes.Repeat([]byte{7}, 200_000)}
	f.pingLarge(t, c.ID, noon, bodies...)
	f.ping(t, other.ID, pings.Signal{Body: []byte("small")}, noon)

	if list := f.claim(t, noon.Add(-time.Microsecond), 10); len(list) != 0 {
		t.Errorf("claimed before they are due: %v", list)
	}
	list := f.claim(t, noon, 2)
	if len(list) != 2 || list[0].Key == list[1].Key {
		t.Fatalf("claimed %v, want two with different keys", list)
	}
	var numbers []int64 // of the pings that were claimed
	for _, u := range list {
		if u.Attempts != 1 || !u.Due.Equal(noon.Add(time.Minute)) || u.Key == "" {
			t.Errorf("claimed %+v", u)
		}
		body, err := f.UploadBody(t.Context(), u)
		i := slices.IndexFunc(bodies, func(b []byte) bool { return bytes.Equal(b, body) })
		if err != nil || i < 0 {
			t.Fatalf("the body to upload: %q, %v", body, err)
		}
		numbers = append(numbers, int64(i+1))
		if p := f.body(t, c.ID, int64(i+1)); p.BodyKey != "" || !bytes.Equal(p.Body, bodies[i]) {
			t.Errorf("while it is uploaded, the ping has %d bytes and the key %q", len(p.Body), p.BodyKey)
		}
	}
	last := f.claim(t, noon, 10)
	if len(last) != 1 || len(f.claim(t, noon.Add(time.Minute-time.Microsecond), 10)) != 0 {
		t.Fatalf("then claimed %v, want the third, once", last)
	}
	f.finish(t, list[0], list[1])
	for i, u := range list {
		p := f.body(t, c.ID, numbers[i])
		if p.BodyKey != u.Key || p.Body != nil || p.BodySize != int64(len(bodies[numbers[i]-1])) {
			t.Errorf("after the upload: key %q, body %q, size %d", p.BodyKey, p.Body, p.BodySize)
		}
		if _, err := f.UploadBody(t.Context(), u); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("the body of a finished upload: %v, want ErrNotFound", err)
		}
	}
	// A job whose process has died is claimed again after its lease, and one that failed when it is due.
	again := f.claim(t, noon.Add(time.Minute), 10)
	if len(again) != 1 || again[0].Key != last[0].Key || again[0].Attempts != 2 {
		t.Fatalf("claimed %v a minute later, want the third again", again)
	}
	again[0].Attempts = 7
	retry := done(append(again, list...))
	for i := range retry {
		retry[i].RetryAt = noon.Add(time.Hour)
	}
	f.settleBodies(t, retry...)
	if early := f.claim(t, noon.Add(time.Hour-time.Microsecond), 10); len(early) != 0 {
		t.Errorf("claimed before the time of the retry: %v", early)
	}
	again = f.claim(t, noon.Add(time.Hour), 10)
	if len(again) != 1 || again[0].Attempts != 8 {
		t.Fatalf("claimed %v at the time of the retry", again)
	}
	f.finish(t, again[0])
	f.finish(t, again[0]) // by another server that had claimed it too
	if p := f.body(t, c.ID, 6-numbers[0]-numbers[1]); p.BodyKey != again[0].Key {
		t.Errorf("finished twice, the key is %q", p.BodyKey)
	}
	if list := f.removals(t, noon.Add(100*time.Hour)); len(list) != 0 {
		t.Errorf("objects of pings that are there are to be removed: %v", list)
	}
	if p := f.body(t, other.ID, 1); string(p.Body) != "small" || p.BodyKey != "" {
		t.Errorf("a body that was not to be moved: %q, key %q", p.Body, p.BodyKey)
	}
}

// testUploadsAreShared has several servers claim at once. No upload is leased to two of them.
func testUploadsAreShared(t *testing.T, f fixture) {
	const n = 100
	c := f.create(t, checks.Spec{})
	var bodies [][]byte
	for i := range n {
		bodies = append(bodies, fmt.Append(nil, i))
	}
	f.pingLarge(t, c.ID, noon, bodies...)
	var mu sync.Mutex
	times := make(map[string]int)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				list, err := f.ClaimBodies(t.Context(), store.UploadTask, noon, noon.Add(time.Minute), 7)
				if err == nil {
					err = f.RecordBodies(t.Context(), done(list))
				}
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				for _, u := range list {
					times[u.Key]++
				}
				mu.Unlock()
				if err != nil || len(list) == 0 {
					return
				}
			}
		})
	}
	wg.Wait()
	f.finish(t, f.claim(t, noon, n)...) // those that another had locked when the last one looked
	for key, count := range times {
		if count != 1 {
			t.Errorf("%s was claimed %d times", key, count)
		}
	}
	keys := make(map[string]bool)
	for i := range n {
		keys[f.body(t, c.ID, int64(i+1)).BodyKey] = true
	}
	if len(keys) != n || keys[""] {
		t.Errorf("%d pings have %d keys", n, len(keys))
	}
}

// testUploadOfPrunedPing prunes pings whose uploads wait, run, and have just been done.
func testUploadOfPrunedPing(t *testing.T, f fixture) {
	kept, gone := f.create(t, checks.Spec{}), f.create(t, checks.Spec{})
	f.pingLarge(t, kept.ID, noon, []byte("kept"))
	keptUpload := f.claim(t, noon, 1)[0]
	f.pingLarge(t, gone.ID, noon, []byte("under way"), []byte("late"))
	claimed := f.claim(t, noon, 10)
	f.pingLarge(t, gone.ID, noon, []byte("waits"))
	f.deleteCheck(t, gone.ID)
	if n := f.pruneAll(t); n != 3 {
		t.Fatalf("%d pings removed, want 3", n)
	}
	if list := f.claim(t, noon.Add(30*time.Second), 10); len(list) != 0 {
		t.Errorf("uploads of pings that are gone: %v", list)
	}
	if _, err := f.UploadBody(t.Context(), claimed[0]); !errors.Is(err, checks.ErrNotFound) {
		t.Errorf("the body of a ping that is gone: %v, want ErrNotFound", err)
	}
	// Until the leases end, the objects may still be uploaded.
	if list := f.removals(t, noon.Add(time.Minute)); len(list) != 0 {
		t.Errorf("removals while the uploads may be under way: %v", list)
	}
	// One upload is done nevertheless. The removal of its object is due at once.
	f.finish(t, claimed[1], keptUpload)
	list := f.removals(t, noon)
	if len(list) != 1 || list[0].Key != claimed[1].Key {
		t.Errorf("removals %v, want that of %s", list, claimed[1].Key)
	}
	f.finish(t, list...)
	// The process of the other has died. An upload that was never tried left no object.
	list = f.removals(t, noon.Add(time.Hour))
	if len(list) != 1 || list[0].Key != claimed[0].Key {
		t.Errorf("removals %v, want that of %s", list, claimed[0].Key)
	}
	if p := f.body(t, kept.ID, 1); p.BodyKey != keptUpload.Key {
		t.Errorf("the ping that was kept has the key %q", p.BodyKey)
	}
}

// testObjectsOfPrunedPings: the objects of pruned pings are queued for removal, and no others.
func testObjectsOfPrunedPings(t *testing.T, f fixture) {
	free := newProject("free")
	free.Plan = "free"
	f.project = f.addProject(t, free)
	c := f.create(t, checks.Spec{})
	var bodies [][]byte
	for range freePings + 3 {
		bodies = append(bodies, []byte("body"))
	}
	f.pingLarge(t, c.ID, noon, bodies...)
	f.finish(t, f.claim(t, noon, len(bodies))...)
	want := make(map[string]bool)
	for n := range int64(3) {
		want[f.body(t, c.ID, n+1).BodyKey] = true
	}
	if n := f.pruneAll(t); n != 3 {
		t.Fatalf("%d pings removed, want 3", n)
	}
	list := f.removals(t, noon)
	for _, r := range list {
		if !want[r.Key] {
			t.Errorf("the object of a ping that is there is to be removed: %s", r.Key)
		}
	}
	if len(list) != 3 {
		t.Errorf("%d removals, want 3", len(list))
	}
	// All others go with the project.
	f.update(t, func(ctx context.Context, tx store.Tx) error {
		return writer(ctx, tx).DeleteProject(ctx, f.project.ID)
	})
	f.pruneAll(t)
	if list := f.removals(t, noon); len(list) != freePings {
		t.Errorf("%d removals, want %d", len(list), freePings)
	}
}

// testKeysAreNotReused makes a check with the UUID of one whose objects have yet to be removed.
func testKeysAreNotReused(t *testing.T, f fixture) {
	spec := checks.Spec{ID: uuid.New()}
	f.create(t, spec)
	f.pingLarge(t, spec.ID, noon, []byte("old"))
	old := f.claim(t, noon, 1)[0]
	f.finish(t, old)
	f.deleteCheck(t, spec.ID)
	f.pruneAll(t)
	f.create(t, spec)
	f.pingLarge(t, spec.ID, noon, []byte("new"))
	if list := f.claim(t, noon, 1); len(list) != 1 || list[0].Key == old.Key {
		t.Errorf("the key %s was given again: %v", old.Key, list)
	}
}

// testRemovals: a removal is leased, retried and finished once. An object that is uploaded again meanwhile is removed
// again.
func testRemovals(t *testing.T, f fixture) {
	c := f.create(t, checks.Spec{})
	f.pingLarge(t, c.ID, noon, []byte("one"), []byte("two"), []byte("three"))
	uploads := f.claim(t, noon, 10)
	f.finish(t, uploads...)
	f.deleteCheck(t, c.ID)
	f.pruneAll(t)
	list := f.removals(t, noon)
	if len(list) != 3 || len(f.removals(t, noon)) != 0 {
		t.Fatalf("claimed %v, want three, once", list)
	}
	if !list[0].Due.Equal(noon.Add(time.Minute)) || list[0].Attempts != 1 {
		t.Errorf("claimed %+v", list[0])
	}
	// The first is done, the second has failed, and the object of the third is uploaded again during the removal.
	f.finish(t, list[:1]...)
	failed := list[1]
	failed.Attempts = 5
	f.settleBodies(t, store.BodyResult{BodyJob: failed, RetryAt: noon.Add(time.Hour)})
	for _, u := range uploads {
		if u.Key == list[2].Key {
			f.finish(t, u)
		}
	}
	f.finish(t, list[2:]...)
	f.settleBodies(t, store.BodyResult{BodyJob: list[2], RetryAt: noon.Add(time.Hour)})
	again := f.removals(t, noon)
	if len(again) != 1 || again[0].Key != list[2].Key {
		t.Errorf("claimed %v, want the object that came to be again", again)
	}
	f.finish(t, again...)
	again = f.removals(t, noon.Add(time.Hour))
	if len(again) != 1 || again[0].Key != failed.Key || again[0].Attempts != 6 {
		t.Errorf("claimed %v an hour later, want the one that had failed", again)
	}
}
