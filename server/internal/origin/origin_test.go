package origin

import (
	"crypto/tls"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

func trusted(t testing.TB, networks ...string) Proxies {
	var prefixes []netip.Prefix
	for _, network := range networks {
		prefixes = append(prefixes, netip.MustParsePrefix(network))
	}
	p, err := New(prefixes)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestOrigin(t *testing.T) {
	p := trusted(t, "10.0.0.0/8", "2001:db8:1::/48", "::ffff:172.16.0.0/108")
	for _, c := range []struct {
		peer, forwarded, proto string
		addr, scheme           string
	}{
		{"192.0.2.1:5", "", "", "192.0.2.1", "http"},
		{"192.0.2.1:5", "198.51.100.1", "https", "192.0.2.1", "http"}, // not a trusted proxy
		{"10.0.0.1:5", "", "", "10.0.0.1", "http"},
		{"10.0.0.1:5", "198.51.100.1", "https", "198.51.100.1", "https"},
		{"10.0.0.1:5", "1.1.1.1, 198.51.100.1", "", "198.51.100.1", "http"},
		{"10.0.0.1:5", "1.1.1.1,198.51.100.1 , 10.9.9.9", "", "198.51.100.1", "http"},
		{"10.0.0.1:5", "1.1.1.1|198.51.100.1, 10.9.9.9", "", "198.51.100.1", "http"}, // two header lines
		{"10.0.0.1:5", "10.0.0.3, 10.0.0.2", "", "10.0.0.3", "http"},
		{"10.0.0.1:5", "198.51.100.1:443", "", "198.51.100.1", "http"},
		{"10.0.0.1:5", "2001:db8::7", "", "2001:db8::7", "http"},
		{"10.0.0.1:5", "[2001:DB8::7]", "", "2001:db8::7", "http"},
		{"10.0.0.1:5", "[2001:db8::7]:443", "", "2001:db8::7", "http"},
		{"10.0.0.1:5", "::ffff:198.51.100.1", "", "198.51.100.1", "http"},
		{"10.0.0.1:5", "198.51.100.1, ::ffff:10.0.0.9", "", "198.51.100.1", "http"},
		{"10.0.0.1:5", "fe80::1%eth0", "", "fe80::1", "http"},
		{"10.0.0.1:5", "198.51.100.1, unknown", "", "10.0.0.1", "http"},
		{"10.0.0.1:5", "198.51.100.1, garbage, 10.0.0.2", "", "10.0.0.2", "http"},
		{"10.0.0.1:5", "198.51.100.1,", "", "10.0.0.1", "http"},
		{"10.0.0.1:5", ",", "", "10.0.0.1", "http"},
		{"10.0.0.1:5", "[::1", "", "10.0.0.1", "http"},
		{"10.0.0.1:5", "1.2.3.4.5", "", "10.0.0.1", "http"},
		{"10.0.0.1:5", "010.1.1.1", "", "10.0.0.1", "http"},
		{"10.0.0.1:5", "<script>", "javascript", "10.0.0.1", "http"},
		{"10.0.0.1:5", "", "HTTPS", "10.0.0.1", "https"},
		{"10.0.0.1:5", "", "http, https", "10.0.0.1", "https"},
		{"10.0.0.1:5", "", "https, ftp", "10.0.0.1", "http"},
		{"10.0.0.1:5", "", "https|http", "10.0.0.1", "http"},
		{"[2001:db8:1::9]:5", "198.51.100.1", "https", "198.51.100.1", "https"},
		{"[2001:db8:2::9]:5", "198.51.100.1", "https", "2001:db8:2::9", "http"},
		{"[::ffff:10.0.0.1]:5", "198.51.100.1", "", "198.51.100.1", "http"},
		{"172.16.5.5:5", "198.51.100.1", "", "198.51.100.1", "http"},
		{"[::ffff:192.0.2.1]:5", "", "", "192.0.2.1", "http"},
		{"[fe80::1%eth0]:5", "", "", "fe80::1", "http"},
		{"@", "198.51.100.1", "https", "", "http"},
		{"", "198.51.100.1", "https", "", "http"},
	} {
		r := &http.Request{RemoteAddr: c.peer, Header: http.Header{}}
		if c.forwarded != "" {
			r.Header["X-Forwarded-For"] = strings.Split(c.forwarded, "|")
		}
		if c.proto != "" {
			r.Header["X-Forwarded-Proto"] = strings.Split(c.proto, "|")
		}
		if addr, scheme := p.Of(r); addr != c.addr || scheme != c.scheme {
			t.Errorf("peer %s, for %q, proto %q: %s, %s, want %s, %s", c.peer, c.forwarded, c.proto, addr, scheme, c.addr, c.scheme)
		}
	}
	r := &http.Request{RemoteAddr: "192.0.2.1:5", TLS: &tls.ConnectionState{}}
	if _, scheme := p.Of(r); scheme != "https" {
		t.Errorf("with TLS the scheme is %s, want https", scheme)
	}
	if _, err := New([]netip.Prefix{{}}); err == nil {
		t.Error("an invalid network was accepted")
	}
}

// FuzzOrigin: for any X-Forwarded-For, the result is an address, and hops left of the first untrusted one have no effect.
func FuzzOrigin(f *testing.F) {
	for _, seed := range []string{"1.2.3.4", "1.2.3.4, 10.0.0.1", "[::1]:80,fe80::1%x", ",,", "a,b", "::ffff:10.0.0.1"} {
		f.Add(seed)
	}
	p := trusted(f, "10.0.0.0/8")
	f.Fuzz(func(t *testing.T, forwarded string) {
		origin := func(header string) string {
			addr, _ := p.Of(&http.Request{RemoteAddr: "10.0.0.1:5", Header: http.Header{"X-Forwarded-For": {header}}})
			return addr
		}
		got := origin(forwarded)
		addr, err := netip.ParseAddr(got)
		if err != nil || addr.Is4In6() || addr.Zone() != "" {
			t.Fatalf("%q: invalid address %q", forwarded, got)
		}
		if spoofed := origin("198.51.100.66, " + forwarded); spoofed != got && p.Trust(addr) && spoofed != "198.51.100.66" {
			t.Errorf("%q: address %s, but %s with another hop on the left", forwarded, got, spoofed)
		} else if !p.Trust(addr) && spoofed != got {
			t.Errorf("%q: a hop on the left changed the address from %s to %s", forwarded, got, spoofed)
		}
		if mine := origin(forwarded + ", 192.0.2.7"); mine != "192.0.2.7" {
			t.Errorf("%q: address %s, want the last hop, 192.0.2.7", forwarded, mine)
		}
	})
}
