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
	"github.com/rollcall-dev/rollcall/server"
)

// Undo collects what an action changes, so that the notice about it can offer to undo exactly that.
type Undo struct{ changes []undoGroup }

// undoRecord is what the Undo button of a notice sends, sealed.
type undoRecord struct {
	Project uuid.UUID
	Until   time.Time
	Changes []undoGroup
}

// undoGroup is one change of some checks: of settings, or of the state, which a pause or a resume has changed.
type undoGroup struct {
	Before, After *values       `json:",omitempty"`
	State         *checks.State `json:",omitempty"`
	At            time.Time     `json:",omitzero"` // of the pause or the resume
	IDs           []uuid.UUID
}

// values are the settings that can be undone. A nil one has not changed.
type values struct {
	Tags     *string        `json:",omitempty"`
	Timeout  *time.Duration `json:",omitempty"`
	Schedule *string        `json:",omitempty"`
	TZ       *string        `json:",omitempty"`
	Grace    *time.Duration `json:",omitempty"`
	Channels *string        `json:",omitempty"`
}

func valuesOf(c checks.Check) values {
	ids := make([]string, len(c.Channels))
	for i, id := range c.Channels {
		ids[i] = id.String()
	}
	slices.Sort(ids)
	return values{
		Tags: new(strings.Join(c.TagList(), " ")), Timeout: &c.Timeout, Schedule: &c.Schedule, TZ: &c.TZ, Grace: &c.Grace,
		Channels: new(strings.Join(ids, ",")),
	}
}

// less drops the values of two that are equal.
func less[T comparable](a, b **T) (differ bool) {
	if **a == **b {
		*a, *b = nil, nil
		return false
	}
	return true
}

// same reports whether a value has not changed since.
func same[T comparable](after, now *T) bool { return after == nil || *after == *now }

func (v values) same(c checks.Check) bool {
	now := valuesOf(c)
	return same(v.Tags, now.Tags) && same(v.Timeout, now.Timeout) && same(v.Schedule, now.Schedule) && same(v.TZ, now.TZ) &&
		same(v.Grace, now.Grace) && same(v.Channels, now.Channels)
}

func (v values) spec() checks.Spec {
	s := checks.Spec{Timeout: v.Timeout, Schedule: v.Schedule, TZ: v.TZ, Grace: v.Grace, Channels: v.Channels}
	if s.Schedule != nil && *s.Schedule == "" { // the timeout makes it a simple check
		s.Schedule = nil
	}
	if v.Tags != nil {
		s.Tags = append([]string{}, strings.Fields(*v.Tags)...)
	}
	return s
}

// Settings adds a change of settings. It reports whether there is one.
func (u *Undo) Settings(before, after checks.Check) bool {
	b, a := valuesOf(before), valuesOf(after)
	when := *b.Schedule != *a.Schedule
	timeout := [2]*time.Duration{b.Timeout, a.Timeout}
	changed := false
	for _, differ := range []bool{less(&b.Tags, &a.Tags), less(&b.Timeout, &a.Timeout), less(&b.Schedule, &a.Schedule), less(&b.TZ, &a.TZ),
		less(&b.Grace, &a.Grace), less(&b.Channels, &a.Channels)} {
		changed = changed || differ
	}
	if when {
		b.Timeout, a.Timeout = timeout[0], timeout[1]
	}
	if changed {
		u.changes = append(u.changes, undoGroup{Before: &b, After: &a, IDs: []uuid.UUID{after.ID}})
	}
	return changed
}

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

// undoAge is how long an action can be undone.
const undoAge = time.Hour

// NoticeUndo shows a text on the next page of the viewer, once, with a button that undoes the changes.
func (q *Request) NoticeUndo(text string, u Undo) error {
	q.Notice(text)
	if len(u.changes) == 0 {
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
	record := undoRecord{Project: q.Project.ID, Until: q.Mon.Now().Add(undoAge), Changes: joined(u.changes)}
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
	done, changed := 0, 0
	for _, g := range record.Changes {
		for _, id := range g.IDs {
			switch err := g.undo(q, id); {
			case errors.Is(err, checks.ErrChanged), errors.Is(err, checks.ErrNotFound):
				changed++
			case err != nil:
				return err
			default:
				done++
			}
		}
	}
	text := "Undone for " + prose.Count(done, "check") + "."
	switch {
	case done == 0:
		text = "Nothing was undone: " + prose.Count(changed, "check") + " changed since."
	case changed > 0:
		text += " " + prose.Count(changed, "check") + " changed since, and " + map[bool]string{true: "stays", false: "stay"}[changed == 1] + " as now."
	}
	q.Notice(text)
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

// undo undoes the change of one check. The error is checks.ErrChanged if the check has changed since.
func (g undoGroup) undo(q *Request, id uuid.UUID) error {
	project := q.Mon.Project(q.Project.ID)
	if g.State != nil {
		_, err := project.Restore(q.Ctx(), id, *g.State, g.At)
		return err
	}
	_, err := project.UpdateFunc(q.Ctx(), id, func(c checks.Check) (checks.Spec, error) {
		if !g.After.same(c) {
			return checks.Spec{}, checks.ErrChanged
		}
		return g.Before.spec(), nil
	})
	if _, ok := errors.AsType[*channels.SelectError](err); ok { // an integration is gone
		return checks.ErrChanged
	}
	return err
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
