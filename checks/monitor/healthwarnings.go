package monitor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/checks/verdict"
)

const (
	// warnEvery is how often Start looks for what it has not warned of yet.
	warnEvery = 5 * time.Second
	// countedMost bounds the checks that a warning counts, and namedMost those that it names and that one look logs.
	countedMost, namedMost = 1000, 20
	// countEvery is how long a count stays good while this monitor changes nothing. After a slow one, warn rests for countShare
	// times as long as that took.
	countEvery = time.Minute
	slowCount  = 250 * time.Millisecond
	countShare = 100
)

// Warnings returns what works and still needs someone's attention, such as what would lose an alert, as far as /readyz may show it.
// [Monitor.Health] also has the part "durability": the database acknowledges commits that a crash of its machine can lose, because
// of a setting. Each is a [Condition] with Warning set and one of these parts:
//
//   - "checks": some alert nobody when they are down, and are neither paused nor record only: they have no channel that gets such
//     alerts, their project no escalation policy, and there is no OnAlert. Or they are new for longer than their period and grace,
//     so that nothing is watched. Err names the first of them.
//   - "keys": some API keys expire within [checks.KeyNotice], or have expired that long ago at most. Err names them.
//   - "zoneinfo": the time zone data are older than a year; see [schedule.ZoneData.Outdated].
//
// The monitor also logs them, each check once. What the database cannot tell is left out, because [Monitor.Health] reports that.
func (m *Monitor) Warnings(ctx context.Context) []Condition {
	return warnings(ctx, m.unheard, m.expiring, m.zoneinfo)
}

// warnings returns what some looks find.
func warnings(ctx context.Context, looks ...func(context.Context) Condition) (list []Condition) {
	for _, look := range looks {
		if c := look(ctx); !c.OK() {
			c.Warning = true
			list = append(list, c)
		}
	}
	return list
}

// durability warns of settings that the documentation of package sqlstore requires.
func (m *Monitor) durability(ctx context.Context) Condition {
	c := Condition{Part: partDurability}
	if setting, err := m.store.Durability(ctx); err == nil && setting != "" {
		c.Problem = fmt.Sprintf("the database runs with %s, so a crash of its machine can lose acknowledged pings", setting)
	}
	return c
}

// zoneinfo warns of old time zone data, by which schedules may be an hour off.
func (m *Monitor) zoneinfo(context.Context) Condition {
	c := Condition{Part: partZoneinfo}
	if data := schedule.Zoneinfo(); data.Outdated(m.now()) {
		c.Problem = fmt.Sprintf("the time zone data, %s, are older than a year: upgrade this program, or the system's package of them", data.Version)
	}
	return c
}

// expiring warns of API keys that end soon, or have just ended.
func (m *Monitor) expiring(ctx context.Context) Condition {
	c := Condition{Part: partKeys}
	now := m.now()
	list, err := m.store.Keys(ctx, store.KeyFilter{ExpiredAt: new(now.Add(checks.KeyNotice))})
	if err != nil {
		return c
	}
	own, err := m.Installation().Keys(ctx)
	if err != nil {
		return c
	}
	soon, gone := 0, 0
	var names []string
	for _, k := range append(list, own...) {
		if !k.ExpiresSoon(now) && !k.Expired(now) || k.Expired(now.Add(-checks.KeyNotice)) {
			continue
		}
		if k.Expired(now) {
			gone++
		} else {
			soon++
		}
		if len(names) < namedMost {
			names = append(names, fmt.Sprintf("%s… (%s, %s)", k.Hint, k.ID, k.ExpiresAt.Format(time.RFC3339)))
		}
	}
	var problems []string
	if soon > 0 {
		problems = append(problems, fmt.Sprintf("%s will expire within %s", prose.Count(soon, "API key"), prose.Duration(checks.KeyNotice)))
	}
	if gone > 0 {
		problems = append(problems, prose.Count(gone, "API key")+" expired in the last "+prose.Duration(checks.KeyNotice))
	}
	if c.Problem = strings.Join(problems, "; "); c.Problem != "" {
		c.Err = errors.New(strings.Join(names, ", "))
	}
	return c
}

// unheard warns of checks that nobody would hear of.
func (m *Monitor) unheard(ctx context.Context) Condition {
	c := Condition{Part: partChecks}
	nobody, waiting, err := m.lookUnheard(ctx)
	if err != nil {
		return c
	}
	var problems, names []string
	for _, of := range []struct {
		list []checks.Check
		what string
	}{{nobody, alertsNobody}, {waiting, tooNew}} {
		if n := len(of.list); n > 0 {
			more := ""
			if n == countedMost {
				more = "at least "
			}
			problems = append(problems, more+prose.Count(n, "check")+": "+of.what)
		}
		for _, check := range of.list[:min(len(of.list), namedMost)] {
			names = append(names, fmt.Sprintf("%q (%s)", check.DisplayName(), check.ID))
		}
	}
	if c.Problem = strings.Join(problems, "; "); c.Problem != "" {
		c.Err = fmt.Errorf("%s", strings.Join(names, ", "))
	}
	return c
}

