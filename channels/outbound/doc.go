// Package outbound makes the HTTP requests of notifiers, to addresses that
// users have chosen, without letting them reach the network that the program
// runs in.
//
// [New] returns an ordinary [http.Client] with limits on where it connects, how
// long it takes and how much it reads. [Do] sends a request by it and turns the
// outcome into the error that a [channels.Notifier] returns:
//
//	client := outbound.New(nil) // once
//	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
//	...
//	answer, err := outbound.Do(client, req)
//
// # Where it connects
//
// Addresses that are not part of the public internet are refused with
// [ErrPrivateAddress]: loopback, private, link-local, carrier-grade NAT,
// multicast, reserved and documentation ranges, and the forms of IPv6 that carry
// one of them. The address is looked at when the connection is made, after the
// name was resolved, so neither a name that resolves to a private address nor a
// redirect to one gets through. [Control] does the same for other dialers, and
// [NewDialer] makes such a dialer. NAT64 prefixes other than the well-known
// 64:ff9b::/96 cannot be told from other addresses.
//
// The program's administrator allows private networks by
// [Config.AllowPrivateNetworks].
//
// # Redirects
//
// At most 3 redirects are followed, never from https to http. A 301 or 302
// answer that would turn a POST into a GET without its body is an error, since
// the alert would be lost; 307 and 308 repeat the request as it is, 303 asks for
// a GET. A request to another host or port than the first one has none of the
// headers that may be credentials: only [KeptHeaders] are sent there.
//
// Client and functions can be used by several goroutines at once. No package
// but the adapters needs this one.
package outbound
