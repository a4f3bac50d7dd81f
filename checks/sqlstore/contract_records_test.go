package sqlstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/records"
)

func (f fixture) records(t *testing.T, now time.Time, q records.Query) []records.Record {
	t.Helper()
	found, err := f.Records(t.Context(), now, q)
	must(t, err)
	return found
}

func (f fixture) saveRecords(t *testing.T, records ...records.Record) {
	t.Helper()
	f.update(t, func(ctx context.Context, tx store.Tx) error { return tx.SaveRecords(ctx, noon, records...) })
}

// testRecords: records come back as they were saved, are replaced and deleted by kind and key, end, and go with their project.
func testRecords(t *testing.T, f fixture) {
	ann, bob := uuid.New(), uuid.New()
	first := records.Record{Kind: "session", Key: "a", Owner: ann, Value: []byte(`{"é":1}`), Until: noon.Add(time.Hour)}
	second := records.Record{Kind: "session", Key: "b", Owner: bob, Value: []byte(`{}`)}
	person := records.Record{Kind: "person", Key: "a", Value: []byte(`{}`)}
	ofProject := records.Record{Kind: "key", Key: "k", Owner: f.project.ID, Value: []byte(`{}`)}
	f.saveRecords(t, first, second, person, ofProject)
	session, a := "session", "a"
	same(t, "kind", f.records(t, noon, records.Query{Kind: &session}), []records.Record{first, second})
	same(t, "key", f.records(t, noon, records.Query{Kind: &session, Key: &a}), []records.Record{first})
	same(t, "owner", f.records(t, noon, records.Query{Owner: &bob}), []records.Record{second})
	same(t, "just before the end", f.records(t, noon.Add(time.Hour-1000), records.Query{Key: &a, Owner: &ann}), []records.Record{first})
	same(t, "at the end", f.records(t, noon.Add(time.Hour), records.Query{Key: &a, Owner: &ann}), []records.Record{})

	second.Owner, second.Value = ann, []byte(`{"changed":true}`)
	f.saveRecords(t, second)
	same(t, "replaced", f.records(t, noon, records.Query{Owner: &ann}), []records.Record{first, second})
	f.update(t, func(ctx context.Context, tx store.Tx) error {
		locked, err := tx.LockRecords(ctx, noon, records.Query{Owner: &ann})
		same(t, "locked", locked, []records.Record{first, second})
		return err
	})

	again := first
	again.New = true
	err := f.Update(t.Context(), func(ctx context.Context, tx store.Tx) error { return tx.SaveRecords(ctx, noon, again) })
	if !errors.Is(err, checks.ErrExists) {
		t.Errorf("a new record in place of another: %v, want ErrExists", err)
	}
	f.update(t, func(ctx context.Context, tx store.Tx) error { return tx.SaveRecords(ctx, noon.Add(2*time.Hour), again) })

	f.saveRecords(t, records.Record{Kind: "session", Key: "b"}, records.Record{Kind: "session", Key: "none"})
	same(t, "deleted", f.records(t, noon, records.Query{Kind: &session}), []records.Record{first})
	removed, err := f.PruneRecords(t.Context(), noon.Add(time.Hour), noon, nil)
	must(t, err)
	same(t, "pruned", removed, 1)
	f.update(t, func(ctx context.Context, tx store.Tx) error { return writer(ctx, tx).DeleteProject(ctx, f.project.ID) })
	same(t, "left", f.records(t, noon, records.Query{}), []records.Record{person})
}

// testAudit: entries come back as they were saved, newest first, are rolled back with their transaction, outlive their project,
// and are pruned by age.
func testAudit(t *testing.T, f fixture) {
	check := uuid.New()
	entries := []audit.Entry{
		{At: noon, Actor: audit.Actor{Kind: audit.Person, ID: "1", Name: "ann@example.org", Address: "::1"}, ProjectID: f.project.ID, CheckID: check,
			Action: "check.update", Object: "☃", Changes: []audit.Change{{Field: "grace", From: "60", To: "120"}, {Field: "desc", To: "a\nb"}}},
		{At: noon.Add(time.Minute), Actor: audit.Actor{Kind: audit.CommandLine}, ProjectID: f.project.ID, Action: "key.create"},
		{At: noon.Add(time.Hour), Actor: audit.Actor{Kind: audit.Program}, Action: "project.delete", Object: "x"},
	}
	f.update(t, func(ctx context.Context, tx store.Tx) error { return tx.SaveAudit(ctx, entries...) })
	failed := errors.New("failed")
	err := f.Update(t.Context(), func(ctx context.Context, tx store.Tx) error {
		return errors.Join(tx.SaveAudit(ctx, entries[0]), failed)
	})
	if !errors.Is(err, failed) {
		t.Errorf("Update: %v, want its function's error", err)
	}
	f.update(t, func(ctx context.Context, tx store.Tx) error { return writer(ctx, tx).DeleteProject(ctx, f.project.ID) })

	find := func(q audit.Query) []audit.Entry {
		t.Helper()
		found, err := f.Audit(t.Context(), q)
		must(t, err)
		return found
	}
	all := find(audit.Query{})
	if len(all) != 3 {
		t.Fatalf("%d entries, want 3", len(all))
	}
	for i := range all {
		entries[2-i].ID = all[i].ID
		same(t, "entry", all[i], entries[2-i])
	}
	same(t, "project", find(audit.Query{Project: f.project.ID}), []audit.Entry{entries[1], entries[0]})
	same(t, "check", find(audit.Query{Check: check}), []audit.Entry{entries[0]})
	same(t, "except", find(audit.Query{Except: []string{"key", "person"}, Limit: 2}), []audit.Entry{entries[2], entries[0]})
	same(t, "before", find(audit.Query{Before: entries[1].ID}), []audit.Entry{entries[0]})
	same(t, "since", find(audit.Query{Since: entries[1].At, Limit: 5}), []audit.Entry{entries[2], entries[1]})
	same(t, "limit", find(audit.Query{Limit: 1}), []audit.Entry{entries[2]})
	removed, err := f.PruneRecords(t.Context(), noon, entries[1].At, nil)
	must(t, err)
	same(t, "pruned", removed, 1)
	same(t, "left", find(audit.Query{}), []audit.Entry{entries[2], entries[1]})
}
