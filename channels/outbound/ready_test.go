package outbound

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"testing"

	"github.com/rollcall-dev/rollcall/channels"
)

// TestReady refuses literal private addresses, without the network.
func TestReady(t *testing.T) {
	settings := []channels.Setting{
		{Name: "url", Secret: true}, {Name: "avatar", KeepsSecrets: true}, {Name: "headers", Secret: true, Lines: true}, {Name: "token", Secret: true},
	}
	ready := Ready(New(nil), settings)
	for _, test := range []struct {
		name, value string
		refused     bool
	}{
		{"url", "http://127.0.0.1:8080/hook", true}, {"url", "https://[::1]/$NAME", true}, {"url", "https://[::ffff:10.0.0.1]/", true},
		{"url", "mqtts://192.168.1.2", true}, {"url", "http://localhost/x?y=z", true}, {"url", "http://a.LOCALHOST./", true},
		{"url", "https://8.8.8.8/, http://10.0.0.1:9093", true}, {"url", "https://169.254.169.254", true},
		{"url", "https://8.8.8.8/hook", false}, {"url", "https://[2606:4700::1111]/", false}, {"url", "", false}, {"url", "10.0.0.1", false},
		{"url", "https://8.8.8.8/?to=10.0.0.1", false}, {"url", "%zz", false}, {"token", "10.0.0.1", false},
		{"avatar", "http://10.0.0.1/me.png", false}, {"headers", "Referer: http://10.0.0.1/", false},
	} {
		err := ready(t.Context(), map[string]string{test.name: test.value})
		wrong, ok := errors.AsType[*channels.SettingError](err)
		if ok != test.refused || ok && wrong.Setting != test.name || !ok && err != nil {
			t.Errorf("%s %q: %v", test.name, test.value, err)
		}
	}
	if Ready(New(&Config{AllowPrivateNetworks: true}), settings) != nil || Ready(http.DefaultClient, settings) != nil {
		t.Error("a client that reaches private networks, or is another's, refuses some")
	}
	proxied := Ready(New(&Config{Proxy: func(*http.Request) (*url.URL, error) { return nil, nil }}), settings)
	if proxied(t.Context(), map[string]string{"url": "http://10.0.0.1"}) == nil || proxied(t.Context(), map[string]string{"url": "http://in.example.org"}) != nil {
		t.Error("with a proxy, only hosts that are written as private addresses are refused")
	}
}

// TestRefusedNames refuses a name only if all its addresses are private, and never one that cannot be looked up.
func TestRefusedNames(t *testing.T) {
	for _, test := range []struct {
		addresses []string
		err       error
		want      bool
	}{
		{[]string{"10.0.0.1"}, nil, true},
		{[]string{"10.0.0.1", "fd00::1"}, nil, true},
		{[]string{"10.0.0.1", "8.8.8.8"}, nil, false},
		{nil, nil, false},
		{nil, errors.New("no such host"), false},
		{[]string{"10.0.0.1"}, context.DeadlineExceeded, false},
	} {
		lookup := func(context.Context, string, string) (list []netip.Addr, err error) {
			for _, text := range test.addresses {
				list = append(list, netip.MustParseAddr(text))
			}
			return list, test.err
		}
		if got := refused(t.Context(), "hook.example.org", lookup); got != test.want {
			t.Errorf("%v, %v: %v", test.addresses, test.err, got)
		}
	}
}
