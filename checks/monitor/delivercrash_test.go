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

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/postgres"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
	"github.com/rollcall-dev/rollcall/checks/storetest/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

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
		Logger:    slog.New(slog.DiscardHandler),
		Kinds:     []channels.KindInfo{{Kind: "pager"}},
		Notifiers: map[channels.Kind]channels.Notifier{"pager": channels.NotifierFunc(poster(receiver))},
		Delivery:  monitor.DeliveryConfig{Lease: 300 * time.Millisecond, Every: 50 * time.Millisecond, RetryFirst: 10 * time.Millisecond},
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
// one check in order, and none arrives again after it was recorded as sent.
func TestKillLosesNoAlert(t *testing.T) {
	const jobs, each = 20, 10
	run := func(t *testing.T, db dbtest.DB, servers, kills int) {
		o := newOutbox(t, db.Open(t), func(c *monitor.Config) { c.Now, c.Notifiers = nil, nil })
		o.channel(t, "pager", "ops", nil)
		var list []checks.Check
		for i := range jobs {
			list = append(list, o.watched(t, fmt.Sprint(i)))
		}
		f := &fleet{t: t, servers: make([]*exec.Cmd, servers), kills: kills}
		var mu sync.Mutex
		seen := make(map[string]int)
		last := make(map[string]time.Time)
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
			arrived := time.Now()
			var n channels.Notification
			if err := json.NewDecoder(r.Body).Decode(&n); err != nil {
				return // killed while it was sending
			}
			// An alert of a killed server can be on its way here while another server sends it again and records that. So
			// only an alert that arrives well after its record is wrong.
			for _, d := range o.history(t, monitor.DeliveryQuery{Check: n.Check.ID, State: monitor.DeliverySent}) {
				if d.CreatedAt.Equal(n.At) && arrived.Sub(d.FinishedAt) > time.Second {
					t.Errorf("came again after it was recorded: %+v", d)
				}
			}
			switch rand.IntN(8) {
			case 0:
				f.kill()
				receive(n)
			case 1:
				receive(n)
				f.kill()
			case 2:
				receive(n)
				go f.kill()
			default:
				receive(n)
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
				kind := []pings.Kind{pings.Fail, pings.Success}[i%2]
				o.ping(t, c.ID, kind)
			}
		}
		select {
		case <-all:
		case <-time.After(time.Minute): // only when something is broken
			t.Fatalf("%d alerts have arrived, want %d", len(seen), jobs*each)
		}
		recorded := func() int {
			return len(o.history(t, monitor.DeliveryQuery{State: monitor.DeliverySent, Limit: jobs*each + 1}))
		}
		for begin := time.Now(); recorded() < jobs*each && time.Since(begin) < time.Minute; {
			time.Sleep(10 * time.Millisecond) // for another process
		}
		if n := recorded(); n != jobs*each {
			t.Errorf("%d are recorded as sent, want %d", n, jobs*each)
		}
		f.stop()
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
	t.Run("sqlite", func(t *testing.T) { run(t, dbtest.SQLite(t), 1, 10) })
	t.Run("postgres", func(t *testing.T) { run(t, dbtest.PostgreSQL(t), 2, 20) })
}
