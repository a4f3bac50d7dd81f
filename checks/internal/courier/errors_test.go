package courier

import (
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

// TestErrorText shows users errors without name servers and private addresses. The log has them.
func TestErrorText(t *testing.T) {
	c := &Courier{Config: Config{Limits: Limits{Timeout: 30 * time.Second}}}
	to := channels.Channel{Kind: "pager", Settings: map[string]string{"token": "s3cret"}}
	refused := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 5), Port: 443}, Err: errors.New("connect: connection refused")}
	lookup := &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "x.example", Server: "10.0.0.2:53", IsNotFound: true}}
	silent := &net.DNSError{Err: "read udp 172.17.0.2:4711->10.0.0.2:53: i/o timeout", Name: "x.example", Server: "10.0.0.2:53", IsTimeout: true}
	for want, err := range map[string]error{
		"dial tcp: connect: connection refused":                                outbound.Clean(refused),
		"proxyconnect tcp: dial tcp: connect: connection refused":              outbound.Clean(&net.OpError{Op: "proxyconnect", Net: "tcp", Err: refused}),
		"dial tcp: lookup x.example: no such host":                             outbound.Clean(lookup),
		"connect: lookup x.example: the name server does not answer":           outbound.Clean(fmt.Errorf("connect: %w", silent)),
		"dial tcp (private address): connect: connection refused":              refused,
		"dial tcp: lookup x.example: no such host ***":                         fmt.Errorf("%w s3cret", lookup),
		"(private address), (private address), (private address) and fe80 are": errors.New("[fd00::1]:443, fe80::1%eth0, 100.64.0.1 and fe80 are"),
		"550 5.7.1 at 12:30:45, see 203.0.113.7 and 8.8.8.8:53, std::string":   errors.New("550 5.7.1 at 12:30:45, see 203.0.113.7 and 8.8.8.8:53, std::string"),
		"version 10.0.0 of (private address).":                                 errors.New("version 10.0.0 of 192.168.1.1."),
	} {
		if diff := cmp.Diff(want, c.errorText(to, err)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	want := "dial tcp: connect: connection refused: dial tcp 10.0.0.5:443: connect: connection refused"
	if diff := cmp.Diff(want, c.causeText(to, outbound.Clean(refused))); diff != "" {
		t.Errorf("cause (-want +got):\n%s", diff)
	}
}
