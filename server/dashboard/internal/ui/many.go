package ui

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// manyTime bounds an action on many checks, from the beginning of the request, so that there is time to say how far it came.
const manyTime = 40 * time.Second

// Outcome is what an action on many checks has done.
type Outcome struct {
	// Done counts the checks that have changed, and Same those that stayed as they were: they were like that already, somebody has
	// changed them since, or they are gone.
	Done, Same int
	// Taken counts those of Same whose outage somebody else has, by who has it, and Up those that are not down or are gone, of an
	// acknowledgement.
	Taken map[string]int
	Up    int
	// Left counts those that it did not reach, because of Err.
	Left int
	Err  error
	// Undo undoes it.
	Undo Undo
}

// skipped reports whether an error is about one check alone, which an action on many leaves as it is.
func skipped(err error) bool {
	return errors.Is(err, errSame) || errors.Is(err, checks.ErrNotPaused) || errors.Is(err, checks.ErrChanged) || monitor.NotAcknowledged(err)
}

// ChangeMany makes changes of as many checks of the project. If it cannot make all, Outcome.Err says why; the error is the same if it
// has made none.
func (q *Request) ChangeMany(list []monitor.Change) (o Outcome, err error) {
	return q.changeMany(list, skipped)
}

func (q *Request) changeMany(list []monitor.Change, skip func(error) bool) (o Outcome, err error) {
	ctx, cancel := context.WithDeadline(q.Ctx(), q.begin.Add(manyTime))
	defer cancel()
	o.Err = q.Mon.Project(q.Project.ID).ChangeMany(ctx, list, skip, func(_ int, c monitor.Changed) {
		if c.Err == nil && o.Undo.add(c) {
			o.Done++
			return
		}
		o.Same++
		switch {
		case errors.Is(c.Err, checks.ErrNotDown), errors.Is(c.Err, checks.ErrNotFound):
			o.Up++
		case errors.Is(c.Err, checks.ErrAcknowledged):
			if o.Taken == nil {
				o.Taken = make(map[string]int)
			}
			o.Taken[words.Name(c.After.Ack.By, words.Somebody)]++
		}
	})
	o.Left = len(list) - o.Done - o.Same
	if o.Err != nil && o.Done > 0 {
		q.Log.WarnContext(q.Ctx(), "an action on many checks stopped before its end", "route", q.route, "changed", o.Done, "left", o.Left, "error", o.Err)
		return o, nil
	}
	return o, o.Err
}

// Rest says how many checks an action did not reach and why, in sentences that begin with a blank, or "".
func (o Outcome) Rest() string {
	if o.Left == 0 {
		return ""
	}
	why, again := "The server could not go on; see its log.", ": repeat the action for the rest"
	field, isField := errors.AsType[*checks.FieldError](o.Err)
	selected, isSelected := errors.AsType[*channels.SelectError](o.Err)
	switch {
	case errors.Is(o.Err, checks.ErrUnavailable):
		why = "The database stopped responding."
	case errors.Is(o.Err, context.DeadlineExceeded):
		why = fmt.Sprintf("It stopped after %d seconds.", int(manyTime/time.Second))
	case isField:
		why, again = "It stopped at a check that was refused: "+field.Error()+".", ""
	case isSelected:
		why, again = "It stopped at a check that was refused: "+selected.Error()+".", ""
	}
	are := "are"
	if o.Left == 1 {
		are = "is"
	}
	return fmt.Sprintf(" %s %s %s left as before%s.", why, prose.Count(o.Left, "check"), are, again)
}

// Updating changes the settings of a check to those that fn returns for it. Integrations must be as [Selection] writes them.
func Updating(id uuid.UUID, fn func(checks.Check) checks.Spec) monitor.Change {
	return monitor.Updating(id, func(c checks.Check) (checks.Spec, error) {
		spec, some := less(fn(c), specOf(c))
		if !some {
			return spec, errSame
		}
		return spec, nil
	})
}

// add adds a change of a check. It reports whether the check has changed.
func (u *Undo) add(c monitor.Changed) bool {
	if c.After.ID == uuid.Nil { // deleted, for good
		return true
	}
	switch was, is := c.Before.Ack, c.After.Ack; {
	case is != was && !is.At.IsZero(): // the check may have gone down by the same change
		u.Acknowledged(c.After)
		return true
	case c.Before.Stored != c.After.Stored:
		return u.State(c.Before, c.After)
	case is != was: // given back
		return true
	}
	was, is := specOf(c.Before), specOf(c.After)
	before, _ := less(was, is)
	after, changed := less(is, was)
	if changed {
		u.changes = append(u.changes, undoGroup{Before: &before, After: &after, IDs: []uuid.UUID{c.After.ID}})
	}
	return changed
}
