package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

// Kinds of the documents by which servers and commands know each other.
const (
	serverKind  = "server"  // what a server runs with
	requestKind = "request" // a test alert that a command wants a server to send
	answerKind  = "answer"  // how that went
)

const (
	// serverSeen is how often a server renews its document.
	serverSeen = time.Minute
	// serverGone is the age from which on the document is that of a server that has ended without saying so.
	serverGone = 3 * serverSeen
	// serverKept is how long the document of a server that has ended is kept.
	serverKept = 90 * 24 * time.Hour
	// requestEvery is how often a server looks for requests, and a command for their answers.
	requestEvery = time.Second
	// requestWait is how long a command waits for a server to take its request.
	requestWait = 8 * time.Second
	// answerWait is how long it waits for the answer then: longer than any attempt to send takes.
	answerWait = 2 * time.Minute
)

// The flags of serve without which alerts of some kinds cannot be sent.
const (
	flagMail    = "--mail-host"
	flagTwilio  = "--twilio-account-sid"
	flagShell   = "--enable-shell"
	flagPrivate = "--allow-private-networks"
)

// serverDoc says what a server runs with, for commands on its database. It holds no secret.
type serverDoc struct {
	ID      string          `json:"id"`
	Host    string          `json:"host"`    // name of its machine
	Address string          `json:"address"` // on which it listens
	Started time.Time       `json:"started"`
	Seen    time.Time       `json:"seen"`
	Ended   time.Time       `json:"ended"` // zero while it runs, and after a crash
	BaseURL address         `json:"base_url"`
	Kinds   []channels.Kind `json:"kinds"` // those of needs that it has the flags for
	Private bool            `json:"allow_private_networks"`
	Others  bool            `json:"delivered_elsewhere"`
	Audit   bool            `json:"audit"`
	Spools  time.Duration   `json:"spool_wait"`
}

// String names the server in a sentence.
func (d serverDoc) String() string {
	name := fmt.Sprintf("the server on %s at %s", cmp.Or(d.Host, "an unnamed machine"), d.Address)
	if !d.Ended.IsZero() {
		name += " (ended " + timestamp(d.Ended) + ")"
	}
	return name
}

// running reports whether the server seems to run.
func (d serverDoc) running(now time.Time) bool {
	return d.Ended.IsZero() && now.Sub(d.Seen) < serverGone
}

// lacks reports whether the server lacks a flag to deliver to a kind of integrations. No kind needs the flag "".
func (d serverDoc) lacks(kind channels.Kind, flag string) bool {
	if flag == flagPrivate {
		return !d.Private
	}
	return flag != "" && !slices.Contains(d.Kinds, kind)
}

// servers are the servers of a database that run or, if none does, the one that ran last.
type servers struct {
	list []serverDoc // the one that started last comes first
	gone bool        // none runs
}

// readServers reads which servers run on the database.
func readServers(ctx context.Context, mon *monitor.Monitor) (servers, error) {
	found, err := mon.Installation().Documents(ctx, serverKind)
	if err != nil {
		return servers{}, err
	}
	var running, gone []serverDoc
	for _, document := range found {
		var d serverDoc
		if json.Unmarshal(document.Value, &d) != nil {
			continue // of another version
		}
		if d.running(mon.Now()) {
			running = append(running, d)
			continue
		}
		d.Ended = cmp.Or(d.Ended, d.Seen) // it crashed
		gone = append(gone, d)
	}
	newest := func(a, b serverDoc) int { return b.Started.Compare(a.Started) }
	slices.SortFunc(running, newest)
	slices.SortFunc(gone, newest)
	if len(running) == 0 && len(gone) > 0 {
		return servers{list: gone[:1], gone: true}, nil
	}
	return servers{list: running}, nil
}

// audit reports whether changes belong into the audit log: unless all servers run without one.
func (s servers) audit() bool {
	return len(s.list) == 0 || slices.ContainsFunc(s.list, func(d serverDoc) bool { return d.Audit })
}

// spoolWait returns the longest --spool-wait of the servers, or 0 for the default.
func (s servers) spoolWait() (longest time.Duration) {
	for _, d := range s.list {
		longest = max(longest, d.Spools)
	}
	return longest
}

