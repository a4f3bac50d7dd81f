package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/standard"
)

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
		if got := subscribed(settings, step.address); got != step.want {
			t.Errorf("%s: %v", step.address, got)
		} else if got {
			unsubscribe(settings, step.address)
		}
		left := []string{}
		for _, address := range []string{"ops@example.org", "odd name@example.org", "c@example.org"} {
			if subscribed(settings, address) {
				left = append(left, address)
			}
		}
		if diff := cmp.Diff(step.left, left); diff != "" {
			t.Errorf("after %s: %s", step.address, diff)
		}
		if _, err := channels.Validate(standard.Kinds(), channels.Email, settings, nil); err != nil {
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
		unsubscribe(settings, a)
	}
	if _, err := channels.Validate(standard.Kinds(), channels.Email, settings, nil); err != nil || slices.ContainsFunc(list, func(a string) bool { return subscribed(settings, a) }) {
		t.Error(err)
	}
}

func TestSubscribedMalformed(t *testing.T) {
	for _, to := range []string{"", "nobody", "a@example.org\r\nBcc: b@example.org"} {
		if subscribed(map[string]string{"to": to}, "a@example.org") {
			t.Errorf("%q: subscribed", to)
		}
	}
}
