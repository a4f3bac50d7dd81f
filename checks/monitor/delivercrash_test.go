package monitor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/postgres"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
	"github.com/rollcall-dev/rollcall/pings"
)

// patience bounds every wait for a database or another process. Only a broken test reaches it.
const patience = 5 * time.Minute

// courierVar makes the test binary a server that delivers alerts. Its value is the database and the URL to post them to,
// separated by a blank.
const courierVar = "ROLLCALL_TEST_COURIER"

// courierMain runs that server until its standard input is closed, at the latest when the test process ends.
func courierMain(arguments string) error {
	database, receiver, _ := strings.Cut(arguments, " ")
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	store, err := openStore(context.Background(), database)
	if err != nil {
		return err
	}
	mon, err := monitor.New(store, &monitor.Config{
		Logger: slog.New(slog.DiscardHandler),
		Channels: []channels.Type{
			{Kind: "pager", Notifier: channels.NotifierFunc(poster(receiver))},
			{Kind: "chat", Notifier: channels.NotifierFunc(poster(receiver)), Combines: true},
		},
		Delivery: monitor.DeliveryConfig{Lease: 300 * time.Millisecond, Every: 50 * time.Millisecond, RetryFirst: 10 * time.Millisecond},
	})
	if err != nil {
		return err
	}
	return mon.Run(context.Background())
}

// openStore opens the store in a database that dbtest names.
func openStore(ctx context.Context, database string) (*sqlstore.Store, error) {
	if path, ok := strings.CutPrefix(database, "sqlite:"); ok {
		return sqlite.Open(ctx, path)
	}
	return postgres.Open(ctx, database)
}

func poster(receiver string) func(context.Context, channels.Channel, channels.Notification) error {
	return func(ctx context.Context, _ channels.Channel, n channels.Notification) error {
		body, err := json.Marshal(n)
		if err != nil {
			return err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, receiver, bytes.NewReader(body))
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return errors.New(res.Status)
		}
		return nil
	}
}

// fleet is a group of servers that are killed and restarted.
type fleet struct {
	t    *testing.T
	args string

	mu      sync.Mutex
	servers []*exec.Cmd
	kills   int // left to do
}

func (f *fleet) start(i int) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), courierVar+"="+f.args)
	if _, err := cmd.StdinPipe(); err != nil {
		f.t.Error(err)
	}
	if err := cmd.Start(); err != nil {
		f.t.Error(err)
		return
	}
	f.servers[i] = cmd
}

// kill ends one of the servers like a crash and starts another one in its place.
func (f *fleet) kill() {
	if !f.mu.TryLock() {
		return // another call is killing one; let the new one send first
	}
	defer f.mu.Unlock()
	if f.kills == 0 {
		return
	}
	f.kills--
	i := rand.IntN(len(f.servers))
	_ = f.servers[i].Process.Kill()
	_ = f.servers[i].Wait()
	f.start(i)
}

