package installation

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/records"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// Kinds of the records by which servers and commands know each other.
const (
	ServerKind  = "document server"  // what a server runs with
	RequestKind = "document request" // a test alert that a command wants a server to send
	AnswerKind  = "document answer"  // how that went
)

const (
	// serverSeen is how often a server renews its document.
	ServerSeen = time.Minute
	// serverGone is the age from which on the document is that of a server that has ended without saying so.
	serverGone = 3 * ServerSeen
	// serverKept is how long the document of a server that has ended is kept.
	ServerKept = 90 * 24 * time.Hour
	// requestEvery is how often a server looks for requests, and a command for their answers.
	RequestEvery = time.Second
	// requestWait is how long a command waits for a server to take its request.
	requestWait = 8 * time.Second
	// answerWait is how long it waits for the answer then: longer than any attempt to send takes.
	answerWait = 2 * time.Minute
)

// The flags of serve without which alerts of some kinds cannot be sent.
const (
	FlagMail    = "--mail-host"
	flagTwilio  = "--twilio-account-sid"
	flagShell   = "--enable-shell"
	flagPrivate = "--allow-private-networks"
)

// Server says what a server runs with, for commands on its database. It holds no secret.
type Server struct {
	ID          string          `json:"id"`
	Host        string          `json:"host"`    // name of its machine
	Address     string          `json:"address"` // on which it listens
	Started     time.Time       `json:"started"`
	Seen        time.Time       `json:"seen"`
	Ended       time.Time       `json:"ended"` // zero while it runs, and after a crash
	BaseURL     console.Address `json:"base_url"`
	PingBaseURL console.Address `json:"ping_base_url"` // "" of an older version
	Kinds       []channels.Kind `json:"kinds"`         // those of needs that it has the flags for
	Private     bool            `json:"allow_private_networks"`
	Others      bool            `json:"delivered_elsewhere"`
	Audit       bool            `json:"audit"`
	Spools      time.Duration   `json:"spool_wait"`
}

// String names the server in a sentence.
func (d Server) String() string {
	name := fmt.Sprintf("the server on %s at %s", cmp.Or(d.Host, "an unnamed machine"), d.Address)
	if !d.Ended.IsZero() {
		name += " (ended " + console.Timestamp(d.Ended) + ")"
	}
	return name
}

// Running reports whether the server seems to run.
func (d Server) Running(now time.Time) bool {
	return d.Ended.IsZero() && now.Sub(d.Seen) < serverGone
}

// Lacks reports whether the server lacks a flag to deliver to a kind of integrations. No kind needs the flag "".
func (d Server) Lacks(kind channels.Kind, flag string) bool {
	if flag == flagPrivate {
		return !d.Private
	}
	return flag != "" && !slices.Contains(d.Kinds, kind)
}

// Servers are the servers of a database that run or, if none does, the one that ran last.
type Servers struct {
	List []Server // the one that started last comes first
	Gone bool     // none runs
}

// ReadServers reads which servers run on the database.
func ReadServers(ctx context.Context, mon *monitor.Monitor) (Servers, error) {
	found, err := Documents(ctx, mon, ServerKind)
	if err != nil {
		return Servers{}, err
	}
	var running, gone []Server
	for _, document := range found {
		var d Server
		if json.Unmarshal(document.Value, &d) != nil {
			continue // of another version
		}
		if d.Running(mon.Now()) {
			running = append(running, d)
			continue
		}
		d.Ended = cmp.Or(d.Ended, d.Seen) // it crashed
		gone = append(gone, d)
	}
	newest := func(a, b Server) int { return b.Started.Compare(a.Started) }
	slices.SortFunc(running, newest)
	slices.SortFunc(gone, newest)
	if len(running) == 0 && len(gone) > 0 {
		return Servers{List: gone[:1], Gone: true}, nil
	}
	return Servers{List: running}, nil
}

// Audit reports whether changes belong into the audit log: unless all servers run without one.
func (s Servers) Audit() bool {
	return len(s.List) == 0 || slices.ContainsFunc(s.List, func(d Server) bool { return d.Audit })
}

// SpoolWait returns the longest --spool-wait of the servers, or 0 for the default.
func (s Servers) SpoolWait() (longest time.Duration) {
	for _, d := range s.List {
		longest = max(longest, d.Spools)
	}
	return longest
}

// Have reports whether one of the servers can deliver to a kind of integrations, which needs a flag for it.
func (s Servers) Have(kind channels.Kind, flag string) bool {
	return slices.ContainsFunc(s.List, func(d Server) bool { return !d.Lacks(kind, flag) })
}

