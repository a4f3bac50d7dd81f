package channels_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/channels"
)

func recipients(t *testing.T, settings map[string]string) []string {
	t.Helper()
	list, err := channels.Recipients(settings)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, a := range list {
		got = append(got, a.Address)
	}
	return got
}

func TestUnsubscribe(t *testing.T) {
	settings := map[string]string{
		"to":           `Ops <ops@example.org>, "odd name"@example.org, OPS@example.org, c@example.org`,
		"unsubscribed": "gone@example.org",
	}
	for _, step := range []struct {
		address string
		want    bool
		left    []string
	}{
		{"other@example.org", false, []string{"ops@example.org", "odd name@example.org", "c@example.org"}},
		{"Ops@Example.org", true, []string{"odd name@example.org", "c@example.org"}},
		{"ops@example.org", false, []string{"odd name@example.org", "c@example.org"}},
		{"odd name@example.org", true, []string{"c@example.org"}},
		{"c@example.org", true, []string{}},
	} {
		if got := channels.Unsubscribe(settings, step.address); got != step.want {
			t.Errorf("%s: %v", step.address, got)
		}
		if diff := cmp.Diff(step.left, recipients(t, settings)); diff != "" {
			t.Errorf("after %s: %s", step.address, diff)
		}
		if _, err := channels.Validate(standard(), channels.Email, settings, nil); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(`ops@example.org, "odd name"@example.org, c@example.org`, settings["unsubscribed"]); diff != "" {
		t.Error(diff)
	}
}

// TestUnsubscribeAll checks that as many addresses can unsubscribe as a channel can have.
func TestUnsubscribeAll(t *testing.T) {
	var list []string
	for i := range 100 {
		list = append(list, fmt.Sprintf("%s%d@example.org", strings.Repeat("a", 60), i))
	}
	settings := map[string]string{"to": strings.Join(list, ",")}
	for _, a := range list {
		channels.Unsubscribe(settings, a)
	}
	if _, err := channels.Validate(standard(), channels.Email, settings, nil); err != nil || len(recipients(t, settings)) != 0 {
		t.Error(err)
	}
}

func TestRecipientsMalformed(t *testing.T) {
	for _, to := range []string{"", "nobody", "a@example.org\r\nBcc: b@example.org"} {
		if list, err := channels.Recipients(map[string]string{"to": to}); err == nil {
			t.Errorf("%q: %v", to, list)
		}
		if channels.Unsubscribe(map[string]string{"to": to}, "a@example.org") {
			t.Errorf("%q: unsubscribed", to)
		}
	}
}
