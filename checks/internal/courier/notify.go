package courier

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"unicode"

	"github.com/rollcall-dev/rollcall/channels"
)

// notify calls a notifier, which may be code of an embedding program: it gets a copy of the settings, and notify turns
// a panic into an error. It returns what is open at the receiver afterwards.
func (c *Courier) notify(
	ctx context.Context, notifier channels.Notifier, to channels.Channel, open string, content func(context.Context) channels.Notification,
) (nowOpen string, err error) {
	defer func() {
		if r := recover(); r != nil {
			nowOpen, err = open, fmt.Errorf("panic: %v", r)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	to.Settings = maps.Clone(to.Settings)
	keeper, keeps := notifier.(channels.IncidentNotifier)
	if !keeps {
		return "", notifier.Notify(ctx, to, content(ctx))
	}
	nowOpen, err = keeper.NotifyIncident(ctx, to, content(ctx), open)
	if len(nowOpen) > channels.MaxIncident {
		return open, fmt.Errorf("the notifier returned %d bytes about the incident, the maximum is %d", len(nowOpen), channels.MaxIncident)
	}
	return nowOpen, err
}

// errorText makes the text of a notifier's error safe to show to users: one line without the secrets of the channel, at
// most [MaxError] characters long.
func (c *Courier) errorText(to channels.Channel, err error) string {
	text := err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		text = fmt.Sprintf("no answer within %v", c.Timeout)
	}
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

// sendError is an error of a notifier with a text that is safe to show to users.
type sendError struct {
	err  error
	text string
}

func (e *sendError) Error() string { return e.text }

func (e *sendError) Unwrap() error { return e.err }
