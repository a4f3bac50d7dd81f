package verdict_test

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/verdict"
	"github.com/rollcall-dev/rollcall/pings"
)

func ExampleExplain() {
	spec := checks.Spec{Schedule: new("0 3 * * *"), TZ: new("Europe/Riga"), Grace: new(20 * time.Minute)}
	c, err := checks.New(uuid.New(), spec, time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))
	if err != nil {
		panic(err)
	}
	c.Channels = []uuid.UUID{uuid.New(), uuid.New()}
	c, _, _, err = c.Ping(pings.Signal{}, time.Date(2026, 11, 21, 1, 4, 0, 0, time.UTC))
	if err != nil {
		panic(err)
	}
	now := time.Date(2026, 11, 22, 2, 0, 0, 0, time.UTC)
	c, effects := c.Settle(now)
	down := effects.Transitions[0].At
	v := verdict.Explain(verdict.Input{
		Check: c, Now: now, Transitions: effects.Transitions,
		Deliveries: []checks.Delivery{
			{ChannelName: "ops", State: checks.DeliverySent, FinishedAt: down.Add(2 * time.Second)},
			{ChannelName: "pager", State: checks.DeliverySent, FinishedAt: down.Add(3 * time.Second)},
		},
	})
	for _, sentence := range v.Sentences {
		for _, part := range sentence {
			fmt.Print(v.Words(part, nil))
		}
		fmt.Println()
	}
	// Output:
	// Down since 03:20.
	// The run expected at 03:00 Europe/Riga did not report within its grace of 20 min; last success yesterday 03:04.
	// ops and pager were notified at 03:20:02 and 03:20:03.
	// Next run due tomorrow 03:00.
}
