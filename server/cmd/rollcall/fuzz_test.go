package main

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// A path can be appended to any accepted URL, which has neither a password nor a query.
func FuzzAddress(f *testing.F) {
	for _, seed := range []string{
		"http://localhost:8000", "https://example.org/rollcall///", "HTTP://H", "http://u:p@h", "http://h?", "http://h#", "http://h/%2F", "http://[::1]:8000",
		"http://[fe80::1%25lo]/", "//h", "h", "http://", "http:///p", "http://h:99999", "http://h:x", "http://\x00", "http://h/a b", "http://h/\xff", "ftp://h", "http://@h",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var a console.Address
		if err := a.UnmarshalText([]byte(text)); err != nil {
			if a != "" {
				t.Errorf("%q: %v, but %q", text, err, a)
			}
			return
		}
		u, err := url.Parse(string(a) + "/ping")
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
			u.RawQuery != "" || u.Fragment != "" || !strings.HasSuffix(u.Path, "/ping") {
			t.Errorf("%q: %q makes %+v, %v", text, a, u, err)
		}
	})
}

// An accepted network is masked, and contains the given address.
func FuzzProxy(f *testing.F) {
	for _, seed := range []string{
		"10.0.0.0/8", "10.1.2.3/8", "192.0.2.1", "::1", "fd00::/8", "::ffff:10.0.0.0/104", "::ffff:10.0.0.1", "fe80::1%eth0", "0.0.0.0/0", "::/0", "10.0.0.0/33",
		"10.0.0.0/-1", "10.0.0.0/08", " 10.0.0.1 ", "010.0.0.1", "10.0.0.1/", "/8", "*", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var p proxy
		if err := p.UnmarshalText([]byte(text)); err != nil {
			return
		}
		written, _, _ := strings.Cut(strings.TrimSpace(text), "/")
		addr, err := netip.ParseAddr(written)
		if err != nil || !p.IsValid() || p.Prefix != p.Masked() || !p.Contains(addr) {
			t.Errorf("%q: %v", text, p)
		}
	})
}
