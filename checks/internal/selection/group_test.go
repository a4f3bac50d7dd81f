package selection_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks/internal/selection"
)

func TestGroup(t *testing.T) {
	available := named("a", "b", "b", "group", "other")
	available[3].Kind, available[4].Kind = channels.Group, channels.Group
	tests := []struct {
		selection string
		want      []uuid.UUID
		err       string
	}{
		{"a", []uuid.UUID{id(0)}, ""},
		{id(2).String() + ",a,a", []uuid.UUID{id(0), id(2)}, ""},
		{"*", []uuid.UUID{id(0), id(1), id(2)}, ""},
		{"", nil, "group: channels selects no integration"},
		{"b", nil, `group: channels cannot be used: 2 integrations have the name "b", use the id`},
		{"a,x", nil, `group: channels cannot be used: no integration has the id or name "x"`},
		{"a,group", nil, "group: channels contains the group itself"},
		{"a,other", nil, `group: channels contains the group "other", a group cannot be in a group`},
	}
	for _, tt := range tests {
		settings, err := selection.Group(available, id(3), map[string]string{"channels": tt.selection})
		if problem, ok := errors.AsType[*channels.SettingError](err); (err != nil) != ok || ok && problem.Error() != tt.err || !ok && tt.err != "" {
			t.Errorf("%q: error %v, want %q", tt.selection, err, tt.err)
		}
		if err != nil {
			continue
		}
		if diff := cmp.Diff(tt.want, selection.Members(channels.Channel{Settings: settings})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.selection, diff)
		}
	}
}

// TestLargeGroup uses more members than fit into a setting.
func TestLargeGroup(t *testing.T) {
	available := named(strings.Split(strings.Repeat("x,", 271), ",")...)
	if _, err := selection.Group(available[:270], uuid.Nil, map[string]string{"channels": "*"}); err != nil {
		t.Error(err)
	}
	_, err := selection.Group(available[:271], uuid.Nil, map[string]string{"channels": "*"})
	if err == nil || err.Error() != "group: channels selects too many integrations: 271, the maximum is 270" {
		t.Error(err)
	}
}

func TestGroupMembersOfNothing(t *testing.T) {
	for _, settings := range []map[string]string{nil, {"channels": ""}, {"channels": "x,,*"}} {
		if got := selection.Members(channels.Channel{Settings: settings}); got == nil || len(got) != 0 {
			t.Errorf("%v: %v", settings, got)
		}
	}
}

func ExampleGroup() {
	available := []channels.Channel{
		{ID: uuid.MustParse("7f4cf8b6-1b8e-4a5c-9b53-0a4b7f3a3c01"), Name: "Ops", Kind: channels.Email},
		{ID: uuid.MustParse("c2a9cbb4-64a4-4d0b-8bb8-5f4f2f7b1d02"), Name: "On call", Kind: channels.SMS},
	}
	settings, _ := selection.Group(available, uuid.New(), map[string]string{"channels": "On call"})
	fmt.Println(selection.Members(channels.Channel{Kind: channels.Group, Settings: settings}))
	// Output:
	// [c2a9cbb4-64a4-4d0b-8bb8-5f4f2f7b1d02]
}
