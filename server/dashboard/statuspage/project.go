package statuspage

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/flips"
)

// relevant are the changes of checks that pages may show.
const relevant = checks.ChangedLog | checks.ChangedStatus | checks.ChangedSettings

const (
	// calmAge and busyAge are how long a page serves while no status changes: the downtime of a check that is down grows.
	calmAge = 10 * time.Minute
	busyAge = time.Minute
)

// project is what the cache knows of a project. The mutex of the cache guards all fields but work.
type project struct {
	work sync.Mutex // held while the database is read and a page is made

	version     int                               // counts changes that the pages made so far may show
	changed     int                               // counts changes of checks, also of those that no page shows
	loaded      int                               // the value of changed when checks were read
	loadedAt    time.Time                         // by the clock of the monitor
	checks      []checks.Check                    // all of the project
	maintenance []gate.Window                     // in the days of the bars, read with the checks
	known       time.Time                         // the instant from which histories are known
	histories   map[uuid.UUID][]checks.Transition // of the checks on pages, unless they have changed since
	older       map[uuid.UUID][]checks.DayStats   // of the same checks, their days before known
	rendered    map[uuid.UUID]*rendered           // by page
	failing     failing
}

// rendered is a page as readers get it.
type rendered struct {
	page       checks.StatusPage
	html, feed *document
	version    int // of the project
	made       time.Time
	until      time.Time // when the clock makes it old
}

// fresh reports whether the page is as it would be if it were made now.
func (r *rendered) fresh(p *project, page checks.StatusPage, now time.Time) bool {
	return r.version == p.version && !now.Before(r.made) && now.Before(r.until) &&
		r.page.Title == page.Title && r.page.Slug == page.Slug && r.page.Description == page.Description && slices.Equal(r.page.Tags, page.Tags) &&
		maps.Equal(r.page.Names, page.Names) && r.page.MinOutage == page.MinOutage
}

// changeAll marks everything as old.
func (p *project) changeAll() {
	p.version++
	p.changed++
	p.histories, p.older = make(map[uuid.UUID][]checks.Transition), make(map[uuid.UUID][]checks.DayStats)
}

// change marks what a change of a check makes old. Most pings of a check that is up make nothing old: they put its
// deadline off, and the page is rendered again at the former one.
func (p *project) change(id uuid.UUID, kinds checks.ChangeKind, now time.Time) {
	_, shown := p.histories[id]
	switch {
	case kinds&relevant == 0:
	case kinds&checks.ChangedSettings != 0, shown && kinds&checks.ChangedStatus != 0:
		p.version++
		p.changed++
		delete(p.histories, id)
		if kinds&checks.ChangedSettings != 0 {
			delete(p.older, id) // another check may have the identifier now
		}
	case !shown:
		p.changed++ // for a page that was not made yet
	case p.late(id, now):
		p.version++
		p.changed++
	}
}

// late reports whether a check is in its grace time, which any success ends.
func (p *project) late(id uuid.UUID, now time.Time) bool {
	i := slices.IndexFunc(p.checks, func(c checks.Check) bool { return c.ID == id })
	return i < 0 || p.checks[i].Status(now) == checks.StatusGrace
}

// expired reports whether the clock has changed the status of a check since the checks were read. A ping may have
// prevented that.
func (p *project) expired(list []checks.Check, now time.Time) bool {
	return slices.ContainsFunc(list, func(c checks.Check) bool {
		next := nextChange(c, p.loadedAt)
		return !next.IsZero() && !now.Before(next)
	})
}

// make reads what the page with a slug needs and is not known, and makes it.
func (c *cache) make(ctx context.Context, slug string) (*rendered, error) {
	c.mu.Lock()
	page, ok := c.pages[slug]
	if !ok {
		c.mu.Unlock()
		return nil, checks.ErrNotFound
	}
	p := c.projects[page.ProjectID]
	if p == nil {
		p = &project{rendered: make(map[uuid.UUID]*rendered)}
		p.changeAll()
		c.projects[page.ProjectID] = p
	}
	c.mu.Unlock()
	p.work.Lock()
	defer p.work.Unlock()
	begin := time.Now()
	r, err := c.makeOf(ctx, p, page)
	c.mu.Lock()
	defer c.mu.Unlock()
	p.failing.record(err, c.mon.Now())
	if err != nil {
		c.faults.Log(c.log, slog.LevelError, slug, "cannot make a status page", "slug", slug, "duration", time.Since(begin), "error", err)
		return nil, err
	}
	p.rendered[page.ID] = r
	return r, nil
}

