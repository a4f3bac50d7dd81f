package standard_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/email"
	"github.com/rollcall-dev/rollcall/channels/outbound"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/channels/twilio"
	"github.com/rollcall-dev/rollcall/channels/webpush"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
)

// TestNewHasAllKinds checks that each kind that needs no configuration has a notifier, that the others say what is missing,
// and that no kind is listed twice.
func TestNewHasAllKinds(t *testing.T) {
	missing := map[channels.Kind]string{
		channels.Email: "no mail server is configured on this server",
		"webpush":      "no key for Web Push is configured on this server",
		"shell":        "shell commands are not enabled on this server",
	}
	types := standardTypes(t, nil)
	seen := map[channels.Kind]bool{}
	for _, info := range types {
		if seen[info.Kind] {
			t.Errorf("%s is listed twice", info.Kind)
		}
		seen[info.Kind] = true
		if info.Missing != missing[info.Kind] || (info.Notifier == nil) != (info.Missing != "" || info.Kind == channels.Group) {
			t.Errorf("%s: notifier %v, missing %q", info.Kind, info.Notifier, info.Missing)
		}
	}
	if len(types) < 40 {
		t.Errorf("%d kinds", len(types))
	}
	types[0].Kind, types[1].Settings[0].Name = "changed", "changed"
	if again := standardTypes(t, nil); again[0].Kind == "changed" || again[1].Settings[0].Name == "changed" {
		t.Error("a change of the result changed the next result")
	}
	configured := standardTypes(t, &standard.Config{
		EnableShell: true, Email: &email.Config{Host: "smtp.example.org", From: "rollcall@example.org"},
		WebPush: &webpush.Config{Secret: func(context.Context) (string, error) { return "", nil }},
	})
	for _, info := range configured {
		if info.Notifier == nil && info.Kind != channels.Group || info.Missing != "" {
			t.Errorf("%s: notifier %v, missing %q", info.Kind, info.Notifier, info.Missing)
		}
	}
}

func standardTypes(t *testing.T, config *standard.Config) []channels.Type {
	t.Helper()
	types, err := standard.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return types
}

// TestPrivateNetworks checks that a webhook reaches the local machine only if that is allowed.
func TestPrivateNetworks(t *testing.T) {
	requests := 0
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests++ }))
	defer receiver.Close()
	hook := channels.Channel{Kind: channels.Webhook, Settings: map[string]string{"url_down": receiver.URL}}
	for _, allowed := range []bool{false, true} {
		types := standardTypes(t, &standard.Config{AllowPrivateNetworks: allowed})
		at := slices.IndexFunc(types, func(t channels.Type) bool { return t.Kind == channels.Webhook })
		err := types[at].Notifier.Notify(t.Context(), hook, channels.Notification{Status: channels.Down})
		if refused := errors.Is(err, outbound.ErrPrivateAddress); refused == allowed || refused == (err == nil) {
			t.Errorf("private networks allowed: %v, error: %v", allowed, err)
		}
	}
	if requests != 1 {
		t.Errorf("%d requests, want 1", requests)
	}
}

func TestNewErrors(t *testing.T) {
	for name, config := range map[string]standard.Config{
		"mail server without a host": {Email: &email.Config{From: "rollcall@example.org"}},
		"account without a token":    {Twilio: &twilio.Config{AccountSID: "AC0123456789abcdef0123456789abcdef"}},
		"push without a secret":      {WebPush: &webpush.Config{}},
	} {
		if _, err := standard.New(&config); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A program adds its own kind to the standard ones.
func Example() {
	types, err := standard.New(nil)
	if err != nil {
		panic(err)
	}
	pager := channels.NotifierFunc(func(_ context.Context, c channels.Channel, n channels.Notification) error {
		fmt.Printf("beep %s: %s is %s\n", c.Settings["number"], n.Check.Name, n.Status)
		return nil
	})
	types = append(types, channels.Type{
		Kind: "pager", Doc: "Beeps.", Notifier: pager,
		Settings: []channels.Setting{{Name: "number", Doc: "The number of the pager.", Required: true}},
	})
	ctx := context.Background()
	store, err := sqlite.Open(ctx, ":memory:")
	if err != nil {
		panic(err)
	}
	defer store.Close()
	mon, err := monitor.New(store, &monitor.Config{Channels: types})
	if err != nil {
		panic(err)
	}
	project, err := mon.OpenProject(ctx, "jobs")
	if err != nil {
		panic(err)
	}
	night, err := project.CreateChannel(ctx, channels.Channel{Kind: "pager", Name: "night", Settings: map[string]string{"number": "12"}})
	fmt.Println(err)
	fmt.Println(project.TestChannel(ctx, night.ID))
	_, err = project.CreateChannel(ctx, channels.Channel{Kind: channels.Email, Name: "ops", Settings: map[string]string{"to": "ops@example.org"}})
	lacks, _ := errors.AsType[*channels.NotConfiguredError](err)
	fmt.Println(lacks)
	// Output:
	// <nil>
	// beep 12: Test "1" is down
	// <nil>
	// no mail server is configured on this server
}
