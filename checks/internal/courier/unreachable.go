package courier

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// unreachableMost bounds the channels that one look counts and names.
const unreachableMost = 100

// lacks returns the error of an attempt to send to a kind without a notifier. It is permanent for a kind that the
// configuration does not list: for others, an administrator is likely to add what is missing.
func (c *Courier) lacks(kind channels.Kind) error {
	err := c.Configured(kind)
	if slices.ContainsFunc(c.Types, func(t channels.Type) bool { return t.Kind == kind }) {
		return err
	}
	return channels.Permanent(err)
}

// Unreachable says to which stored channels nobody sends alerts: this process has no notifier for their kind, and Elsewhere
// is not set. problem is "" if there are none. cause names the channels, or is the error of the store.
func (c *Courier) Unreachable(ctx context.Context) (problem string, cause error) {
	if c.Elsewhere {
		return "", nil
	}
	served := append(slices.Collect(maps.Keys(c.notifiers)), channels.Group)
	list, err := c.Store.Channels(ctx, store.ChannelFilter{NotKinds: served, Limit: unreachableMost})
	if err != nil {
		return "cannot be read", err
	}
	if len(list) == 0 {
		return "", nil
	}
	counts := make(map[channels.Kind]int)
	var named []string
	for _, to := range list {
		counts[to.Kind]++
		named = append(named, fmt.Sprintf("%s %q (%s)", to.Kind, to.Name, to.ID))
	}
	var reasons []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		reasons = append(reasons, fmt.Sprintf("%d of the kind %s: %v", counts[kind], kind, c.Configured(kind)))
	}
	return "do not reach all integrations: " + strings.Join(reasons, "; "), errors.New(strings.Join(named, ", "))
}

// warn logs which stored channels nobody sends alerts to.
func (c *Courier) warn(ctx context.Context) (int, error) {
	problem, cause := c.Unreachable(ctx)
	if problem != "" && ctx.Err() == nil {
		c.Log.WarnContext(ctx, "alerts "+problem, "error", cause)
	}
	return 0, nil
}
