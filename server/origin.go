package server

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// proxies are the networks whose forwarding headers are believed.
type proxies []netip.Prefix

func newProxies(networks []netip.Prefix) (proxies, error) {
	p := make(proxies, 0, len(networks))
	for _, network := range networks {
		if !network.IsValid() {
			return nil, fmt.Errorf("server: TrustedProxies has an invalid network: %v", network)
		}
		// Addresses are compared in their IPv4 form where they have one.
		if addr := network.Addr(); addr.Is4In6() && network.Bits() >= 96 {
			network = netip.PrefixFrom(addr.Unmap(), network.Bits()-96)
		}
		p = append(p, network)
	}
	return p, nil
}

func (p proxies) trust(addr netip.Addr) bool {
	return slices.ContainsFunc(p, func(network netip.Prefix) bool { return network.Contains(addr) })
}

// origin returns the address that a request came from, without a port, and its scheme. What X-Forwarded-For and
// X-Forwarded-Proto say counts only as far as trusted proxies have said it: each hop of the list was added by the
// one to its right, so the list is followed from its end for as long as the hops are trusted. A hop that is not an
// address says nothing, and what is to the left of it could be from anyone.
func (p proxies) origin(r *http.Request) (addr, scheme string) {
	scheme = "http"
	if r.TLS != nil {
		scheme = "https"
	}
	peer, ok := parsePeer(r.RemoteAddr)
	if !ok {
		return "", scheme // not an IP connection
	}
	if !p.trust(peer) {
		return peer.String(), scheme
	}
	// Not strings.EqualFold, for which the long s of Unicode is an s: what is kept is one of two texts.
	if proto := strings.ToLower(lastItem(r.Header.Values("X-Forwarded-Proto"))); proto == "http" || proto == "https" {
		scheme = proto
	}
	hops := strings.Join(r.Header.Values("X-Forwarded-For"), ",")
	for hops != "" && p.trust(peer) {
		hop := hops
		if comma := strings.LastIndexByte(hops, ','); comma >= 0 {
			hops, hop = hops[:comma], hops[comma+1:]
		} else {
			hops = ""
		}
		next, ok := parseHop(hop)
		if !ok {
			break
		}
		peer = next
	}
	return peer.String(), scheme
}

// parsePeer reads the address of a connection, which net/http writes with a port.
func parsePeer(text string) (netip.Addr, bool) {
	if withPort, err := netip.ParseAddrPort(text); err == nil {
		return withPort.Addr().WithZone("").Unmap(), true
	}
	return parseHop(text)
}

// lastItem returns the last item of a comma-separated header, the one that the nearest proxy has added.
func lastItem(values []string) string {
	if len(values) == 0 {
		return ""
	}
	last := values[len(values)-1]
	return strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])
}

// parseHop reads an address in the forms in which servers and proxies write it: 192.0.2.1, 192.0.2.1:80, 2001:db8::1,
// [2001:db8::1] and [2001:db8::1]:80. An IPv4 address in its IPv6 form becomes IPv4, and a zone is dropped, which
// means nothing on another machine.
func parseHop(text string) (netip.Addr, bool) {
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
