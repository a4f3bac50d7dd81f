package origin

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

// FuzzForwarded: for any peer and any forwarding headers, the scheme is http or https, the address is valid or empty, and
// headers count only from a trusted proxy.
func FuzzForwarded(f *testing.F) {
	for _, seed := range [][4]string{
		{"10.0.0.1:5", "192.0.2.1", "", "https"}, {"10.0.0.1:5", "192.0.2.1", "192.0.2.2,10.0.0.9", "HTTP, https"},
		{"192.0.2.9:5", "10.0.0.1", "10.0.0.1", "https"}, {"[::1]:80", "[::ffff:10.0.0.1]:80", "[2001:db8::1%eth0]", "ftp"},
		{"", "a", ",", ","}, {"@", "\x00", "\xff", "https\r\nX: y"}, {"10.0.0.1", "unknown, 192.0.2.1", "_hidden", " https "},
		{"10.0.0.1:5", "1.2.3.4.5, 10.0.0.2", "::", "HTTPS"}, {"10.0.0.1:99999", "0x0a.1", "010.0.0.1", "httpſ"},
		{"10.0.0.1:5", strings.Repeat("10.0.0.2,", 50), strings.Repeat(",", 50), "http"}, {"[fe80::1%lo]:1", "fe80::1%2", "[::1", "x"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	p := trusted(f, "10.0.0.0/8", "fd00::/8")
	f.Fuzz(func(t *testing.T, peer, first, second, proto string) {
		r := &http.Request{RemoteAddr: peer, Header: http.Header{"X-Forwarded-For": {first, second}, "X-Forwarded-Proto": {proto}}}
		got, scheme := p.Of(r)
		if scheme != "http" && scheme != "https" {
			t.Errorf("proto %q: scheme %q", proto, scheme)
		}
		addr, err := netip.ParseAddr(got)
		if got != "" && (err != nil || addr.Zone() != "" || addr.Is4In6() || addr.String() != got) {
			t.Errorf("peer %q, headers %q and %q: invalid address %q", peer, first, second, got)
		}
		alone, plain := p.Of(&http.Request{RemoteAddr: peer, Header: http.Header{}})
		hop, ok := ParseHop(peer)
		if (!ok || !p.Trust(hop)) && (got != alone || scheme != plain) {
			t.Errorf("untrusted peer %q got %s, %s from its headers %q, %q, %q", peer, got, scheme, first, second, proto)
		}
		// Repeated headers form one list.
		r.Header["X-Forwarded-For"] = []string{first + "," + second}
		if joined, _ := p.Of(r); joined != got {
			t.Errorf("headers %q and %q: address %s, but %s as one header", first, second, got, joined)
		}
	})
}
