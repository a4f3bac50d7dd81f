package history

import (
	"context"
	"time"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/flips"
)

const (
	// pruner is the setting that names the server that prunes the log. One is enough: it goes round the log of all.
	pruner = "lease prune pings"
	// pruneLease is how long another server waits before it takes over. The lease is renewed when half of it is over.
	pruneLease = time.Minute
)

// PrunePings removes old pings in steps with a pause between, unless another server does. It returns how many.
func (h *History) PrunePings(ctx context.Context, pause func()) (int, error) {
	now := h.Now()
	me := h.Holder.String()
	mine := h.lease.Value == me
	if left := h.lease.Until.Sub(now); left <= 0 || mine && left < pruneLease/2 {
		lease, err := h.Store.Setting(ctx, now, store.Setting{Name: pruner, Value: me, Until: now.Add(pruneLease)})
		if err != nil {
			return 0, err
		}
		h.lease, mine = lease, lease.Value == me
	}
	if !mine {
		return 0, nil
	}
	return h.Store.PrunePings(ctx, pause)
}

// PruneFlips removes old flips in steps with a pause between, and returns how many. It first keeps what they say.
func (h *History) PruneFlips(ctx context.Context, pause func()) (int, error) {
	before := flips.RetentionBoundary(h.Now())
	if err := h.fold(ctx, before, pause); err != nil {
		return 0, err
	}
	return h.Store.PruneFlips(ctx, before, pause)
}
