package courier

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strings"
	"unicode"

	"github.com/rollcall-dev/rollcall/channels"
)

// errorText makes the text of a notifier's error safe to show to users: one line without the secrets of the channel and
// without private addresses, at most [MaxError] characters long.
func (c *Courier) errorText(to channels.Channel, err error) string {
	text := err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		text = fmt.Sprintf("no answer within %v", c.Timeout)
	}
	return withoutAddresses(c.redacted(to, text))
}

// causeText makes the text of a notifier's error for the log of the operator: with addresses that users do not see, without
// the secrets of the channel.
func (c *Courier) causeText(to channels.Channel, err error) string {
	text := err.Error()
	for _, e := range []error{as[*net.OpError](err), as[*net.DNSError](err)} {
		if e != nil && !strings.Contains(text, e.Error()) {
			text += ": " + e.Error()
		}
	}
	return c.redacted(to, text)
}

// as returns the first error of a type in a chain, or nil.
func as[E error](err error) error {
	if e, found := errors.AsType[E](err); found {
		return e
	}
	return nil
}

// redacted returns a text in one line without the secrets of a channel.
func (c *Courier) redacted(to channels.Channel, text string) string {
	var kind channels.Type // Every setting of an unknown kind is a secret.
	for _, k := range c.Types {
		if k.Kind == to.Kind {
			kind = k
		}
	}
	text = channels.Redact(text, kind.Secrets(to)...)
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	text = cutText(text, MaxError)
	if strings.TrimSpace(text) == "" {
		return "unknown error"
	}
	return text
}

var (
	// resolver is where package net names the name server.
	resolver = regexp.MustCompile(`(lookup [^ :]+) on \S+:\d+:`)
	// address is what may be an IP address with or without a port.
	address = regexp.MustCompile(`\[?\b[0-9A-Fa-f]*[.:][0-9A-Fa-f.:]+(?:%\w+)?\]?(?::\d+)?`)
)

// withoutAddresses hides name servers and addresses that are not public.
func withoutAddresses(text string) string {
	return address.ReplaceAllStringFunc(resolver.ReplaceAllString(text, "$1:"), func(found string) string {
		token := strings.TrimRight(found, ".:")
		end := found[len(token):]
		at, err := netip.ParseAddrPort(token)
		ip := at.Addr()
		if err != nil {
			if ip, err = netip.ParseAddr(strings.Trim(token, "[]")); err != nil {
				return found
			}
		}
		if ip = ip.Unmap(); ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || sharedNetwork.Contains(ip) {
			return "(private address)" + end
		}
		return found
	})
}

// sharedNetwork has the addresses of carrier-grade NAT.
var sharedNetwork = netip.MustParsePrefix("100.64.0.0/10")

// sendError is an error of a notifier with a text that is safe to show to users.
type sendError struct {
	err  error
	text string
}

func (e *sendError) Error() string { return e.text }

func (e *sendError) Unwrap() error { return e.err }