// have reports whether one of the servers can deliver to a kind of integrations, which needs a flag for it.
func (s servers) have(kind channels.Kind, flag string) bool {
	return slices.ContainsFunc(s.list, func(d serverDoc) bool { return !d.lacks(kind, flag) })
}

// lacking returns the servers that cannot deliver what needs a flag, and do not leave it to another one either.
func (s servers) lacking(kind channels.Kind, flag string) []serverDoc {
	return slices.DeleteFunc(slices.Clone(s.list), func(d serverDoc) bool {
		return !d.lacks(kind, flag) || d.Others && s.have(kind, flag)
	})
}

// types returns the kinds of integrations as the servers have them. Nothing can be sent by these.
func (s servers) types() []channels.Type {
	types, err := standard.New(nil)
	if err != nil {
		panic(err) // no configuration cannot be wrong
	}
	for i, t := range types {
		kind, flag := t.Kind, needs[t.Kind]
		if t.Notifier != nil || flag == "" || s.have(kind, flag) {
			types[i].Notifier = channels.NotifierFunc(func(context.Context, channels.Channel, channels.Notification) error {
				return errors.New("only servers send alerts")
			})
		}
		if t.Ready != nil {
			types[i].Ready = func(ctx context.Context, settings map[string]string) error {
				flag, err := lacks(ctx, t, settings)
				if err != nil && s.have(kind, flag) {
					return nil
				}
				return err
			}
		}
	}
	return namingFlags(types)
}

// say writes a line to standard error.
func (a *app) say(format string, args ...any) {
	fmt.Fprintf(a.stderr, "rollcall: %s\n", oneLine(fmt.Sprintf(format, args...)))
}

// baseURL returns the base URL that links of a command begin with, and says where it is from.
func (a *app) baseURL() address {
	const local address = "http://localhost:8000"
	if len(a.servers.list) == 0 {
		a.say("no server has run on this database yet, so the link begins with %s; --base-url sets another URL", local)
		return local
	}
	server := a.servers.list[0]
	others := slices.ContainsFunc(a.servers.list, func(d serverDoc) bool { return d.BaseURL != server.BaseURL })
	switch {
	case a.servers.gone:
		a.say("no server runs on this database now, so the link begins with the base URL of the last one, %s; --base-url sets another", server)
	case others:
		var list []string
		for _, d := range a.servers.list {
			list = append(list, fmt.Sprintf("%s has %s", d, d.BaseURL))
		}
		a.say("the servers on this database have different base URLs: %s; the link begins with the first, --base-url sets another", strings.Join(list, ", "))
	default:
		a.say("the link begins with the base URL of %s; --base-url sets another", server)
	}
	return server.BaseURL
}

// testRequest asks a server to send a test alert.
type testRequest struct {
	Server  string    `json:"server"`
	Project uuid.UUID `json:"project"`
	Channel uuid.UUID `json:"channel"`
}

// testAnswer says how that went: "" is a success.
type testAnswer struct {
	Error string `json:"error"`
}

// errNoAnswer is the error of a server that does not take a request.
var errNoAnswer = errors.New("the server does not answer")

// ask has the server send a test alert to an integration. It fails with errNoAnswer if nothing has been sent.
func (d serverDoc) ask(ctx context.Context, mon *monitor.Monitor, channel channels.Channel) (testAnswer, error) {
	var answer testAnswer
	key := uuid.NewString()
	documents := mon.Installation()
	request := testRequest{d.ID, channel.ProjectID, channel.ID}
	if err := saveDocument(ctx, mon, requestKind, key, request, time.Hour); err != nil {
		return answer, err
	}
	taken := time.Now().Add(requestWait)
	for limit := taken.Add(answerWait); time.Now().Before(limit); {
		value, err := documents.TakeDocument(ctx, answerKind, key)
		if err == nil {
			return answer, json.Unmarshal(value, &answer)
		}
		if !errors.Is(err, checks.ErrNotFound) {
			return answer, err
		}
		if time.Now().After(taken) {
			if _, err := documents.TakeDocument(ctx, requestKind, key); err == nil {
				return answer, errNoAnswer
			}
			taken = limit // the server has taken it
		}
		select {
		case <-ctx.Done():
			return answer, ctx.Err()
		case <-time.After(requestEvery / 5):
		}
	}
	return answer, fmt.Errorf("%s has not said within %v how the test went", d, answerWait)
}

