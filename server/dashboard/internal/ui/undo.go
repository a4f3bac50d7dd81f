package ui

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/server"
)

// Undo collects what an action changes, so that the notice about it can offer to undo exactly that.
type Undo struct {
	changes []undoGroup
	window  uuid.UUID // a snooze, or the zero value
}

// undoRecord is what the Undo button of a notice sends, sealed.
type undoRecord struct {
	Project uuid.UUID
	Until   time.Time
	Changes []undoGroup
	Window  uuid.UUID `json:",omitzero"`
}

// undoGroup is one change of some checks: of settings, of the state, which a pause or a resume has changed, or an acknowledgement.
type undoGroup struct {
	Before, After *checks.Spec  `json:",omitempty"` // the settings that differ
	State         *checks.State `json:",omitempty"`
	At            time.Time     `json:",omitzero"`  // of the pause or the resume
	Ack           *gate.Ack     `json:",omitempty"` // what the checks have since
	IDs           []uuid.UUID
}

// ChannelIDs returns the identifiers of the integrations of a check.
func ChannelIDs(c checks.Check) []string {
	ids := make([]string, len(c.Channels))
	for i, id := range c.Channels {
		ids[i] = id.String()
	}
	return ids
}

// Selection writes identifiers of integrations as the setting "channels", in one order. It reorders the list.
func Selection(ids []string) string {
	slices.Sort(ids)
	return strings.Join(slices.Compact(ids), ",")
}

// specOf returns the spec that gives a check its settings and integrations.
func specOf(c checks.Check) checks.Spec {
	spec := c.Settings.Spec()
	spec.Channels = new(Selection(ChannelIDs(c)))
	return spec
}

// less returns those settings of a spec that another spec does not have, or has with another value, and whether there are any.
func less(spec, other checks.Spec) (rest checks.Spec, some bool) {
	for _, s := range checks.AllSettings() {
		if value := s.Value(spec); value != nil && !equal(value, s.Value(other)) {
			s.Set(&rest, value)
			some = true
		}
	}
	return rest, some
}

// equal reports whether two values of a setting mean the same. The second is nil if there is none.
func equal(a, b any) bool {
	tags, ok := a.([]string)
	if !ok {
		return a == b
	}
	others, ok := b.([]string)
	return ok && slices.Equal(checks.Settings{Tags: tags}.TagList(), checks.Settings{Tags: others}.TagList())
}

// errSame reports that a change would change nothing.
var errSame = errors.New("nothing changes")

// State adds a pause or a resume. It reports whether the check has changed.
func (u *Undo) State(before, after checks.Check) bool {
	if before.Stored == after.Stored {
		return false
	}
	if before.NPings != after.NPings {
		return true // a ping came between, so that nobody knows the state in which it was paused
	}
	before, _ = before.Settle(after.StoredSince)
	s := before.State
	s.History, s.Ended, s.Runs = checks.History{}, nil, s.Runs.Open() // a pause leaves the rest alone
	u.changes = append(u.changes, undoGroup{State: &s, At: after.StoredSince, IDs: []uuid.UUID{after.ID}})
	return true
}

// Acknowledged adds an acknowledgement of an outage that nobody had. Undo gives the outage back, so a reminder says so.
func (u *Undo) Acknowledged(after checks.Check) {
	u.changes = append(u.changes, undoGroup{Ack: &after.Ack, IDs: []uuid.UUID{after.ID}})
}

// undoAge is how long an action can be undone.
const undoAge = time.Hour

// NoticeUndo shows a text on the next page of the viewer, once, with a button that undoes the changes.
func (q *Request) NoticeUndo(text string, u Undo) error {
	q.Notice(text)
	if len(u.changes) == 0 && u.window == uuid.Nil {
		return nil
	}
	token, err := u.seal(q)
	if err != nil {
		return err
	}
	if len(token) > maxUndoCookie {
		token = q.undos.keep(token, q.Mon.Now())
	}
	q.Keep(q.W, undoCookie, token, time.Minute)
	return nil
}

func (u Undo) seal(q *Request) (string, error) {
	record := undoRecord{Project: q.Project.ID, Until: q.Mon.Now().Add(undoAge), Changes: joined(u.changes), Window: u.window}
	text, err := json.Marshal(record)
	if err != nil {
		return "", err
	}
	var small bytes.Buffer
	z, _ := flate.NewWriter(&small, flate.BestCompression) // fails for an unknown level
	_, _ = z.Write(text)                                   // a buffer takes everything
	_ = z.Close()
	return q.Seals.Seal(q.Ctx(), "undo", small.Bytes())
}

// joined merges equal changes of several checks.
func joined(list []undoGroup) (groups []undoGroup) {
	at := map[string]int{}
	for _, g := range list {
		ids := g.IDs
		g.IDs = nil
		key, _ := json.Marshal(g) // plain values
		i, ok := at[string(key)]
		if !ok {
			i, groups = len(groups), append(groups, g)
			at[string(key)] = i
		}
		groups[i].IDs = append(groups[i].IDs, ids...)
	}
	return groups
}

