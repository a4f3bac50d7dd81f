package outbound

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
)

// lookupTimeout bounds the lookups of one [Ready].
const lookupTimeout = 3 * time.Second

// Ready returns the Ready of a [channels.Type] with these settings, whose notifier connects through a client of [New]. It
// refuses a URL if the client would refuse each address of its host. A host that cannot be looked up in 3 seconds passes:
// the check at connection time counts. URLs are looked for in settings that can move secrets and have one line.
func Ready(client *http.Client, settings []channels.Setting) func(ctx context.Context, values map[string]string) error {
	t, ok := client.Transport.(*transport)
	if !ok || t.allowPrivate {
		return nil
	}
	lookup := net.DefaultResolver.LookupNetIP
	if t.proxy != nil { // the proxy looks the host up
		lookup = func(context.Context, string, string) ([]netip.Addr, error) { return nil, nil }
	}
	return func(ctx context.Context, values map[string]string) error {
		ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
		defer cancel()
		for _, s := range settings {
			if s.KeepsSecrets || s.Lines {
				continue
			}
			for _, text := range strings.FieldsFunc(values[s.Name], func(r rune) bool { return strings.ContainsRune(", ;\t\r\n", r) }) {
				u, err := url.Parse(text)
				if err == nil && u.Scheme != "" && refused(ctx, u.Hostname(), lookup) {
					return &channels.SettingError{Setting: s.Name, Reason: "is at a private or reserved address, to which alerts may not go"}
				}
			}
		}
		return nil
	}
}

// refused reports whether all addresses of a host are private. A host without known addresses is not refused.
func refused(ctx context.Context, host string, lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)) bool {
	if host == "" || namesPrivate(host) {
		return host != ""
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	addresses, err := lookup(ctx, "ip", host)
	for _, addr := range addresses {
		if isPublic(addr) {
			return false
		}
	}
	return err == nil && len(addresses) > 0
}
