package courier

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/pings"
)

// MaxError is the maximum length of the error of a delivery in characters.
const MaxError = 500

// Limits bounds the delivery. Package monitor documents the fields, which its DeliveryConfig has in the same order.
type Limits struct {
	Every                  time.Duration
	Sends, SendsPerChannel int
	Timeout                time.Duration
	RetryFirst, RetryMost  time.Duration
	GiveUp                 time.Duration
	Lease                  time.Duration
}

// Config configures a [Courier]. Only OnAlert, Types, Link, AckLink, AckAllLink, ListLink and Body may be nil.
type Config struct {
	// Limits has a default for each field that is 0.
	Limits
	Store store.Courier
	// Types are the kinds of channels. Those with a notifier are the kinds that this process can send to.
	Types []channels.Type
	// Elsewhere says that another process sends to the others.
	Elsewhere bool
	// OnAlert gets the alerts to [store.OnAlert].
	OnAlert func(ctx context.Context, n channels.Notification) error
	// Link returns the address of a page about a check.
	Link func(c checks.Check, project string) string
	// ListLink returns the address of a page about the checks of a project, or "". It may be nil.
	ListLink func(projectID uuid.UUID, project string) string
	// AckLink returns the address at which people acknowledge the outage of a check, or nil.
	AckLink func(ctx context.Context, c checks.Check) string
	// AckAllLink returns the address at which people acknowledge the outages of all checks of a combined message: those of the
	// deliveries of a batch, whose highest ID is last.
	AckAllLink func(ctx context.Context, project uuid.UUID, batch, last int64) string
	// Body reads the body of a ping from object storage.
	Body func(ctx context.Context, p pings.Ping) ([]byte, error)
	Now  func() time.Time
	Log  *slog.Logger
	// Changed gets the deliveries that have changed, after the commit.
	Changed func(ctx context.Context, changed []Change)
	// Attempted gets the end of each attempt: sent, failed, or pending if it will be retried.
	Attempted func(kind channels.Kind, state checks.DeliveryState, took time.Duration)
}

// Change is a change of deliveries about a check. The zero value stands for any check.
type Change struct{ Project, Check uuid.UUID }

func (c *Config) validate() error {
	for i, t := range c.Types {
		switch t.Kind {
		case "":
			return fmt.Errorf("Config.Channels[%d] has no kind", i)
		case channels.Function:
			return fmt.Errorf("Config.Channels lists the kind %q, which stands for Config.OnAlert", t.Kind)
		}
	}
	return nil
}

func (l *Limits) setDefaults() {
	l.Every, l.Timeout, l.Lease = cmp.Or(l.Every, time.Second), cmp.Or(l.Timeout, 30*time.Second), cmp.Or(l.Lease, 15*time.Second)
	l.Sends, l.SendsPerChannel = cmp.Or(l.Sends, 2048), cmp.Or(l.SendsPerChannel, 16)
	l.RetryFirst, l.RetryMost = cmp.Or(l.RetryFirst, time.Second), cmp.Or(l.RetryMost, 10*time.Minute)
	l.GiveUp = cmp.Or(l.GiveUp, 24*time.Hour)
}
