package email_test

import (
	"context"
	"net/mail"
	"slices"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/email"
)

func unsubscribe(_ context.Context, c channels.Channel, address string) string {
	return "https://rollcall.example.org/unsubscribe/" + c.Name + "-" + strings.ReplaceAll(address, "@", "-at-")
}

// TestListUnsubscribe checks that each message has the address of its recipient, by RFC 8058, section 3.1:
// https://www.rfc-editor.org/rfc/rfc8058
func TestListUnsubscribe(t *testing.T) {
	s := start(t, email.StartTLS)
	n := s.notifier(t, func(c *email.Config) { c.Unsubscribe = unsubscribe })
	if err := n.Notify(t.Context(), channel("Ops <ops@example.org>, b@example.org"), down()); err != nil {
		t.Fatal(err)
	}
	for i, m := range s.got() {
		parsed, err := mail.ReadMessage(strings.NewReader(m.Data))
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "headers", []string{parsed.Header.Get("List-Unsubscribe"), parsed.Header.Get("List-Unsubscribe-Post"), parsed.Header.Get("To")}, []string{
			"<https://rollcall.example.org/unsubscribe/ops-" + []string{"ops-at-example.org", "b-at-example.org"}[i] + ">",
			"List-Unsubscribe=One-Click", `"Ops" <ops@example.org>, <b@example.org>`,
		})
	}
	// Without an address to give, there is no header.
	n = s.notifier(t, func(c *email.Config) {
		c.Unsubscribe = func(context.Context, channels.Channel, string) string { return "" }
	})
	if err := n.Notify(t.Context(), channel("ops@example.org"), down()); err != nil {
		t.Fatal(err)
	}
	if data := s.got()[0].Data; strings.Contains(data, "Unsubscribe") {
		t.Error(data)
	}
}

// TestUnsubscribed checks that addresses in the setting unsubscribed get nothing, and that a delivery to nobody fails.
func TestUnsubscribed(t *testing.T) {
	s := start(t, email.StartTLS)
	n := s.notifier(t, nil)
	c := channel("Ops <ops@example.org>, b@example.org, Ops@Example.org")
	c.Settings["unsubscribed"] = "OPS@example.org, gone@example.org"
	if err := n.Notify(t.Context(), c, down()); err != nil {
		t.Fatal(err)
	}
	got := s.got()
	if len(got) != 1 || !slices.Equal(got[0].To, []string{"b@example.org"}) || strings.Contains(got[0].Data, "ops@example.org") {
		t.Errorf("%v", got)
	}
	c.Settings["unsubscribed"] = "ops@example.org, b@example.org"
	err := n.Notify(t.Context(), c, down())
	equal(t, "error", text(err), "every address of the integration has unsubscribed")
	equal(t, "permanent", channels.IsPermanent(err), true)
	equal(t, "messages", len(s.got()), 0)
}
