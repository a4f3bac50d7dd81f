package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

// Config configures the notifier. The zero value of a field means its default.
type Config struct {
	// Client makes the requests. Default: outbound.New(nil), which reaches public addresses only.
	Client *http.Client
	// Now is the clock. Default: [time.Now].
	Now func() time.Time
}

type notifier struct {
	client *http.Client
	now    func() time.Time
}

// New returns the kind [channels.Webhook] with its notifier. A nil config means the defaults.
func New(config *Config) channels.Type {
	var c Config
	if config != nil {
		c = *config
	}
	if c.Client == nil {
		c.Client = outbound.New(nil)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	t, n := kind(), &notifier{client: c.Client, now: c.Now}
	t.Notifier, t.Preview = n, n.preview
	t.Ready = outbound.Ready(c.Client, t.Settings)
	return t
}

// Notify sends the request that the settings of c describe, or nothing if there is no URL for n.Status. Errors are
// those of [outbound.Do]. Settings that make no valid request are a permanent error.
func (w *notifier) Notify(ctx context.Context, c channels.Channel, n channels.Notification) error {
	target := c.Settings["url_"+string(n.Status)]
	if target == "" {
		return nil
	}
	req, err := newRequest(ctx, c.Settings, target, n, w.now().UTC())
	if err != nil {
		return channels.Permanent(err)
	}
	_, err = outbound.Do(w.client, req)
	return err
}

// newRequest builds the request from the settings.
func newRequest(
	ctx context.Context, settings map[string]string, target string, n channels.Notification, now time.Time,
) (*http.Request, error) {
	direction := string(n.Status)
	method := settings["method_"+direction]
	if method == "" {
		method = http.MethodPost
	}
	values := placeholders{notification: n, now: now}
	var err error
	if strings.Contains(target, "$") || len(target) > maxURL {
		if target, err = values.expandURL(target); err != nil {
			return nil, fmt.Errorf("url_%s %w", direction, err)
		}
	}
	var body string
	switch template := settings["body_"+direction]; {
	case method == http.MethodGet:
	case template == "":
		body = encode(newDocument(n))
	default:
		if body, err = values.expand(template, maxBody, nil); err != nil {
			return nil, fmt.Errorf("body_%s %w", direction, err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, target, strings.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("url_%s: %w", direction, outbound.Clean(err))
	}
	if method != http.MethodGet {
		req.Header.Set("Content-Type", "application/json")
	}
	if lines := settings["headers_"+direction]; lines != "" {
		if err := setHeaders(req.Header, lines, &values); err != nil {
			return nil, fmt.Errorf("headers_%s %w", direction, err)
		}
	}
	id := inHeader(n.ID)
	req.Header.Set("Idempotency-Key", id)
	if secret := settings["secret"]; secret != "" {
		err = sign(req.Header, secret, id, now, body)
	}
	return req, err
}

// setHeaders adds the headers of the setting. A name may be repeated; its first line replaces a default header.
func setHeaders(header http.Header, lines string, values *placeholders) error {
	seen := make(map[string]bool)
	for line := range strings.Lines(lines) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			continue
		}
		name, template, found := strings.Cut(line, ":")
		if !found {
			return errors.New("has a line without a colon")
		}
		value, err := values.expand(strings.TrimSpace(template), maxHeader, inHeader)
		if err != nil {
			return err
		}
		if name = http.CanonicalHeaderKey(name); !seen[name] {
			header.Del(name)
			seen[name] = true
		}
		header.Add(name, value)
	}
	return nil
}

// inHeader returns the value of a header. A line break would begin another one.
func inHeader(value string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(cut(value), "\ufffd"))
}

func cut(value string) string {
	if utf8.RuneCountInString(value) <= maxInline {
		return value
	}
	return string([]rune(value)[:maxInline])
}
