package checks_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
)

func TestDisplayName(t *testing.T) {
	id := uuid.MustParse("1f2e3d4c-0000-4000-8000-000000000000")
	for _, test := range []struct{ name, slug, want string }{
		{"Nightly backup", "backup", "Nightly backup"},
		{"", "backup", "backup"},
		{" \u200b\u202e", "backup", "backup"},
		{"", "", "1f2e3d4c"},
	} {
		c := checks.Check{ID: id, Settings: checks.Settings{Name: test.name, Slug: test.slug}}
		if got := c.DisplayName(); got != test.want {
			t.Errorf("a check with the name %q and the slug %q is called %q, want %q", test.name, test.slug, got, test.want)
		}
		if got := c.Snapshot(c.CreatedAt).DisplayName(); got != test.want {
			t.Errorf("a snapshot with the name %q and the slug %q is called %q, want %q", test.name, test.slug, got, test.want)
		}
	}
	if got := (checks.Snapshot{UniqueKey: checks.UniqueKey(id)}).DisplayName(); got != checks.UniqueKey(id)[:8] {
		t.Errorf("without its ID, a check is called %q", got)
	}
}
