package standard_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/channels"
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

// TestSetup checks that each kind that asks for a secret says in a few sentences where it comes from.
func TestSetup(t *testing.T) {
	for _, info := range standard.Kinds() {
		asks := info.Settings[0].Secret
		for _, s := range info.Settings {
			asks = asks || s.Secret && (s.Required || s.Primary)
		}
		asks = asks && !info.Privileged // an administrator knows the command
		sentences := strings.Count(info.Setup, ". ") + strings.Count(info.Setup, "; ") + 1
		if asks && (sentences < 2 || !strings.HasSuffix(info.Setup, ".")) {
			t.Errorf("%s asks for a secret, and says of its origin: %q", info.Kind, info.Setup)
		}
		if len(info.Setup) > 400 || strings.ContainsAny(info.Setup, "\n") {
			t.Errorf("%s: %d bytes about its origin", info.Kind, len(info.Setup))
		}
	}
}

// TestPreviews previews alerts with a secret in each setting. No kind shows one, and each has a text that names the check, also without
// settings.
func TestPreviews(t *testing.T) {
	const secret = "s3cret-value"
	for _, info := range standard.Kinds() {
		if info.Preview == nil {
			continue
		}
		c := channels.Channel{Kind: info.Kind, Settings: map[string]string{}}
		for _, s := range info.Settings {
			switch {
			case strings.HasPrefix(s.Name, "url"):
				c.Settings[s.Name] = "https://user:" + secret + "@receiver.example/" + secret + "?k=" + secret
			case strings.HasPrefix(s.Name, "headers"):
				c.Settings[s.Name] = "X-Token: " + secret
			case s.Secret:
				c.Settings[s.Name] = secret
			}
		}
		for _, status := range []channels.Status{channels.Down, channels.Up} {
			text := info.Preview(c, channels.Notification{ID: "1", Status: status, Check: channels.Check{Name: "nightly-backup"}})
			if strings.Contains(text, secret) {
				t.Errorf("%s shows a secret: %s", info.Kind, text)
			}
			if !strings.Contains(text, "nightly-backup") {
				t.Errorf("%s, %s: %q", info.Kind, status, text)
			}
			if info.Preview(channels.Channel{Kind: info.Kind}, channels.Notification{Status: status}) == "" {
				t.Errorf("%s has no preview without settings", info.Kind)
			}
		}
	}
}

// TestExamples checks that the values which the texts of settings give as examples pass the checks of those settings.
func TestExamples(t *testing.T) {
	given := regexp.MustCompile(`such as (\S+?)(?:[.,]? (?:of|or|and)\b|[,.:]?(?:\s|$))`)
	found := 0
	for _, info := range standard.Kinds() {
		for _, s := range info.Settings {
			for _, example := range given.FindAllStringSubmatch(s.Doc, -1) {
				if s.Check == nil || strings.Contains(example[1], "…") {
					continue
				}
				if found++; s.Check(example[1]) != nil {
					t.Errorf("%s: %s: the example %q %v", info.Kind, s.Name, example[1], s.Check(example[1]))
				}
			}
		}
	}
	if found < 10 {
		t.Errorf("found only %d examples", found)
	}
}
