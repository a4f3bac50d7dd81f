package outbound

import (
	"errors"
	"net"
	"net/netip"
	"testing"
)

func TestIsPublic(t *testing.T) {
	tests := map[string]bool{
		"8.8.8.8": true, "1.1.1.1": true, "100.63.255.255": true, "100.128.0.0": true, "172.15.0.1": true,
		"172.32.0.1": true, "169.253.1.1": true, "192.0.1.1": true, "192.88.98.1": true, "198.17.0.1": true,
		"198.20.0.1": true, "198.51.99.1": true, "203.0.112.1": true, "223.255.255.255": true, "192.167.1.1": true,

		"0.0.0.0": false, "0.1.2.3": false, "10.0.0.1": false, "10.255.255.255": false, "100.64.0.0": false,
		"100.127.255.255": false, "127.0.0.1": false, "127.9.9.9": false, "169.254.169.254": false,
		"172.16.0.1": false, "172.31.255.255": false, "192.0.0.8": false, "192.0.2.1": false, "192.88.99.1": false,
		"192.168.0.1": false, "198.18.0.1": false, "198.19.255.255": false, "198.51.100.7": false,
		"203.0.113.7": false, "224.0.0.1": false, "239.1.1.1": false, "240.0.0.1": false, "255.255.255.255": false,

		"2606:4700:4700::1111": true, "2a00:1450::1": true, "2001:4860:4860::8888": true, "2001:200::1": true,
		"::": false, "::1": false, "::7f00:1": false, "::8.8.8.8": false, "fe80::1": false, "fec0::1": false,
		"fc00::1": false, "fd12::1": false, "ff02::1": false, "100::1": false, "2001:db8::1": false,
		"3fff::1": false, "5f00::1": false, "4000::1": false, "2001::1": false, "2001:0:7f00:1::": false,

		"::ffff:8.8.8.8": true, "::ffff:127.0.0.1": false, "::ffff:10.1.2.3": false, "::ffff:169.254.169.254": false,
		"64:ff9b::8.8.8.8": true, "64:ff9b::127.0.0.1": false, "64:ff9b::a9fe:a9fe": false, "64:ff9b:1::8.8.8.8": false,
		"2002:808:808::1": true, "2002:7f00:1::1": false, "2002:a9fe:a9fe::": false, "2002:c0a8:1::1": false,
		"2606:4700:4700::1111%eth0": false,
	}
	for text, want := range tests {
		if got := isPublic(netip.MustParseAddr(text)); got != want {
			t.Errorf("isPublic(%s) = %v, want %v", text, got, want)
		}
	}
	if isPublic(netip.Addr{}) {
		t.Error("the zero address is public")
	}
}

func TestControl(t *testing.T) {
	tests := []struct {
		network, address string
		want             bool
	}{
		{"tcp4", "8.8.8.8:443", true},
		{"tcp6", "[2606:4700:4700::1111]:443", true},
		{"udp4", "8.8.8.8:53", true},
		{"tcp4", "127.0.0.1:80", false},
		{"tcp6", "[::1]:80", false},
		{"tcp6", "[fe80::1%lo]:80", false},
		{"tcp4", "8.8.8.8", false},
		{"tcp4", "", false},
		{"unix", "/run/docker.sock", false},
		{"ip4", "8.8.8.8", false},
	}
	for _, tt := range tests {
		err := control(tt.network, tt.address, nil)
		if tt.want != (err == nil) || err != nil && !errors.Is(err, ErrPrivateAddress) {
			t.Errorf("control(%q, %q): %v", tt.network, tt.address, err)
		}
	}
}

// TestDialer checks that the dialer refuses names that resolve to the machine itself.
func TestDialer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	for _, host := range []string{"localhost", "127.0.0.1", "0.0.0.0", "::ffff:127.0.0.1", ""} {
		conn, err := NewDialer(&Config{}).DialContext(t.Context(), "tcp", net.JoinHostPort(host, port))
		if !errors.Is(err, ErrPrivateAddress) {
			t.Errorf("%q: %v", host, err)
		}
		if conn != nil {
			_ = conn.Close()
		}
	}
	conn, err := NewDialer(&Config{AllowPrivateNetworks: true}).DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}

func FuzzIsPublic(f *testing.F) {
	for _, text := range []string{"127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::1", "2002:7f00:1::", "fe80::1%x", "8.8.8.8"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		addr, err := netip.ParseAddr(text)
		if err != nil || !isPublic(addr) {
			return
		}
		addr = addr.Unmap()
		if !addr.IsGlobalUnicast() || addr.IsPrivate() || addr.IsLoopback() || addr.IsLinkLocalUnicast() || addr.Zone() != "" {
			t.Errorf("%s is public", addr)
		}
		if addr.Is4() { // Every form of the same address is as public.
			b := addr.As4()
			nat64 := netip.AddrFrom16([16]byte{0, 0x64, 0xff, 0x9b, 12: b[0], b[1], b[2], b[3]})
			sixToFour := netip.AddrFrom16([16]byte{0x20, 2, b[0], b[1], b[2], b[3]})
			if !isPublic(nat64) || !isPublic(sixToFour) {
				t.Errorf("%s is public, and %s or %s is not", addr, nat64, sixToFour)
			}
		}
	})
}
