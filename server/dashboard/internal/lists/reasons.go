package lists

import (
	"bytes"
	"cmp"
	"context"
	"net/mail"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels/message"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/verdict/cause"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/pings/email"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
)

// reasons remembers why checks are down, so that an open list reads the output of each failure once.
type reasons struct {
	mu    sync.Mutex
	known map[failureKey]string
}

// failureKey names a failure: the number of pings of a check changes with each.
type failureKey struct {
	check uuid.UUID
	pings int64
}

const (
	// maxReasons bounds what is remembered.
	maxReasons = 10_000
	// newReasons is how many outputs a page reads, and reasonTime how long that may take. The others follow with the next.
	newReasons = 50
	reasonTime = time.Second
	// searchedPings is how many pings of a check are searched for its last failure.
	searchedPings = 20
	// maxWhy bounds a reason in characters.
	maxWhy = 120
)

// explain says in the rows of checks that are down why they are.
func (r *reasons) explain(q *ui.Request, rows []ui.Row, list []checks.Check) error {
	byID := make(map[uuid.UUID]checks.Check, len(list))
	for _, c := range list {
		byID[c.ID] = c
	}
	var unknown []*ui.Row
	for i := range rows {
		row := &rows[i]
		if row.Status != checks.StatusDown {
			continue
		}
		if row.Why = plainReason(byID[row.ID], *row); row.Why != "failed" {
			continue
		}
		if why, ok := r.get(failureKey{row.ID, byID[row.ID].NPings}); ok {
			row.Why = why
		} else if len(unknown) < newReasons {
			unknown = append(unknown, row)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	ids, since := make([]uuid.UUID, len(unknown)), q.Mon.Now()
	for i, row := range unknown {
		ids[i] = row.ID
		if row.Last.Before(since) {
			since = row.Last
		}
	}
	logs, err := q.Mon.Views().RecentPings(q.Ctx(), q.Project.ID, ids, since, searchedPings)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(q.Ctx(), reasonTime)
	defer cancel()
	for _, row := range unknown {
		if why, ok := failure(ctx, q, row.ID, logs[row.ID]); ok {
			row.Why = why
			r.put(failureKey{row.ID, byID[row.ID].NPings}, why)
		}
	}
	return nil
}

// plainReason says why a check is down without its output: "failed" if the job said so.
func plainReason(c checks.Check, row ui.Row) string {
	if c.Stored == checks.StatusDown && len(row.Runs) > 0 {
		if row.Runs[len(row.Runs)-1].Result == checks.RunFailure {
			return "failed"
		}
	}
	if !c.LastStart.IsZero() {
		return "the run did not end in time"
	}
	return "the ping did not arrive"
}

// failure says what the last failure in a log was. ok is false if its output could not be read.
func failure(ctx context.Context, q *ui.Request, id uuid.UUID, log []pings.Ping) (why string, ok bool) {
	i := slices.IndexFunc(log, func(p pings.Ping) bool { return p.Kind == pings.Failure })
	if i < 0 {
		return "failed", true
	}
	why = "failed"
	if log[i].ExitStatus != nil {
		why = "exit " + strconv.Itoa(*log[i].ExitStatus)
	}
	if log[i].BodySize == 0 {
		return why, true
	}
	body, err := q.Mon.Project(q.Project.ID).PingBody(ctx, id, log[i].N)
	if err != nil {
		return why, false
	}
	if m, err := mail.ReadMessage(bytes.NewReader(body)); err == nil && m.Header.Get("From") != "" { // the log does not say
		parsed := email.Parse(body)
		body = []byte(cmp.Or(parsed.Text, parsed.HTML))
	}
	switch line := message.Cut(cause.Line(body), maxWhy); {
	case line != "" && log[i].ExitStatus != nil:
		why += ": " + line
	case line != "":
		why = line
	}
	return why, true
}

func (r *reasons) get(key failureKey) (string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	why, ok := r.known[key]
	return why, ok
}

func (r *reasons) put(key failureKey, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil || len(r.known) >= maxReasons {
		r.known = map[failureKey]string{}
	}
	r.known[key] = why
}
