package email

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRecipients leaves out who has unsubscribed, and sends once to an address that is listed twice.
func TestRecipients(t *testing.T) {
	list, err := recipients(map[string]string{
		"to":           `Ops <ops@example.org>, "odd name"@example.org, OPS@example.org, c@example.org, GONE@example.org`,
		"unsubscribed": "gone@example.org, c@example.org",
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range list {
		got = append(got, a.Address)
	}
	if diff := cmp.Diff([]string{"ops@example.org", "odd name@example.org"}, got); diff != "" {
		t.Error(diff)
	}
	for _, to := range []string{"", "nobody", "a@example.org\r\nBcc: b@example.org"} {
		if list, err := recipients(map[string]string{"to": to}); err == nil {
			t.Errorf("%q: %v", to, list)
		}
	}
}
