package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/installation"
)

// register leaves the document of this server in the database. Those of servers that have ended make way for it.
func (s *service) register(ctx context.Context) error {
	now := s.mon.Now()
	host, _ := os.Hostname()
	s.document = installation.Server{
		ID: uuid.NewString(), Host: host, Address: s.webListener.Addr().String(), Started: now, Seen: now, BaseURL: s.BaseURL, PingBaseURL: s.PingBaseURL,
		Others: s.DeliveredElsewhere, Audit: s.AuditRetention > 0, Spools: s.SpoolWait, Private: s.Notifiers.AllowPrivateNetworks,
	}
	for _, t := range s.mon.Kinds() {
		if installation.Needs[t.Kind] == "" {
			continue
		}
		if _, err := installation.Lacks(ctx, t, nil); err == nil {
			s.document.Kinds = append(s.document.Kinds, t.Kind)
		}
	}
	found, err := installation.Documents(ctx, s.mon, installation.ServerKind)
	if err != nil {
		return err
	}
	for _, document := range found {
		var d installation.Server
		if json.Unmarshal(document.Value, &d) == nil && d.Running(now) {
			continue
		}
		if _, err := installation.TakeDocument(ctx, s.mon, installation.ServerKind, document.Key); err != nil && !errors.Is(err, checks.ErrNotFound) {
			return err
		}
	}
	return installation.SaveDocument(ctx, s.mon, installation.ServerKind, s.document.ID, s.document, installation.ServerKept)
}

// serveCommands renews the document of this server and does what commands ask for, until ctx ends. While the database is
// unavailable, commands cannot ask.
func (s *service) serveCommands(ctx context.Context) {
	var tests sync.WaitGroup
	defer tests.Wait()
	for tick := time.NewTicker(installation.RequestEvery); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			s.document.Ended = s.mon.Now()
			_ = s.leave(ctx, installation.ServerKind, s.document.ID, s.document, installation.ServerKept)
			return
		case <-tick.C:
		}
		if now := s.mon.Now(); now.Sub(s.document.Seen) >= installation.ServerSeen {
			seen := s.document
			seen.Seen = now
			if installation.SaveDocument(ctx, s.mon, installation.ServerKind, seen.ID, seen, installation.ServerKept) == nil {
				s.document = seen
			}
		}
		s.takeRequests(ctx, &tests)
	}
}

// leave stores a document, also while the server stops.
func (s *service) leave(ctx context.Context, kind, key string, document any, ends time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), installation.RequestEvery)
	defer cancel()
	return installation.SaveDocument(ctx, s.mon, kind, key, document, ends)
}

// takeRequests sends the test alerts that commands ask this server for.
func (s *service) takeRequests(ctx context.Context, tests *sync.WaitGroup) {
	found, _ := installation.Documents(ctx, s.mon, installation.RequestKind)
	for _, document := range found {
		var r installation.TestRequest
		if json.Unmarshal(document.Value, &r) != nil || r.Server != s.document.ID {
			continue
		}
		if _, err := installation.TakeDocument(ctx, s.mon, installation.RequestKind, document.Key); err != nil {
			continue // the command has withdrawn it
		}
		tests.Go(func() {
			var answer installation.TestAnswer
			if err := s.mon.Project(r.Project).TestChannel(ctx, r.Channel); err != nil {
				answer.Error = err.Error()
			}
			if err := s.leave(ctx, installation.AnswerKind, document.Key, answer, time.Hour); err != nil {
				component(s.log, "serve").Warn("a command does not learn how its test alert went", "error", err)
			}
		})
	}
}
