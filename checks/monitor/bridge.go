package monitor

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"
)

// settleTime bounds the recording of results, which continues while the monitor stops.
const settleTime = 5 * time.Second

func (m *Monitor) exists(ctx context.Context, projectID uuid.UUID, found int, err error) error {
	return m.admin.Exists(ctx, projectID, found, err)
}

func orDefault[T int | int64 | time.Duration](value, standard T) T { return cmp.Or(value, standard) }