// saveDocument stores a document that ends by itself.
func saveDocument(ctx context.Context, mon *monitor.Monitor, kind, key string, document any, ends time.Duration) error {
	value, err := json.Marshal(document)
	if err != nil {
		return err
	}
	return mon.Installation().SaveDocument(ctx, monitor.Document{Kind: kind, Key: key, Value: value, Until: mon.Now().Add(ends)})
}

// register leaves the document of this server in the database. Those of servers that have ended make way for it.
func (s *service) register(ctx context.Context) error {
	now := s.mon.Now()
	host, _ := os.Hostname()
	s.document = serverDoc{
		ID: uuid.NewString(), Host: host, Address: s.webListener.Addr().String(), Started: now, Seen: now, BaseURL: s.BaseURL,
		Others: s.DeliveredElsewhere, Audit: s.AuditRetention > 0, Spools: s.SpoolWait, Private: s.Notifiers.AllowPrivateNetworks,
	}
	for _, t := range s.mon.Views().Kinds() {
		if needs[t.Kind] == "" {
			continue
		}
		if _, err := lacks(ctx, t, nil); err == nil {
			s.document.Kinds = append(s.document.Kinds, t.Kind)
		}
	}
	found, err := s.mon.Installation().Documents(ctx, serverKind)
	if err != nil {
		return err
	}
	for _, document := range found {
		var d serverDoc
		if json.Unmarshal(document.Value, &d) == nil && d.running(now) {
			continue
		}
		if _, err := s.mon.Installation().TakeDocument(ctx, serverKind, document.Key); err != nil && !errors.Is(err, checks.ErrNotFound) {
			return err
		}
	}
	return saveDocument(ctx, s.mon, serverKind, s.document.ID, s.document, serverKept)
}

// serveCommands renews the document of this server and does what commands ask for, until ctx ends. While the database is
// unavailable, commands cannot ask.
func (s *service) serveCommands(ctx context.Context) {
	var tests sync.WaitGroup
	defer tests.Wait()
	for tick := time.NewTicker(requestEvery); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			s.document.Ended = s.mon.Now()
			_ = s.leave(ctx, serverKind, s.document.ID, s.document, serverKept)
			return
		case <-tick.C:
		}
		if now := s.mon.Now(); now.Sub(s.document.Seen) >= serverSeen {
			seen := s.document
			seen.Seen = now
			if saveDocument(ctx, s.mon, serverKind, seen.ID, seen, serverKept) == nil {
				s.document = seen
			}
		}
		s.takeRequests(ctx, &tests)
	}
}

// leave stores a document, also while the server stops.
func (s *service) leave(ctx context.Context, kind, key string, document any, ends time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestEvery)
	defer cancel()
	return saveDocument(ctx, s.mon, kind, key, document, ends)
}

// takeRequests sends the test alerts that commands ask this server for.
func (s *service) takeRequests(ctx context.Context, tests *sync.WaitGroup) {
	found, _ := s.mon.Installation().Documents(ctx, requestKind)
	for _, document := range found {
		var r testRequest
		if json.Unmarshal(document.Value, &r) != nil || r.Server != s.document.ID {
			continue
		}
		if _, err := s.mon.Installation().TakeDocument(ctx, requestKind, document.Key); err != nil {
			continue // the command has withdrawn it
		}
		tests.Go(func() {
			var answer testAnswer
			if err := s.mon.Project(r.Project).TestChannel(ctx, r.Channel); err != nil {
				answer.Error = err.Error()
			}
			if err := s.leave(ctx, answerKind, document.Key, answer, time.Hour); err != nil {
				component(s.log, "serve").Warn("a command does not learn how its test alert went", "error", err)
			}
		})
	}
}
