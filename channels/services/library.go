package services

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/rollcall-dev/rollcall/channels/outbound"
)

// libraryTransport is the library's HTTP transport for one message. It sends with the client of the delivery, under the
// context of Notify, and keeps the error: the library's errors contain URLs with tokens, but not the status.
type libraryTransport struct {
	ctx      context.Context // of one call of Notify; the library passes no context
	delivery *delivery
	sent     bool
	err      error
}

var _ http.RoundTripper = (*libraryTransport)(nil)

// forLibrary returns the transport for one message.
func (m *delivery) forLibrary(ctx context.Context) *libraryTransport {
	return &libraryTransport{ctx: ctx, delivery: m}
}

// errOpaque replaces every error for the library, which does not retry after it.
var errOpaque = errors.New("the request failed")

// RoundTrip sends a request. After a failure it refuses all further requests.
func (l *libraryTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if l.err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, errOpaque
	}
	req = req.Clone(l.ctx)
	req.Header.Set("User-Agent", outbound.UserAgent)
	res, body, err := l.delivery.exchange(req)
	if err != nil {
		l.err = err
		return nil, errOpaque
	}
	l.sent = true
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}

// Do calls RoundTrip. The library's Discord service needs this method.
func (l *libraryTransport) Do(req *http.Request) (*http.Response, error) { return l.RoundTrip(req) }

// finish turns the library's error into that of Notify.
func (l *libraryTransport) finish(err error) error {
	switch {
	case l.err != nil:
		return l.err
	case err != nil && l.sent:
		return errAnswer
	case err != nil: // the library refused the configuration
		return fmt.Errorf("build the message: %w", err)
	}
	return nil
}
