package monitor

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/flips"
)

const (
	// prunerLease is the setting that names the server that prunes the log. One is enough: it goes round the log of all.
	prunerLease = "lease prune pings"
	// pruneLease is how long another server waits before it takes over. The lease is renewed when half of it is over.
	pruneLease = time.Minute
)

// pruner removes what is old.
type pruner struct {
	*service
	// holder identifies this monitor among those that prune.
	holder uuid.UUID
	// lease is that of the monitor that prunes the log, as far as this one knows. Only pings uses it.
	lease store.Setting
	// folded is the instant up to which fold has done its work, in seconds since 1970.
	folded atomic.Int64
}

// pings removes old pings in steps with a pause between, unless another server does, or all at once without pause. It returns
// how many.
func (p *pruner) pings(ctx context.Context, pause func()) (int, error) {
	if pause == nil {
		return p.store.PrunePings(ctx, nil)
	}
	now := p.now()
	me := p.holder.String()
	mine := p.lease.Value == me
	if left := p.lease.Until.Sub(now); left <= 0 || mine && left < pruneLease/2 {
		lease, err := p.store.Setting(ctx, now, store.Setting{Name: prunerLease, Value: me, Until: now.Add(pruneLease)})
		if err != nil {
			return 0, err
		}
		p.lease, mine = lease, lease.Value == me
	}
	if !mine {
		return 0, nil
	}
	return p.store.PrunePings(ctx, pause)
}

// others removes old flips, of which it first keeps what they say, records that have ended, such as sessions, and old entries
// of the audit log, in steps with a pause between. It returns how many. It also fails alerts that no server has tried within
// [DeliveryConfig].GiveUp, so that they can be pruned: those to channels if this monitor has no notifiers, and those to OnAlert
// if it has none.
func (p *pruner) others(ctx context.Context, pause func()) (removed int, err error) {
	if err := p.courier.Abandon(ctx); err != nil {
		return 0, err
	}
	now := p.now()
	before := flips.RetentionBoundary(now)
	if err := p.fold(ctx, before, pause); err != nil {
		return 0, err
	}
	if removed, err = p.store.PruneFlips(ctx, before, pause); err != nil {
		return removed, err
	}
	audited := time.Time{} // nothing is as old as the zero time
	if p.config.AuditRetention > 0 {
		audited = now.Add(-p.config.AuditRetention)
	}
	n, err := p.store.PruneRecords(ctx, now, audited, pause)
	return removed + n, err
}
