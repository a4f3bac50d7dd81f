package statuspage

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/singleflight"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/server/internal/limit"
)

const (
	// idleAfter is how long after the last request the cache forgets everything.
	idleAfter = 10 * time.Minute
	// readTimeout bounds how long the database may take for one page.
	readTimeout = 5 * time.Second
	// staleFor is how long readers get the last page while the database cannot be read, and retryAfter how long nobody
	// asks it again.
	staleFor   = time.Minute
	retryAfter = time.Second
)

// renderer makes the documents of a page.
type renderer func(p checks.StatusPage, v *view) (html, feed *document, err error)

// cache keeps pages as readers get them. Each request first takes in the changes of the monitor, so no goroutine runs.
type cache struct {
	mon    *monitor.Monitor
	log    *slog.Logger
	render renderer
	flight singleflight.Group
	faults limit.Repeats

	mu       sync.Mutex
	changes  <-chan checks.Change // nil while nobody reads
	stop     context.CancelFunc   // ends changes
	idle     *time.Timer          // calls rest
	lastRead time.Time
	version  int                          // counts changes of the set of pages
	pages    map[string]checks.StatusPage // all pages by slug; nil if they were never read
	read     int                          // the version of pages
	failing  failing                      // of reading pages
	projects map[uuid.UUID]*project       // those with a page that a visitor reads
}

func newCache(mon *monitor.Monitor, log *slog.Logger, render renderer) *cache {
	return &cache{mon: mon, log: log, render: render, projects: make(map[uuid.UUID]*project), version: 1}
}

// get returns a page. Errors: [checks.ErrNotFound], and those of the monitor.
func (c *cache) get(ctx context.Context, slug string) (*rendered, error) {
	r, known, err := c.cached(slug)
	if !known {
		// The error shows in what is cached.
		_, _ = c.once(ctx, "", c.readPages)
		r, _, err = c.cached(slug)
	}
	if r != nil || err != nil {
		return r, err
	}
	r, err = c.once(ctx, slug, func(ctx context.Context) (*rendered, error) { return c.make(ctx, slug) })
	if err != nil {
		if last, _, _ := c.cached(slug); last != nil {
			return last, nil
		}
	}
	return r, err
}

// once runs fn for all callers that ask for the same at once.
func (c *cache) once(ctx context.Context, key string, fn func(context.Context) (*rendered, error)) (*rendered, error) {
	v, err, _ := c.flight.Do(key, func() (v any, err error) {
		defer func() {
			if reason := recover(); reason != nil {
				err = fmt.Errorf("statuspage: panic: %v", reason) // Do would panic in every caller
			}
		}()
		ctx, cancel := context.WithTimeout(ctx, readTimeout)
		defer cancel()
		return fn(ctx)
	})
	r, _ := v.(*rendered)
	return r, err
}

// cached returns a page that needs no work. It is nil if the page must be made. Known is false if the set of pages must
// be read first. The error says that there is no such page, or that the database failed a moment ago.
func (c *cache) cached(slug string) (r *rendered, known bool, err error) {
	now := c.mon.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.follow(now)
	if c.read != c.version {
		if err := c.failing.soon(now); err == nil {
			return nil, false, nil
		} else if c.pages == nil || !c.failing.tolerable(now) {
			return nil, true, err
		}
	}
	page, ok := c.pages[slug]
	if !ok {
		return nil, true, checks.ErrNotFound
	}
	p := c.projects[page.ProjectID]
	if p == nil {
		return nil, true, nil
	}
	r = p.rendered[page.ID]
	if r != nil && r.fresh(p, page, now) {
		return r, true, nil
	}
	err = p.failing.soon(now)
	if r != nil && err != nil && p.failing.tolerable(now) {
		return r, true, nil
	}
	return nil, true, err
}

// follow takes in what has changed since the last request. It begins to follow the monitor if nobody did.
func (c *cache) follow(now time.Time) {
	c.lastRead = time.Now()
	if c.changes == nil {
		ctx, stop := context.WithCancel(context.Background())
		c.changes, c.stop = c.mon.Changes(ctx), stop
		c.idle = time.AfterFunc(idleAfter, c.rest)
	}
	for {
		select {
		case change := <-c.changes:
			c.apply(change, now)
		default:
			return
		}
	}
}

// rest forgets everything and ceases to follow the monitor, unless there was a request meanwhile.
func (c *cache) rest() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes == nil {
		return
	}
	if left := idleAfter - time.Since(c.lastRead); left > 0 {
		c.idle.Reset(left)
		return
	}
	c.clear()
}

// close forgets everything and ceases to follow the monitor.
func (c *cache) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes != nil {
		c.idle.Stop()
		c.clear()
	}
}

func (c *cache) clear() {
	c.stop()
	c.changes, c.pages, c.projects = nil, nil, make(map[uuid.UUID]*project)
	c.version++
}

// forget makes everything be read again.
func (c *cache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.apply(checks.Change{All: true}, time.Time{})
}

// apply marks what a change makes old.
func (c *cache) apply(change checks.Change, now time.Time) {
	if change.All {
		c.version++
		for _, p := range c.projects {
			p.changeAll()
		}
		return
	}
	for id, changed := range change.Projects {
		if changed.Kinds&(checks.ChangedStatusPages|checks.ChangedProject) != 0 {
			c.version++
		}
		p := c.projects[id]
		switch {
		case p == nil:
		case changed.AllChecks && changed.Kinds&(relevant|checks.ChangedProject) != 0: // of maintenance, too
			p.changeAll()
		default:
			for check, kinds := range changed.Checks {
				p.change(check, kinds, now)
			}
		}
	}
}

// readPages reads which pages exist.
func (c *cache) readPages(ctx context.Context) (*rendered, error) {
	c.mu.Lock()
	version := c.version
	c.mu.Unlock()
	begin := time.Now()
	list, err := c.mon.Projects().StatusPages(ctx)
	now := c.mon.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failing.record(err, now)
	if err != nil {
		c.faults.Log(c.log, slog.LevelError, "", "cannot read the status pages", "duration", time.Since(begin), "error", err)
		return nil, err
	}
	c.pages, c.read = make(map[string]checks.StatusPage, len(list)), version
	exist := make(map[uuid.UUID]bool, len(list))
	for _, p := range list {
		c.pages[p.Slug], exist[p.ID] = p, true
	}
	for id, p := range c.projects {
		for page := range p.rendered {
			if !exist[page] {
				delete(p.rendered, page)
			}
		}
		if len(p.rendered) == 0 {
			delete(c.projects, id)
		}
	}
	return nil, nil
}

// failing remembers that the database could not be read.
type failing struct {
	since, last time.Time
	err         error
}

// record remembers the result of an attempt.
func (f *failing) record(err error, now time.Time) {
	switch {
	case err == nil:
		*f = failing{}
	case f.err == nil:
		*f = failing{since: now, last: now, err: err}
	default:
		f.last, f.err = now, err
	}
}

// soon returns the error of an attempt that was so recent that nobody should try again.
func (f *failing) soon(now time.Time) error {
	if f.err != nil && !now.Before(f.last) && now.Sub(f.last) < retryAfter {
		return f.err
	}
	return nil
}

// tolerable reports whether readers get what was read last.
func (f *failing) tolerable(now time.Time) bool { return f.err != nil && now.Sub(f.since) < staleFor }
