package checks_test

import (
	"testing"

	"github.com/rollcall-dev/rollcall/checks"
)

// TestRights: scopes stand on one ladder, and what is unknown is below it.
func TestRights(t *testing.T) {
	if checks.None >= checks.Read || checks.Read >= checks.Edit || checks.Edit >= checks.Own || checks.None != 0 {
		t.Error("the ladder is not none, read, edit, own")
	}
	for scope, want := range map[checks.Scope]checks.Right{
		checks.ReadOnly: checks.Read, checks.ReadIDs: checks.Read, checks.ReadWrite: checks.Edit, checks.Admin: checks.Own,
		"": checks.None, "owner": checks.None, "Admin": checks.None,
	} {
		if got := scope.Right(); got != want {
			t.Errorf("scope %q: right %d, want %d", scope, got, want)
		}
		if want := scope == checks.ReadIDs || want >= checks.Edit; scope.SeesIDs() != want {
			t.Errorf("scope %q: sees identifiers: %t, want %t", scope, !want, want)
		}
	}
}