// makeOf makes a page of a project. The caller holds the project's lock for work.
func (c *cache) makeOf(ctx context.Context, p *project, page checks.StatusPage) (*rendered, error) {
	now := c.mon.Now()
	f, err := c.load(ctx, p, page, now)
	if err != nil {
		return nil, err
	}
	v := newView(page, f, now)
	r := &rendered{page: page, version: f.version, made: now, until: v.until(now)}
	r.html, r.feed, err = c.render(page, v)
	return r, err
}

// facts are what a page is made of.
type facts struct {
	checks    []checks.Check // that the page shows
	histories map[uuid.UUID][]checks.Transition
	older     map[uuid.UUID][]checks.DayStats
	known     time.Time
	version   int

	maintenance []gate.Window // of the project, in the days of the bars
}

// load returns the facts for a page. It reads those that are not known.
func (c *cache) load(ctx context.Context, p *project, page checks.StatusPage, now time.Time) (f facts, err error) {
	f.known = knownFrom(now)
	c.mu.Lock()
	f.version = p.version
	changed := p.changed
	if !p.known.Equal(f.known) {
		p.known = f.known
		p.histories, p.older = make(map[uuid.UUID][]checks.Transition), make(map[uuid.UUID][]checks.DayStats)
	}
	all := p.checks
	f.maintenance = p.maintenance
	f.histories, f.older = maps.Clone(p.histories), maps.Clone(p.older)
	read := p.loaded != changed || p.expired(shownBy(page, all), now)
	c.mu.Unlock()

	if read {
		if all, err = checks.Stored(c.mon.Project(page.ProjectID).Checks(ctx, checks.Query{})); err != nil {
			return f, err
		}
		q := checks.WindowQuery{Kind: gate.Maintenance, EndsAfter: firstDay(now)}
		if f.maintenance, err = c.mon.Project(page.ProjectID).Windows(ctx, q); err != nil {
			return f, err
		}
	}
	f.checks = shownBy(page, all)
	if err := f.complete(ctx, c.mon, now); err != nil {
		return f, err
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	if read {
		p.checks, p.maintenance, p.loaded, p.loadedAt = all, f.maintenance, changed, now
	}
	if p.version == f.version { // otherwise the next request makes the page again
		maps.Copy(p.histories, f.histories)
		maps.Copy(p.older, f.older)
	}
	return f, nil
}

// knownFrom returns the instant from which transitions are kept, or the first day of the bars if that is later.
func knownFrom(now time.Time) time.Time {
	if kept := flips.RetentionBoundary(now); kept.After(firstDay(now)) {
		return kept
	}
	return firstDay(now)
}

// complete reads the past of checks that lack it. Days before transitions are kept come from the statistics, which last.
func (f *facts) complete(ctx context.Context, mon *monitor.Monitor, now time.Time) error {
	var missing []uuid.UUID
	for _, check := range f.checks {
		if _, ok := f.histories[check.ID]; !ok {
			missing = append(missing, check.ID)
		}
		if _, ok := f.older[check.ID]; ok || !check.CreatedAt.Before(f.known) || !firstDay(now).Before(f.known) {
			continue
		}
		days, err := mon.Project(check.ProjectID).Stats(ctx, check.ID, firstDay(now), f.known.Add(-1))
		if err != nil && !errors.Is(err, checks.ErrNotFound) {
			return err
		}
		f.older[check.ID] = days
	}
	if len(missing) == 0 {
		return nil
	}
	found, err := mon.Projects().Transitions(ctx, missing, f.known)
	for _, id := range missing {
		f.histories[id] = found[id]
	}
	return err
}

// shownBy returns the checks that a page shows.
func shownBy(p checks.StatusPage, list []checks.Check) (shown []checks.Check) {
	for _, c := range list {
		if p.Shows(c.Settings) {
			shown = append(shown, c)
		}
	}
	return shown
}

// until returns when the clock makes the view old.
func (v *view) until(now time.Time) time.Time {
	until := now.Add(calmAge)
	if v.State == "down" || v.State == "late" {
		until = now.Add(busyAge)
	}
	until = earlier(until, v.First.AddDate(0, 0, barDays)) // the next midnight
	if !v.next.IsZero() {
		until = earlier(until, v.next)
	}
	return until
}
