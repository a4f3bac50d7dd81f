package standard_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/channels/standard"
)

// TestFormsOfKinds checks what forms go by: names for people, options that are valid, and which settings may change while
// a channel keeps its secrets.
func TestFormsOfKinds(t *testing.T) {
	types, err := standard.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range types {
		if info.Title == "" || info.Category == "" || info.Doc == "" {
			t.Errorf("%s has no title, category or doc: %q, %q, %q", info.Kind, info.Title, info.Category, info.Doc)
		}
		if info.Privileged != (info.Kind == "shell") {
			t.Errorf("%s: privileged is %v", info.Kind, info.Privileged)
		}
		for _, s := range info.Settings {
			addresses := []string{"url", "server", "site", "host"}
			names := slices.ContainsFunc(addresses, func(part string) bool { return strings.Contains(s.Name, part) })
			if names && s.KeepsSecrets && s.Name != "avatar_url" {
				t.Errorf("%s: %s may be an address, and keeps secrets", info.Kind, s.Name)
			}
			if !names && !s.Secret && !s.KeepsSecrets {
				t.Errorf("%s: %s does not keep secrets", info.Kind, s.Name)
			}
			if s.Secret && s.KeepsSecrets {
				t.Errorf("%s: the secret %s keeps secrets", info.Kind, s.Name)
			}
			for _, option := range s.Options {
				if s.Check != nil && s.Check(option) != nil {
					t.Errorf("%s: %s refuses its option %s", info.Kind, s.Name, option)
				}
			}
			if s.Default != "" && s.Options != nil && !slices.Contains(s.Options, s.Default) {
				t.Errorf("%s: the default of %s is no option", info.Kind, s.Name)
			}
		}
	}
}
