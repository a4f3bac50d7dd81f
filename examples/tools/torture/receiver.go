package main

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

// alert is the part of a webhook that is compared.
type alert struct {
	Status string
	At     time.Time // in whole seconds
}

// pair is a check and a channel. Alerts arrive in order for each pair.
type pair struct {
	check   uuid.UUID
	channel string
}

// receiver takes the webhooks of all channels of a site. It refuses some at first.
type receiver struct {
	url string
	web *http.Server

	mu      sync.Mutex
	seen    map[string]int // accepted requests by idempotency key
	alerts  map[pair][]alert
	refused int
	repeats int
	problem func(format string, args ...any)
	windows *windows
	acks    *acks
}

func newReceiver(problem func(format string, args ...any), w *windows, a *acks) (*receiver, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{url: "http://" + listener.Addr().String(), seen: make(map[string]int), alerts: make(map[pair][]alert), problem: problem, windows: w, acks: a}
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
		r.problem("unreadable webhook with the key %q: %v", key, err)
		return
	}
	if document.Status == "down" && r.windows.forbid(document.Check.UUID, document.At) {
		r.problem("the alert that %s is down since %v arrived within a maintenance window", document.Check.UUID, document.At)
	}
	if down := document.Status == "down" && req.PathValue("channel") == late; down && time.Since(document.At) < stepAfter {
		r.problem("the alert that %s is down since %v arrived before its step", document.Check.UUID, document.At)
	} else if down && r.acks.forbids(document.Check.UUID, document.At) {
		r.problem("the alert that %s is down since %v arrived at a later step after an acknowledgement", document.Check.UUID, document.At)
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

// auditDeliveries waits until the outbox is empty and compares it with what arrived: everything at least once, and in
// order for each check and channel.
func (s *site) auditDeliveries(ctx context.Context) error {
	var pending int
	empty, err := await(ctx, 2*patience, func() (bool, error) {
		row := s.db.QueryRowContext(ctx, "SELECT count(*) FROM rollcall_deliveries WHERE state = 'pending'")
		err := row.Scan(&pending)
		return pending == 0, err
	})
	if err != nil {
		return err
	}
	if !empty {
		s.problem("%d deliveries are still pending", pending)
	}
	want, err := s.sent(ctx)
	if err != nil {
		return err
	}
	s.receiver.mu.Lock()
	defer s.receiver.mu.Unlock()
	for p, alerts := range want {
		if diff := cmp.Diff(alerts, s.receiver.alerts[p]); diff != "" {
			s.problem("alerts about %s on %s (-outbox +received):\n%s", p.check, p.channel, diff)
		}
	}
	if len(s.receiver.alerts) > len(want) {
		s.problem("%d pairs of check and channel got alerts, want %d", len(s.receiver.alerts), len(want))
	}
	s.count.received, s.count.repeats = len(s.receiver.seen), s.receiver.repeats
	return nil
}

// sent returns the alerts that the outbox has as sent, in order.
func (s *site) sent(ctx context.Context) (map[pair][]alert, error) {
	var rows []outboxRow
	err := s.db.NewRaw(`SELECT c.uuid, ch.name, f.up, f.at, d.created_at, d.state, d.held, d.attempts, coalesce(d.finished_at, 0) AS finished_at FROM rollcall_deliveries d
		JOIN rollcall_flips f ON f.id = d.flip_id JOIN rollcall_checks c ON c.id = d.check_id
		JOIN rollcall_channels ch ON ch.id = d.channel_id ORDER BY d.id`).Scan(ctx, &rows)
	if err != nil {
		return nil, err
	}
	sent, all := make(map[pair][]alert), make(map[pair][]outboxRow)
	for _, row := range rows {
		status := "down"
		if row.Up {
			status = "up"
		}
		p := pair{row.UUID, row.Name}
		if all[p] = append(all[p], row); row.State == "sent" {
			sent[p] = append(sent[p], alert{status, time.UnixMicro(row.At).UTC().Truncate(time.Second)})
		}
	}
	return sent, s.auditSkipped(ctx, all)
}