// Lacking returns the servers that cannot deliver what needs a flag, and do not leave it to another one either.
func (s Servers) Lacking(kind channels.Kind, flag string) []Server {
	return slices.DeleteFunc(slices.Clone(s.List), func(d Server) bool {
		return !d.Lacks(kind, flag) || d.Others && s.Have(kind, flag)
	})
}

// Types returns the kinds of integrations as the servers have them. Nothing can be sent by these.
func (s Servers) Types() []channels.Type {
	types, err := standard.New(nil)
	if err != nil {
		panic(err) // no configuration cannot be wrong
	}
	for i, t := range types {
		kind, flag := t.Kind, Needs[t.Kind]
		if t.Notifier != nil || flag == "" || s.Have(kind, flag) {
			types[i].Notifier = channels.NotifierFunc(func(context.Context, channels.Channel, channels.Notification) error {
				return errors.New("only servers send alerts")
			})
		}
		if t.Ready != nil {
			types[i].Ready = func(ctx context.Context, settings map[string]string) error {
				flag, err := Lacks(ctx, t, settings)
				if err != nil && s.Have(kind, flag) {
					return nil
				}
				return err
			}
		}
	}
	return namingFlags(types)
}

// TestRequest asks a server to send a test alert.
type TestRequest struct {
	Server  string    `json:"server"`
	Project uuid.UUID `json:"project"`
	Channel uuid.UUID `json:"channel"`
}

// TestAnswer says how that went: "" is a success.
type TestAnswer struct {
	Error string `json:"error"`
}

// ErrNoAnswer is the error of a server that does not take a request.
var ErrNoAnswer = errors.New("the server does not answer")

// Ask has the server send a test alert to an integration. It fails with errNoAnswer if nothing has been sent.
func (d Server) Ask(ctx context.Context, mon *monitor.Monitor, channel channels.Channel) (TestAnswer, error) {
	var answer TestAnswer
	key := uuid.NewString()
	request := TestRequest{d.ID, channel.ProjectID, channel.ID}
	if err := SaveDocument(ctx, mon, RequestKind, key, request, time.Hour); err != nil {
		return answer, err
	}
	taken := time.Now().Add(requestWait)
	for limit := taken.Add(answerWait); time.Now().Before(limit); {
		value, err := TakeDocument(ctx, mon, AnswerKind, key)
		if err == nil {
			return answer, json.Unmarshal(value, &answer)
		}
		if !errors.Is(err, checks.ErrNotFound) {
			return answer, err
		}
		if time.Now().After(taken) {
			if _, err := TakeDocument(ctx, mon, RequestKind, key); err == nil {
				return answer, ErrNoAnswer
			}
			taken = limit // the server has taken it
		}
		select {
		case <-ctx.Done():
			return answer, ctx.Err()
		case <-time.After(RequestEvery / 5):
		}
	}
	return answer, fmt.Errorf("%s has not said within %v how the test went", d, answerWait)
}

// Documents returns the records of a kind, by key.
func Documents(ctx context.Context, mon *monitor.Monitor, kind string) ([]records.Record, error) {
	return mon.Installation().Records().Records(ctx, mon.Now(), records.Query{Kind: &kind})
}

// SaveDocument stores a document as a record that ends by itself. It must hold no secret: the database keeps it as it is.
func SaveDocument(ctx context.Context, mon *monitor.Monitor, kind, key string, document any, ends time.Duration) error {
	value, err := json.Marshal(document)
	if err != nil {
		return err
	}
	now := mon.Now()
	return mon.Installation().Records().Update(ctx, func(ctx context.Context, tx records.Tx) error {
		return tx.SaveRecords(ctx, now, records.Record{Kind: kind, Key: key, Value: value, Until: now.Add(ends)})
	})
}

// TakeDocument removes a document and returns its value. Of concurrent calls, one gets it. Error: [checks.ErrNotFound].
func TakeDocument(ctx context.Context, mon *monitor.Monitor, kind, key string) (value []byte, err error) {
	now := mon.Now()
	err = mon.Installation().Records().Update(ctx, func(ctx context.Context, tx records.Tx) error {
		found, err := tx.LockRecords(ctx, now, records.Query{Kind: &kind, Key: &key})
		if err == nil && len(found) == 0 {
			err = checks.ErrNotFound
		}
		if err != nil {
			return err
		}
		value = found[0].Value
		return tx.SaveRecords(ctx, now, records.Record{Kind: kind, Key: key})
	})
	if err != nil {
		return nil, err
	}
	return value, nil
}