// The warnings about a check.
const (
	alertsNobody = "no channel gets the alerts, so nobody is notified"
	tooNew       = "no ping has started the watch, for longer than the period and the grace time"
)

// counted is the last count of checks that nobody would hear of.
type counted struct {
	mu              sync.Mutex
	edits           int64 // of the feed
	at              time.Time
	nobody, waiting []checks.Check
}

// lookUnheard returns the checks that alert nobody, and those that are new for too long, up to countedMost each. It counts them
// again after a change of this monitor, and for those of others once a minute: a count looks at every check.
func (s *service) lookUnheard(ctx context.Context) (nobody, waiting []checks.Check, err error) {
	u := &s.counted
	u.mu.Lock()
	defer u.mu.Unlock()
	edits, now := s.feed.Edits(), s.now()
	if age := now.Sub(u.at); edits == u.edits && age >= 0 && age < countEvery {
		return u.nobody, u.waiting, nil
	}
	if nobody, err = s.readUnalerted(ctx, now); err != nil {
		return nil, nil, err
	}
	fresh, err := s.store.NewChecks(ctx, now.Add(-2*checks.MinPeriod), countedMost)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range fresh {
		if c.NewTooLong(now) {
			waiting = append(waiting, c)
		}
	}
	u.edits, u.at, u.nobody, u.waiting = edits, now, nobody, waiting
	return nobody, waiting, nil
}

// readUnalerted reads the checks that alert nobody. A channel that fails counts as one that gets alerts.
func (s *service) readUnalerted(ctx context.Context, now time.Time) ([]checks.Check, error) {
	if s.config.OnAlert != nil {
		return nil, nil
	}
	list, err := s.store.Channels(ctx, store.ChannelFilter{})
	if err != nil {
		return nil, err
	}
	outcomes := make(map[uuid.UUID]verdict.Outcome, len(list))
	for _, c := range list {
		outcomes[c.ID] = verdict.Outcome{Undeliverable: s.undeliverable(c.Kind)}
	}
	var deaf []uuid.UUID
	for id, reach := range verdict.Reaches(list, outcomes, nil) {
		if !reach.Reached() && len(deaf) < countedMost {
			deaf = append(deaf, id)
		}
	}
	return s.store.Unalerted(ctx, now, deaf, countedMost)
}

// WindowWarnings returns what is likely not meant in a maintenance window or a snooze of the project: each tag that no check has. It is
// one query. Error: [checks.ErrNotFound].
func (p *Project) WindowWarnings(ctx context.Context, w gate.Window) (list []string, err error) {
	if len(w.Tags) == 0 {
		return nil, nil
	}
	sets, err := p.TagSets(ctx, nil)
	if err != nil {
		return nil, err
	}
	counts := checks.CountByTag(sets)
	for _, tag := range w.Tags {
		if counts[tag].Total() == 0 {
			list = append(list, fmt.Sprintf("no check has the tag %q", tag))
		}
	}
	return list, nil
}

// warner logs warnings: each check once, and a condition when it changes.
type warner struct {
	*Monitor
	mu   sync.Mutex
	rest time.Time         // until when a slow look is not repeated
	said map[string]string // problems, by the part
	// nobody and waiting are the checks that were logged and still have the problem.
	nobody, waiting map[uuid.UUID]bool
}

// warn logs what was not logged yet, and returns how much.
func (w *warner) warn(ctx context.Context) (logged int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.now().Before(w.rest) {
		return 0, nil
	}
	began := time.Now()
	defer func() {
		if took := time.Since(began); took > slowCount {
			w.rest = w.now().Add(countShare * took)
		}
	}()
	log := w.logger("health")
	said := make(map[string]string)
	for _, c := range append(w.Warnings(ctx), warnings(ctx, w.durability)...) {
		if said[c.Part] = fmt.Sprint(c.Problem, c.Err); c.Part == partChecks || w.said[c.Part] == said[c.Part] {
			continue
		}
		attributes := []any{"part", c.Part}
		if c.Err != nil {
			attributes = append(attributes, "which", c.Err)
		}
		log.WarnContext(ctx, c.Problem, attributes...)
		logged++
	}
	w.said = said
	nobody, waiting, err := w.lookUnheard(ctx)
	if err != nil {
		return logged, err
	}
	var silent, late int
	w.nobody, silent = logEach(ctx, log, alertsNobody, nobody, w.nobody)
	w.waiting, late = logEach(ctx, log, tooNew, waiting, w.waiting)
	return logged + silent + late, nil
}

// logEach logs a line for each check of a list that was not logged before, up to namedMost, and returns those that were logged.
func logEach(ctx context.Context, log *slog.Logger, warning string, list []checks.Check, before map[uuid.UUID]bool) (now map[uuid.UUID]bool, fresh int) {
	now = make(map[uuid.UUID]bool, len(list))
	for _, c := range list {
		if now[c.ID] = true; before[c.ID] {
			continue
		}
		if fresh++; fresh <= namedMost {
			log.WarnContext(ctx, warning, "check", c.ID, "name", c.DisplayName(), "project", c.ProjectID)
		}
	}
	if fresh > namedMost {
		log.WarnContext(ctx, warning, "more_checks", fresh-namedMost)
	}
	return now, fresh
}