func (f *fleet) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kills > 0 {
		f.t.Logf("%d servers less were killed than planned: all alerts had arrived", f.kills)
	}
	f.kills = 0
	for _, cmd := range f.servers {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// TestKillLosesNoAlert kills servers at any moment while alerts are raised and delivered. Every alert arrives, those of
// one check in order. Each claim sends an alert at most once, and no alert is claimed again after it was recorded as sent.
func TestKillLosesNoAlert(t *testing.T) {
	const jobs, each = 20, 10
	run := func(t *testing.T, db dbtest.DB, servers, kills int, kind channels.Kind) {
		o := newOutbox(t, db.Open(t), func(c *monitor.Config) {
			c.Channels = append(c.Channels, channels.Type{Kind: "chat"})
			mute(c)
			c.Now = nil
		})
		storm := o.project
		storm.Storm = gate.Storm{Checks: 3, Window: time.Second} // less than an owner can set
		must(t, o.store.Contract().(store.Store).Update(t.Context(), func(ctx context.Context, tx store.Tx) error { return writer(ctx, tx).SaveProject(ctx, storm) }))
		o.channel(t, kind, "ops", nil)
		var list []checks.Check
		for i := range jobs {
			list = append(list, o.watched(t, fmt.Sprint(i)))
		}
		f := &fleet{t: t, servers: make([]*exec.Cmd, servers), kills: kills}
		var mu sync.Mutex
		seen := make(map[string]int)
		last := make(map[string]time.Time)
		type alert struct {
			check uuid.UUID
			at    int64 // Unix microseconds
		}
		arrived := make(map[alert]int)
		sent := make(map[int64]checks.Delivery) // as first seen after the record
		record := func(list []checks.Delivery) {
			mu.Lock()
			defer mu.Unlock()
			for _, d := range list {
				if first, found := sent[d.ID]; found && d != first {
					t.Errorf("%+v changed after it was recorded: %+v", first, d)
				} else {
					sent[d.ID] = d
				}
			}
		}
		all := make(chan struct{})
		receive := func(n channels.Notification) {
			mu.Lock()
			defer mu.Unlock()
			if seen[n.ID]++; seen[n.ID] > 1 {
				return
			}
			if n.At.Before(last[n.Check.Name]) {
				t.Errorf("out of order: %s %v after %v", n.Check.Name, n.At, last[n.Check.Name])
			}
			last[n.Check.Name] = n.At
			if len(seen) == jobs*each {
				close(all)
			}
		}
		receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			var n channels.Notification
			if err := json.NewDecoder(r.Body).Decode(&n); err != nil {
				return // killed while it was sending
			}
			// An alert may arrive after its record: it was on its way here while the lease ended, and another server sent it
			// again.
			parts := n.Combined
			if len(parts) == 0 {
				parts = []channels.Notification{n}
			}
			moment := rand.IntN(8)
			for _, n := range parts {
				mu.Lock()
				arrived[alert{n.Check.ID, n.At.UnixMicro()}]++
				mu.Unlock()
				record(o.history(t, checks.DeliveryQuery{Check: n.Check.ID, State: checks.DeliverySent}))
			}
			if moment == 0 {
				f.kill()
			}
			for _, n := range parts {
				receive(n)
			}
			switch moment {
			case 1:
				f.kill()
			case 2:
				go f.kill()
			}
		}))
		t.Cleanup(receiver.Close)
		f.args = db.URL + " " + receiver.URL
		f.mu.Lock() // the first server sends alerts while the others start
		for i := range servers {
			f.start(i)
		}
		f.mu.Unlock()
		t.Cleanup(f.stop)
		for i := range each {
			for _, c := range list {
				kind := []pings.Kind{pings.Failure, pings.Success}[i%2]
				o.ping(t, c.ID, kind)
			}
		}
		select {
		case <-all:
		case <-time.After(patience):
			mu.Lock()
			defer mu.Unlock()
			t.Fatalf("%d alerts have arrived, want %d", len(seen), jobs*each)
		}
		recorded := func() []checks.Delivery {
			return o.history(t, checks.DeliveryQuery{State: checks.DeliverySent, Limit: jobs*each + 1})
		}
		for begin := time.Now(); len(recorded()) < jobs*each && time.Since(begin) < patience; {
			time.Sleep(10 * time.Millisecond) // for another process
		}
		f.stop()
		receiver.Close() // no alert is on its way any more
		sentAll := recorded()
		if len(sentAll) != jobs*each {
			t.Errorf("%d are recorded as sent, want %d", len(sentAll), jobs*each)
		}
		record(sentAll)
		for _, d := range sentAll {
			if n := arrived[alert{d.CheckID, d.CreatedAt.UnixMicro()}]; n < 1 || n > d.Attempts {
				t.Errorf("arrived %d times: %+v", n, d)
			}
		}
		for _, c := range list {
			flips := o.flips(t, c.ID)
			slices.Reverse(flips)
			for i, flip := range flips {
				if flip.Up != (i%2 == 1) {
					t.Errorf("flips of %s: %v", c.Name, flips)
				}
			}
			if len(flips) != each {
				t.Errorf("%d flips of %s, want %d", len(flips), c.Name, each)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		if len(seen) != jobs*each {
			t.Errorf("%d different alerts have come, want %d", len(seen), jobs*each)
		}
	}
	t.Run("sqlite", func(t *testing.T) { run(t, dbtest.SQLite(t), 1, 10, "pager") })
	t.Run("postgres", func(t *testing.T) { run(t, dbtest.PostgreSQL(t), 2, 20, "pager") })
	t.Run("sqlite/storm", func(t *testing.T) { run(t, dbtest.SQLite(t), 1, 10, "chat") })
	t.Run("postgres/storm", func(t *testing.T) { run(t, dbtest.PostgreSQL(t), 2, 20, "chat") })
}
