package standard_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/email"
	"github.com/rollcall-dev/rollcall/channels/outbound"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/channels/twilio"
	"github.com/rollcall-dev/rollcall/channels/webpush"
)

// TestNewHasAllKinds checks that each kind but the group has a notifier, that there is no other notifier, and that no
// kind is listed twice.
func TestNewHasAllKinds(t *testing.T) {
	notifiers, err := standard.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	var want []channels.Kind
	for _, info := range standard.Kinds() {
		if info.Kind != channels.Group {
			want = append(want, info.Kind)
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(notifiers))); diff != "" {
		t.Errorf("kinds with a notifier (-kinds +notifiers):\n%s", diff)
	}
	for kind, n := range notifiers {
		if n == nil {
			t.Errorf("%s has a nil notifier", kind)
		}
	}
}

// TestPrivateNetworks checks that a webhook reaches the local machine only if that is allowed.
func TestPrivateNetworks(t *testing.T) {
	requests := 0
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests++ }))
	defer receiver.Close()
	hook := channels.Channel{Kind: channels.Webhook, Settings: map[string]string{"url_down": receiver.URL}}
	for _, allowed := range []bool{false, true} {
		notifiers, err := standard.New(&standard.Config{AllowPrivateNetworks: allowed})
		if err != nil {
			t.Fatal(err)
		}
		err = notifiers[channels.Webhook].Notify(t.Context(), hook, channels.Notification{Status: channels.Down})
		if refused := errors.Is(err, outbound.ErrPrivateAddress); refused == allowed || refused == (err == nil) {
			t.Errorf("private networks allowed: %v, error: %v", allowed, err)
		}
	}
	if requests != 1 {
		t.Errorf("%d requests, want 1", requests)
	}
}

// TestUnavailable checks that deliveries without the needed configuration fail with the reason and can be retried.
func TestUnavailable(t *testing.T) {
	notifiers, err := standard.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[channels.Kind]string{
		channels.Email: "no mail server is configured on this server",
		"webpush":      "no key for Web Push is configured on this server",
		"shell":        "shell commands are not enabled on this server",
	} {
		err := notifiers[kind].Notify(t.Context(), channels.Channel{Kind: kind}, channels.Notification{})
		if err == nil || err.Error() != want || channels.IsPermanent(err) {
			t.Errorf("%s: %v, want %q, not permanent", kind, err, want)
		}
		asked, ok := notifiers[kind].(interface{ Configured() error })
		if !ok || asked.Configured() == nil || asked.Configured().Error() != want {
			t.Errorf("%s does not say beforehand that it is not configured", kind)
		}
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
	notifiers, err := standard.New(nil)
	if err != nil {
		panic(err)
	}
	const pager channels.Kind = "pager"
	kinds := append(standard.Kinds(), channels.KindInfo{Kind: pager, Doc: "Beeps."})
	notifiers[pager] = channels.NotifierFunc(func(_ context.Context, _ channels.Channel, n channels.Notification) error {
		fmt.Println("beep:", n.Check.Name, "is", n.Status)
		return nil
	})
	// Both go into the Config of a monitor. Here the notifier is called directly.
	n := channels.Notification{Status: channels.Down, Check: channels.Check{Name: "backup"}}
	err = notifiers[kinds[len(kinds)-1].Kind].Notify(context.Background(), channels.Channel{}, n)
	fmt.Println(err)
	// Output:
	// beep: backup is down
	// <nil>
}
