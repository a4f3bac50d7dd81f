package email_test

import (
	"os"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/channels/email"
)

// TestGreeting: the name in the greeting is a full one, also on a host with a short name.
func TestGreeting(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	own := "example.org"
	if strings.Contains(host, ".") {
		own = host
	}
	s := start(t, email.NoTLS)
	for set, want := range map[string]string{"": own, "mx.example.com": "mx.example.com", "short": "short"} {
		n := s.notifier(t, func(c *email.Config) { c.HELO = set })
		if err := n.Notify(t.Context(), channel("a@example.org"), down()); err != nil {
			t.Fatal(err)
		}
		if s.mu.Lock(); s.greeting != want {
			t.Errorf("with %q: the greeting is %q, want %q", set, s.greeting, want)
		}
		s.mu.Unlock()
	}
}
