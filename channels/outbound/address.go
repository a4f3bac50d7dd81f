package outbound

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
)

// ErrPrivateAddress is the error of a connection to an address outside the public internet. It is not permanent: a name
// may resolve to another address tomorrow.
var ErrPrivateAddress = errors.New("the address is in a private or reserved network, which is not allowed")

// control is the Control of a [net.Dialer], which calls it with each address that a name resolves to. It refuses
// addresses that are not public, and networks other than TCP and UDP, with [ErrPrivateAddress].
func control(network, address string, _ syscall.RawConn) error {
	switch network {
	case "tcp4", "tcp6", "udp4", "udp6":
	default:
		return fmt.Errorf("%w: network %s", ErrPrivateAddress, network)
	}
	target, err := netip.ParseAddrPort(address)
	if err != nil || !isPublic(target.Addr()) {
		return ErrPrivateAddress // the dialer adds the address
	}
	return nil
}

// isPublic reports whether an address is a unicast address of the public internet by the registries of special-purpose
// addresses (RFC 6890). An IPv6 address that embeds an IPv4 address (mapped, NAT64 by 64:ff9b::/96, 6to4) is public if
// that is. An address with a zone is not.
func isPublic(addr netip.Addr) bool {
	if !addr.IsValid() || addr.Zone() != "" {
		return false
	}
	addr = addr.Unmap()
	if addr.Is4() {
		return isPublic4(addr.As4())
	}
	b := addr.As16()
	switch {
	case inPrefix(addr, "64:ff9b::/96"): // NAT64
		return isPublic4([4]byte(b[12:16]))
	case inPrefix(addr, "2002::/16"): // 6to4
		return isPublic4([4]byte(b[2:6]))
	case inPrefix(addr, "2001::/23"), // protocol assignments, among them Teredo
		inPrefix(addr, "2001:db8::/32"), inPrefix(addr, "3fff::/20"): // documentation
		return false
	}
	return inPrefix(addr, "2000::/3") // all that is allocated so far
}

func inPrefix(addr netip.Addr, prefix string) bool {
	return netip.MustParsePrefix(prefix).Contains(addr)
}

// isPublic4 reports whether an IPv4 address is outside all special ranges.
func isPublic4(b [4]byte) bool {
	switch b[0] {
	case 0, 10, 127:
		return false
	case 100:
		return b[1]&0xc0 != 64 // 100.64.0.0/10, carrier-grade NAT
	case 169:
		return b[1] != 254 // link-local, with the metadata services of clouds
	case 172:
		return b[1]&0xf0 != 16
	case 192:
		special := b[1] == 168 || b[1] == 0 && (b[2] == 0 || b[2] == 2) || b[1] == 88 && b[2] == 99
		return !special
	case 198:
		return b[1]&0xfe != 18 && (b[1] != 51 || b[2] != 100) // benchmarks, documentation
	case 203:
		return b[1] != 0 || b[2] != 113 // documentation
	}
	return b[0] < 224 // multicast, then reserved
}