const (
	undoCookie = "rollcall_undo"
	// maxUndoCookie bounds the cookie that carries what can be undone to the next page, below what browsers and proxies take.
	// The server keeps longer ones, of actions on many checks.
	maxUndoCookie = 3600
	// maxKept bounds what the server keeps, in bytes.
	maxKept = 16 << 20
)

// keptUndos are the records that are too long for a cookie, by random names. A restart loses them.
type keptUndos struct {
	mu    sync.Mutex
	texts []keptUndo // the oldest first
}

type keptUndo struct {
	name, text string
	until      time.Time
}

// keep keeps a text and returns its name.
func (k *keptUndos) keep(text string, now time.Time) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	one := keptUndo{uuid.NewString(), text, now.Add(undoAge)}
	k.texts = append(k.texts, one)
	size := 0
	for i, each := range slices.Backward(k.texts) {
		if size += len(each.text); size > maxKept || now.After(each.until) {
			k.texts = slices.Clone(k.texts[i+1:])
			break
		}
	}
	return one.name
}

// find returns the text with a name, or the name itself, which is a sealed text then.
func (k *keptUndos) find(name string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, each := range k.texts {
		if each.name == name {
			return each.text
		}
	}
	return name
}

// takeUndo returns what the Undo button of a notice sends, or "".
func (q *Request) takeUndo() string {
	kept := q.Kept(q.R, undoCookie)
	if kept != "" {
		q.Keep(q.W, undoCookie, "", -1)
	}
	return kept
}

// undo undoes what a notice was about, for the checks that have not changed since.
func undo(q *Request) error {
	record, err := openUndo(q)
	if errors.Is(err, errUndoGone) {
		q.Notice("This can no longer be undone.")
		return q.back()
	}
	if err != nil {
		return err
	}
	if record.Window != uuid.Nil {
		return endSnooze(q, record.Window)
	}
	var changes []monitor.Change
	var rest Undo
	for _, g := range record.Changes {
		for _, id := range g.IDs {
			one := g
			one.IDs = []uuid.UUID{id}
			changes, rest.changes = append(changes, g.undoing(id)), append(rest.changes, one)
		}
	}
	o, err := q.changeMany(changes, func(err error) bool {
		_, gone := errors.AsType[*channels.SelectError](err) // an integration
		return gone || skipped(err)
	})
	if err != nil {
		return err
	}
	text := "Undone for " + prose.Count(o.Done, "check") + "."
	switch {
	case o.Done == 0:
		text = "Nothing was undone: " + prose.Count(o.Same, "check") + " changed since."
	case o.Same > 0:
		stay := "stay"
		if o.Same == 1 {
			stay = "stays"
		}
		text += " " + prose.Count(o.Same, "check") + " changed since, and " + stay + " as now."
	}
	rest.changes = rest.changes[o.Done+o.Same:]
	if err := q.NoticeUndo(text+o.Rest(), rest); err != nil {
		return err
	}
	return q.back()
}

// endSnooze undoes a snooze, which may have ended.
func endSnooze(q *Request, id uuid.UUID) error {
	if _, err := q.Mon.Project(q.Project.ID).EndWindow(q.Ctx(), id); err != nil && !errors.Is(err, checks.ErrNotFound) {
		return err
	}
	q.Notice("Snooze ended.")
	return q.back()
}

var errUndoGone = errors.New("the record of the change is gone")

func openUndo(q *Request) (record undoRecord, err error) {
	body, err := q.Seals.Open(q.Ctx(), "undo", q.undos.find(q.R.PostForm.Get("undo")))
	if errors.Is(err, server.ErrSignedOut) {
		return record, errUndoGone
	}
	if err != nil {
		return record, err
	}
	text, err := io.ReadAll(flate.NewReader(bytes.NewReader(body)))
	if err == nil {
		err = json.Unmarshal(text, &record)
	}
	if err != nil || record.Project != q.Project.ID || q.Mon.Now().After(record.Until) {
		return record, errUndoGone
	}
	return record, nil
}

// undoing undoes the change of one check. The error is checks.ErrChanged if the check has changed since.
func (g undoGroup) undoing(id uuid.UUID) monitor.Change {
	if g.State != nil {
		return monitor.Restoring(id, *g.State, g.At)
	}
	if g.Ack != nil {
		return monitor.Unacknowledging(id, *g.Ack)
	}
	return monitor.Updating(id, func(c checks.Check) (checks.Spec, error) {
		if _, changed := less(*g.After, specOf(c)); changed {
			return checks.Spec{}, checks.ErrChanged
		}
		return *g.Before, nil
	})
}

// back leads to the page from which a form was sent, whose address is in its field back.
func (q *Request) back() error {
	to := LocalPath(q.R.PostForm.Get("back"))
	if to == "" {
		return q.Redirect("/projects/%s/", q.Project.ID)
	}
	q.Lead(to)
	return nil
}

// LocalPath returns a path on this host to which a form may lead, or "".
func LocalPath(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t") {
		return ""
	}
	return path
}
