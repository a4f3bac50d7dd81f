// Package outbound makes the HTTP requests of notifiers. Users choose the addresses, so it keeps requests away from the
// network in which the program runs.
//
// [New] returns an [http.Client] with limits on where it connects, how long it takes and how much it reads. [Do] sends
// a request and turns the outcome into the error that a [channels.Notifier] returns:
//
//	client := outbound.New(nil) // once
//	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
//	...
//	answer, err := outbound.Do(client, req)
//
// # Addresses
//
// A connection to an address outside the public internet fails with [ErrPrivateAddress]: loopback, private, link-local,
// carrier-grade NAT, multicast, reserved and documentation ranges, and the IPv6 forms of those. The check happens at
// connection time, after the name is resolved, so it also covers names that resolve to private addresses and redirects
// to them. NAT64 prefixes other than the well-known 64:ff9b::/96 look like any other address.
// [Config.AllowPrivateNetworks] turns the check off. [Ready] says it earlier, before a channel is stored.
//
// # Redirects
//
// The client follows at most 3 redirects, and none from https to http. A 301, 302 or 303 that would turn a
// POST into a GET without its body is an error, since the alert would be lost. 307 and 308 repeat the request. A redirect
// to another host or port gets only headers that cannot be credentials: Accept, Content-Type, Idempotency-Key and
// User-Agent.
//
// Client and functions are safe for concurrent use.
package outbound
