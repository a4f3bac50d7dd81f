package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

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

	escalated atomic.Bool // there is a later step

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
	if down := document.Status == "down" && r.escalated.Load() && req.PathValue("channel") == late; down && time.Since(document.At) < stepAfter {
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

// auditDeliveries waits until the outbox is empty and equals what arrived: everything at least once, and in order for each check and
// channel. A check may go down meanwhile.
func (s *site) auditDeliveries(ctx context.Context) error {
	var faults []string
	var all map[pair][]outboxRow
	_, err := await(ctx, 2*patience, func() (bool, error) {
		rows, err := s.outbox(ctx)
		if err != nil {
			return false, err
		}
		all = make(map[pair][]outboxRow)
		for _, row := range rows {
			p := pair{row.UUID, row.Name}
			all[p] = append(all[p], row)
		}
		faults = s.missing(all)
		return len(faults) == 0, nil
	})
	for _, fault := range faults {
		s.problem("%s", fault)
	}
	if err != nil {
		return err
	}
	return s.auditSkipped(ctx, all)
}

// missing compares the outbox with what arrived.
func (s *site) missing(all map[pair][]outboxRow) (faults []string) {
	s.receiver.mu.Lock()
	defer s.receiver.mu.Unlock()
	s.count.received, s.count.repeats = len(s.receiver.seen), s.receiver.repeats
	for p, rows := range all {
		var want []expected
		for _, row := range rows {
			one := alert{"down", time.UnixMicro(row.At).UTC().Truncate(time.Second)}
			if row.Up {
				one.Status = "up"
			}
			if row.State == "pending" {
				faults = append(faults, fmt.Sprintf("a delivery about %s to %s is still pending", p.check, p.channel))
			} else if row.State == "sent" || row.Attempts > 0 {
				want = append(want, expected{one, row.State != "sent"})
			}
		}
		if got := s.receiver.alerts[p]; !arrived(want, got) {
			faults = append(faults, fmt.Sprintf("alerts about %s on %s: the outbox has %v, and received were %v", p.check, p.channel, want, got))
		}
	}
	for p, got := range s.receiver.alerts {
		if _, found := all[p]; !found {
			faults = append(faults, fmt.Sprintf("alerts about %s on %s that the outbox does not have: %v", p.check, p.channel, got))
		}
	}
	return faults
}

// expected is an alert of the outbox. One that was tried and then dropped may have arrived.
type expected struct {
	alert
	perhaps bool
}

// arrived reports whether alerts are those that are expected, in order.
func arrived(list []expected, got []alert) bool {
	for _, e := range list {
		if len(got) > 0 && got[0] == e.alert {
			got = got[1:]
		} else if !e.perhaps {
			return false
		}
	}
	return len(got) == 0
}

// outbox reads the deliveries, in order.
func (s *site) outbox(ctx context.Context) (rows []outboxRow, err error) {
	err = s.db.NewRaw(`SELECT c.uuid, ch.name, f.up, f.at, d.created_at, d.state, d.held, d.attempts, coalesce(d.finished_at, 0) AS finished_at
		FROM rollcall_deliveries d JOIN rollcall_flips f ON f.id = d.flip_id JOIN rollcall_checks c ON c.id = d.check_id
		JOIN rollcall_channels ch ON ch.id = d.channel_id ORDER BY d.id`).Scan(ctx, &rows)
	return rows, err
}
