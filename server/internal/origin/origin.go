// Package origin finds the address of a client behind proxies.
package origin

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Proxies lists the networks whose forwarding headers are trusted.
type Proxies []netip.Prefix

// New returns the proxies of a list of networks.
func New(networks []netip.Prefix) (Proxies, error) {
	p := make(Proxies, 0, len(networks))
	for _, network := range networks {
		if !network.IsValid() {
			return nil, fmt.Errorf("server: TrustedProxies has an invalid network: %v", network)
		}
		// ParsePeer and ParseHop unmap IPv4 addresses, so networks must be unmapped too.
		if addr := network.Addr(); addr.Is4In6() && network.Bits() >= 96 {
			network = netip.PrefixFrom(addr.Unmap(), network.Bits()-96)
		}
		p = append(p, network)
	}
	return p, nil
}

// Trust reports whether an address is in one of the networks.
func (p Proxies) Trust(addr netip.Addr) bool {
	return slices.ContainsFunc(p, func(network netip.Prefix) bool { return network.Contains(addr) })
}

// Of returns the address of the client without a port, and the scheme of the request. Forwarding headers count only
// if the peer is trusted. In X-Forwarded-For each hop was added by the one to its right, so Of follows the list from
// its end while the hops are trusted. It stops at a hop that is not an address, because anyone may have sent the rest.
func (p Proxies) Of(r *http.Request) (addr, scheme string) {
	scheme = "http"
	if r.TLS != nil {
		scheme = "https"
	}
	peer, ok := ParsePeer(r.RemoteAddr)
	if !ok {
		return "", scheme // not an IP connection
	}
	if !p.Trust(peer) {
		return peer.String(), scheme
	}
	// Not strings.EqualFold: it takes the long s of Unicode for an s.
	if proto := strings.ToLower(lastItem(r.Header.Values("X-Forwarded-Proto"))); proto == "http" || proto == "https" {
		scheme = proto
	}
	hops := strings.Join(r.Header.Values("X-Forwarded-For"), ",")
	for hops != "" && p.Trust(peer) {
		hop := hops
		if comma := strings.LastIndexByte(hops, ','); comma >= 0 {
			hops, hop = hops[:comma], hops[comma+1:]
		} else {
			hops = ""
		}
		next, ok := ParseHop(hop)
		if !ok {
			break
		}
		peer = next
	}
	return peer.String(), scheme
}

// Trusts reports whether a request comes directly from a trusted proxy, whose headers can be believed.
func (p Proxies) Trusts(r *http.Request) bool {
	peer, ok := ParsePeer(r.RemoteAddr)
	return ok && p.Trust(peer)
}

// ParsePeer parses the address of a connection, which net/http writes with a port.
func ParsePeer(text string) (netip.Addr, bool) {
	if withPort, err := netip.ParseAddrPort(text); err == nil {
		return withPort.Addr().WithZone("").Unmap(), true
	}
	return ParseHop(text)
}

// lastItem returns the last item of a comma-separated header: the one that the nearest proxy added.
func lastItem(values []string) string {
	if len(values) == 0 {
		return ""
	}
	last := values[len(values)-1]
	return strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])
}

// ParseHop parses an address as servers and proxies write it: 192.0.2.1, 192.0.2.1:80, 2001:db8::1, [2001:db8::1] or
// [2001:db8::1]:80. It turns an IPv4-mapped address into IPv4 and drops the zone, which only means something locally.
func ParseHop(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	if err == nil && strings.HasPrefix(text, "[") == strings.HasSuffix(text, "]") {
		return addr.WithZone("").Unmap(), true
	}
	withPort, err := netip.ParseAddrPort(text)
	if err != nil {
		return netip.Addr{}, false
	}
	return withPort.Addr().WithZone("").Unmap(), true
}
