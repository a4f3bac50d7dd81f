package monitor

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/schedule"
)

const (
	// zonesEvery is how often a monitor looks for newer time zone data of the system. It reads one line for that.
	zonesEvery = time.Minute
	// zonedBatch bounds the checks that are saved in one transaction. On SQLite all pings wait for it.
	zonedBatch = 100
	// zonedLogged bounds the checks that the log names.
	zonedLogged = 20
)

// zones keeps the times of checks up to the time zone data: those of a new version of the program, or of the system.
type zones struct {
	*service
	applied schedule.ZoneData // the zero value at first: the last program may have had others
}

// renew saves the checks whose next time moves with the time zone data in use, unless it has done so for them. It returns how many.
func (z *zones) renew(ctx context.Context, pause func()) (moved int, err error) {
	schedule.RefreshZoneinfo()
	data := schedule.Zoneinfo()
	if data == z.applied {
		return 0, nil
	}
	log := z.logger("zones")
	if z.applied.Version != "" {
		z.store.Recompile()
		log.InfoContext(ctx, "the time zone data have changed", "from", z.applied.String(), "to", data.String())
	}
	for after := uuid.Nil; ; {
		list, err := z.store.Zoned(ctx, after, zonedBatch)
		if err != nil {
			return moved, err
		}
		if len(list) == 0 {
			break
		}
		if err := z.renewChecks(ctx, list, &moved); err != nil {
			return moved, err
		}
		after = list[len(list)-1].ID
		if pause != nil {
			pause()
		}
	}
	if moved > zonedLogged {
		log.InfoContext(ctx, "the next times of more checks have moved", "checks", moved-zonedLogged)
	}
	z.applied = data
	return moved, nil
}

// renewChecks saves those of some checks whose next time is another than the stored one, with the deadline that follows from it.
func (z *zones) renewChecks(ctx context.Context, list []store.Zoned, moved *int) error {
	stored := make(map[uuid.UUID]time.Time, len(list))
	ids := make([]uuid.UUID, len(list))
	for i, c := range list {
		stored[c.ID], ids[i] = c.NextAt, c.ID
	}
	read, err := z.store.Checks(ctx, store.CheckFilter{IDs: ids})
	if err != nil {
		return err
	}
	ids = ids[:0]
	for _, c := range read {
		if next, _, _ := c.Outlook(); !next.Equal(stored[c.ID]) {
			ids = append(ids, c.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var saved []*store.Locked
	err = z.store.Update(ctx, func(ctx context.Context, tx store.Tx) (err error) {
		if saved, err = tx.LockChecks(ctx, ids); err != nil {
			return err
		}
		return tx.SaveChecks(ctx, saved)
	})
	if err != nil {
		return err
	}
	for _, c := range saved {
		if *moved++; *moved <= zonedLogged {
			next, _, _ := c.Outlook()
			z.logger("zones").InfoContext(ctx, "the next time of a check has moved with the time zone data", "check", c.ID, "name", c.Name,
				"tz", c.TZ, "from", stored[c.ID], "to", next)
		}
	}
	return nil
}
