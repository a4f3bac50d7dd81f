package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/uptrace/bun"
)

// alert is what a webhook tells, as far as it is looked at.
type alert struct {
	Status string
	At     time.Time // in whole seconds
}

// pair is what alerts are in order for.
type pair struct {
	check   uuid.UUID
	channel string
}

// receiver takes the webhooks of all channels of a site. It refuses some of them at first.
type receiver struct {
	url string
	web *http.Server

	mu      sync.Mutex
	seen    map[string]int // requests by their idempotency key
	alerts  map[pair][]alert
	refused int
	repeats int
	faults  []string
}

func newReceiver() (*receiver, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{url: "http://" + listener.Addr().String(), seen: make(map[string]int), alerts: make(map[pair][]alert)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{channel}", r.receive)
	r.web = &http.Server{Handler: mux, ReadHeaderTimeout: patience}
	go func() { _ = r.web.Serve(listener) }() // it ends with close
	return r, nil
}

func (r *receiver) close() { _ = r.web.Close() }

func (r *receiver) receive(w http.ResponseWriter, req *http.Request) {
	var document struct {
		Status string
		At     time.Time
		Check  struct{ UUID uuid.UUID }
	}
	err := json.NewDecoder(req.Body).Decode(&document)
	key := req.Header.Get("Idempotency-Key")
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil || key == "" {
		r.faults = append(r.faults, fmt.Sprintf("a webhook with the key %q cannot be read: %v", key, err))
		return
	}
	const often = 50
	if r.seen[key] == 0 && r.refused*often < len(r.seen) {
		r.refused++
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	r.seen[key]++
	if r.seen[key] > 1 {
		r.repeats++
		return
	}
	p := pair{document.Check.UUID, req.PathValue("channel")}
	r.alerts[p] = append(r.alerts[p], alert{document.Status, document.At.UTC()})
}

// auditDeliveries waits until the outbox is empty, and compares it with what has arrived: everything at least once, and
// what is about one check and channel in order.
func (s *site) auditDeliveries(ctx context.Context, t *tally) error {
	db, err := s.open()
	if err != nil {
		return err
	}
	defer db.Close()
	for deadline := time.Now().Add(2 * patience); ; sleep(ctx, 200*time.Millisecond) {
		var pending int
		row := db.QueryRowContext(ctx, "SELECT count(*) FROM rollcall_deliveries WHERE state = 'pending'")
		if err := row.Scan(&pending); err != nil {
			return err
		}
		if pending == 0 {
			break
		}
		if time.Now().After(deadline) {
			s.problem("%d deliveries are still pending", pending)
			break
		}
	}
	want, err := s.sent(ctx, db)
	if err != nil {
		return err
	}
	s.receiver.mu.Lock()
	defer s.receiver.mu.Unlock()
	for _, fault := range s.receiver.faults {
		s.problem("%s", fault)
	}
	for p, alerts := range want {
		if diff := cmp.Diff(alerts, s.receiver.alerts[p]); diff != "" {
			s.problem("alerts about %s on %s (-outbox +received):\n%s", p.check, p.channel, diff)
		}
	}
	if len(s.receiver.alerts) > len(want) {
		s.problem("%d pairs of check and channel have received alerts, want %d", len(s.receiver.alerts), len(want))
	}
	t.received.Store(int64(len(s.receiver.seen)))
	t.repeats.Store(int64(s.receiver.repeats))
	return nil
}

// sent returns what the outbox says was sent, in order.
func (s *site) sent(ctx context.Context, db *bun.DB) (map[pair][]alert, error) {
	var rows []struct {
		UUID  uuid.UUID
		Name  string
		Up    bool
		At    int64
		State string
	}
	err := db.NewRaw(`SELECT c.uuid, ch.name, f.up, f.at, d.state FROM rollcall_deliveries d
		JOIN rollcall_flips f ON f.id = d.flip_id JOIN rollcall_checks c ON c.id = d.check_id
		JOIN rollcall_channels ch ON ch.id = d.channel_id ORDER BY d.id`).Scan(ctx, &rows)
	if err != nil {
		return nil, err
	}
	sent := make(map[pair][]alert)
	for _, row := range rows {
		status := "down"
		if row.Up {
			status = "up"
		}
		if row.State != "sent" {
			s.problem("the delivery that %s is %s, to %s, is %s", row.UUID, status, row.Name, row.State)
		}
		p := pair{row.UUID, row.Name}
		sent[p] = append(sent[p], alert{status, time.UnixMicro(row.At).UTC().Truncate(time.Second)})
	}
	return sent, nil
}
