package installation

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor/monitortest"
)

// TestDocuments: servers and commands find documents by kind until they end, and one of them takes each.
func TestDocuments(t *testing.T) {
	m := monitortest.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), nil)
	t.Cleanup(m.Close)
	mon := m.Monitor
	save := func(kind, key, value string, ends time.Duration) {
		t.Helper()
		if err := SaveDocument(t.Context(), mon, kind, key, value, ends); err != nil {
			t.Fatal(err)
		}
	}
	save(ServerKind, "b", "old", time.Minute)
	save(ServerKind, "b", "new", time.Minute)
	save(AnswerKind, "b", "other", time.Minute)
	save(ServerKind, "a", "ended", 0)
	found, err := Documents(t.Context(), mon, ServerKind)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, r := range found {
		got[r.Key] = string(r.Value)
	}
	if diff := cmp.Diff(map[string]string{"b": `"new"`}, got); diff != "" {
		t.Errorf("documents that have not ended (-want +got):\n%s", diff)
	}
	if value, err := TakeDocument(t.Context(), mon, ServerKind, "b"); err != nil || string(value) != `"new"` {
		t.Errorf("taken: %s, error %v", value, err)
	}
	if _, err := TakeDocument(t.Context(), mon, ServerKind, "b"); !errors.Is(err, checks.ErrNotFound) {
		t.Errorf("taken again: error %v, want ErrNotFound", err)
	}
}
