package courier

import (
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/background"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// loop claims deliveries and records results, in one goroutine. Another goroutine sends each alert.
type loop struct {
	*Courier
	end      background.End
	asOf     time.Time           // when the loop began to end, or the zero time; it claims nothing that is due later
	sends    map[*send]bool      // claimed and not finished
	sending  map[uuid.UUID]*busy // by channel
	finished chan *send
	results  results            // not recorded yet
	paces    map[uuid.UUID]pace // of channels with recent attempts
	after    uuid.UUID          // the channel whose turn was last
	renewing bool               // renew the leases of unfinished sends
	halted   chan struct{}      // closed to keep further sends from beginning
	stopping bool               // unfinished sends were cancelled
	looked   time.Time          // when forget last looked for deleted channels

	departing map[company][]*send // alerts that are about to leave together
	gathering bool

	sent int
}

// busy is a channel with claimed alerts.
type busy struct {
	claimed int
	slots   chan struct{} // a counting semaphore; capacity is the number of concurrent sends to the channel
}

func newLoop(c *Courier, end background.End) *loop {
	return &loop{
		Courier:  c,
		end:      end,
		sends:    make(map[*send]bool),
		sending:  make(map[uuid.UUID]*busy),
		finished: make(chan *send, c.Sends), // no goroutine blocks after the loop has ended
		halted:   make(chan struct{}),
		results:  make(results),
		paces:    make(map[uuid.UUID]pace),

		departing: make(map[company][]*send),
	}
}

type send struct {
	store.Alert
	others []*send // what else the message is about
	busy   *busy
	began  atomic.Pointer[time.Time] // when the attempt began
	nobody bool                      // it went to none of the recipients
	open   string                    // what is open at the receiver after the attempt
	err    error
}
