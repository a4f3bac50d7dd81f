package courier

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks/internal/background"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// known are the channels of a database.
type known struct {
	store.Courier
	ids  []uuid.UUID
	away bool
}

func (k *known) Channels(_ context.Context, f store.ChannelFilter) (list []channels.Channel, err error) {
	if k.away {
		return nil, errors.New("the database is away")
	}
	for _, id := range f.IDs {
		if slices.Contains(k.ids, id) {
			list = append(list, channels.Channel{ID: id})
		}
	}
	return list, nil
}

// TestForget: a loop forgets that a channel fails, or is left to another process, once the channel was deleted. It looks every ten
// minutes.
func TestForget(t *testing.T) {
	db := &known{ids: []uuid.UUID{channelN(3)}}
	l := newLoop(&Courier{Config: Config{Store: db}, left: map[uuid.UUID]bool{}, troubles: map[uuid.UUID]*trouble{}}, background.End{})
	there := func(want ...uuid.UUID) {
		t.Helper()
		failing, left := slices.Collect(maps.Keys(l.troubles)), slices.Collect(maps.Keys(l.left))
		if len(failing) != len(want) || len(left) != len(want) {
			t.Fatalf("failing %v, left %v, want %v", failing, left, want)
		}
		for _, id := range want {
			if l.troubles[id] == nil || !l.left[id] {
				t.Errorf("failing %v, left %v, want %v", failing, left, want)
			}
		}
	}
	note := func(n byte) { l.troubles[channelN(n)], l.left[channelN(n)] = &trouble{}, true }
	note(3)
	note(2)
	db.away = true
	l.forget(t.Context(), noon)
	there(channelN(3), channelN(2))
	db.away = false
	l.forget(t.Context(), noon.Add(forgetEvery/2))
	there(channelN(3), channelN(2))
	l.forget(t.Context(), noon.Add(forgetEvery))
	there(channelN(3))
	l.troubles[store.OnAlert.ID] = &trouble{}
	l.left[store.OnAlert.ID] = true
	l.forget(t.Context(), noon.Add(2*forgetEvery))
	there(channelN(3), store.OnAlert.ID)
}
