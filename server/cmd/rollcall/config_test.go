package main

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// Invalid UTF-8 is refused before kong could replace it.
func TestInvalidUTF8(t *testing.T) {
	var b strings.Builder
	if status := run([]string{"migrate", "--database", "sqlite:\xff.db"}, &b, &b); status != console.ExitUsage {
		t.Errorf("status %d", status)
	}
	t.Setenv("ROLLCALL_DATABASE", "sqlite:\xff.db")
	if status := run([]string{"migrate"}, &b, &b); status != console.ExitUsage {
		t.Errorf("status %d", status)
	}
	want := "rollcall: argument 3 is not valid UTF-8\nrollcall: ROLLCALL_DATABASE is not valid UTF-8\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAddress(t *testing.T) {
	for text, want := range map[string]console.Address{
		"http://localhost:8000":       "http://localhost:8000",
		"https://example.org/":        "https://example.org",
		"https://example.org/a/b///":  "https://example.org/a/b",
		"HTTPS://example.org":         "https://example.org",
		"http://[2001:db8::1]:8000/p": "http://[2001:db8::1]:8000/p",
	} {
		var got console.Address
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"", "/", "localhost", "localhost:8000", "ftp://h", "http://", "http:///p", "http://h?", "http://h?a=b",
		"http://h#", "http://h#f", "http://u@h", "http://h:port", "http://h\n"} {
		var got console.Address
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q was accepted as %q", text, got)
		}
	}
}

func TestProxy(t *testing.T) {
	for text, want := range map[string]string{
		"10.0.0.0/8":      "10.0.0.0/8",
		" 10.1.2.3/8 ":    "10.0.0.0/8",
		"192.0.2.1":       "192.0.2.1/32",
		"2001:db8::1":     "2001:db8::1/128",
		"2001:db8::/32":   "2001:db8::/32",
		"::ffff:10.0.0.1": "::ffff:10.0.0.1/128",
	} {
		var got proxy
		if err := got.UnmarshalText([]byte(text)); err != nil || got.Prefix != netip.MustParsePrefix(want) {
			t.Errorf("%s: %v, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "10.0.0.0/33", "example.org", "10.0.0.0/8 11.0.0.0/8", "fe80::1%eth0"} {
		var got proxy
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q was accepted as %v", text, got)
		}
	}
}

// TestStrangers: networks in which anybody may have an address are named; those of a proxy, a company or a content delivery network
// are not.
func TestStrangers(t *testing.T) {
	for text, want := range map[string]bool{
		"0.0.0.0/0": true, "::/0": true, "0.0.0.0/1": true, "128.0.0.0/1": true, "2000::/3": true, "::ffff:0.0.0.0/96": true, "8.0.0.0/6": true, "52.0.0.0/8": true,
		"8.0.0.0/7": true, "192.0.0.0/8": true, "f000::/4": true, "2600::/12": true,
		"10.0.0.0/8": false, "172.16.0.0/12": false, "192.168.0.0/16": false, "100.64.0.0/10": false, "127.0.0.0/8": false, "fc00::/7": false, "fd00::/8": false,
		"fe80::/10": false, "::ffff:10.0.0.0/104": false, "192.0.2.1": false, "2001:db8::1": false, "104.16.0.0/13": false, "2400:cb00::/32": false, "2a06:98c0::/29": false,
	} {
		var p proxy
		if err := p.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if got := strangers([]proxy{p}); (len(got) > 0) != want {
			t.Errorf("%s: %v, want it named: %t", text, got, want)
		}
	}
}
