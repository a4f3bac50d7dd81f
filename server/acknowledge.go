package server

import (
	"context"
	_ "embed"
	"errors"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

const (
	acknowledgePath = "/acknowledge"
	// acksPerMinute is how often people can press the button for one check, and maxAckForm bounds the form in bytes.
	acksPerMinute, maxAckForm = 10, 16 << 10
	// ackNames bounds the checks that the page of such a message names in each of its lists.
	ackNames = 20
)

//go:embed acknowledge.html
var acknowledgeFile string

var acknowledgePage = template.Must(template.New("acknowledge").
	Funcs(template.FuncMap{"style": func() template.CSS { return template.CSS(linkStyle) }}).Parse(acknowledgeFile))

// viewers says who is signed in at the pages, and where these show a check.
type viewers interface {
	Viewer(w http.ResponseWriter, r *http.Request, project uuid.UUID) audit.Actor
	CheckURL(c checks.Check) string
}

// ackView is the data of the page of a link.
type ackView struct {
	Name, Since string // of the check
	Why         string // it is down, or "" if no flip says it
	Page        string // of the check, for who is signed in
	Says        string // why there is no form
	// Of a message about several checks: those that are still down, those whose outage is over, and those that somebody has.
	Down, Up, Taken string
	Viewer          string // who is signed in
	actor           audit.Actor
	Owner           string // who has it already
	Owned           string // since when, and until when
	Hours           []int  // for how long people can take it
	By, Note        string // what was typed
	Problem         string
}

// acknowledge shows the page of a link or, for a POST, acknowledges the outage and says so.
func (s *Server) acknowledge(w http.ResponseWriter, r *http.Request, path string) {
	setRoute(w, routeAcknowledge)
	s.linkPage(w, r, acknowledgePage, func(r *http.Request) (int, any, error) {
		status, page, err := s.applyAck(w, r, strings.TrimPrefix(path, acknowledgePath+"/"))
		if errors.Is(err, checks.ErrNotFound) {
			return http.StatusNotFound, ackView{Name: "Rollcall", Says: "This link does not work. Copy all of it from the alert; or its check is gone."}, nil
		}
		return status, page, err
	})
}

func (s *Server) applyAck(w http.ResponseWriter, r *http.Request, token string) (status int, page ackView, err error) {
	l, err := s.openAck(r.Context(), token)
	if err != nil {
		return 0, page, err
	}
	if l.batch != 0 {
		return s.applyAckAll(w, r, l)
	}
	found, err := s.mon.Project(l.project).Check(r.Context(), l.check)
	if err != nil {
		return 0, page, err
	}
	now, c := s.mon.Now(), *found.Check
	page = ackView{Name: prose.Line(c.DisplayName(), checks.MaxName), Since: prose.Time(l.down, "2 Jan 15:04", c.TZ)}
	if page.addViewer(s, w, r, l.project); page.Viewer != "" {
		page.Page = s.pages.(viewers).CheckURL(c)
	}
	switch {
	case now.After(l.until):
		page.Says = "This link has expired."
	case c.Status(now) != checks.StatusDown || !c.Since(now).Equal(l.down):
		page.Says = "This outage is over."
	}
	if page.Says != "" {
		return http.StatusOK, page, nil
	}
	page.Hours = ackHours()
	if page.Why, err = s.whyDown(r.Context(), l); err != nil {
		return 0, page, err
	}
	if a := c.Acknowledged(now); a.By != "" {
		page.Owner, page.Owned = a.By, "since "+prose.Time(a.At, "2 Jan 15:04", c.TZ)+", "+untilOf(a, c.TZ)
	}
	if r.Method != http.MethodPost {
		return http.StatusOK, page, nil
	}
	ack, problem, err := s.takeAck(w, r, l, &page)
	if err != nil || problem != "" {
		page.Problem = problem
		return http.StatusUnprocessableEntity, page, err
	}
	page.Says = "You have it. Reminders and escalation stop " + untilOf(ack, c.TZ) + "."
	return http.StatusOK, page, nil
}

// whyDown says why the check of a link is down, or "" if the flip was pruned.
func (s *Server) whyDown(ctx context.Context, l ackLink) (string, error) {
	for e, err := range s.mon.Project(l.project).Events(ctx, l.check, monitor.EventQuery{Limit: 1}) {
		return e.Reason.Words(), err
	}
	return "", nil
}

// untilOf says when an acknowledgement ends.
func untilOf(a gate.Ack, tz string) string {
	if a.Until.IsZero() {
		return "until it is up again"
	}
	return "until " + prose.Time(a.Until, "2 Jan 15:04", tz) + ", or until it is up again"
}

// takeAck acknowledges the outage of a link. A problem says what was wrong with the form.
func (s *Server) takeAck(w http.ResponseWriter, r *http.Request, l ackLink, page *ackView) (ack gate.Ack, problem string, err error) {
	ctx, spec, problem, err := s.typedAck(w, r, l.check, page)
	if err != nil || problem != "" {
		return ack, problem, err
	}
	c, err := s.mon.Project(l.project).Acknowledge(ctx, l.check, spec)
	switch {
	case errors.Is(err, checks.ErrNotDown):
		return ack, "This outage is over.", nil
	case errors.Is(err, checks.ErrAcknowledged):
		return ack, "Someone else already has it.", nil
	case err != nil:
		return ack, "", err
	}
	return c.Ack, "", nil
}

// typedAck reads the form. The limit counts by what the link is about. The context says who has sent the form.
func (s *Server) typedAck(w http.ResponseWriter, r *http.Request, about uuid.UUID, page *ackView) (ctx context.Context, spec checks.AckSpec, problem string, err error) {
	if delay := s.ackLimiter.Wait(about); delay > 0 {
		return nil, spec, "", tooMany(acksPerMinute, delay)
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxAckForm)
	if err := r.ParseForm(); err != nil {
		return nil, spec, "", errBrokenBody
	}
	page.By, page.Note = r.PostForm.Get("name"), r.PostForm.Get("note")
	address, _ := s.proxies.Of(r)
	actor := audit.Actor{Kind: audit.Link, Name: prose.Line(page.By, checks.MaxName-len(audit.ByLink)-1), Address: address}
	spec = checks.AckSpec{By: page.By, Note: page.Note, TakeOver: r.PostForm.Has("take_over")}
	if page.Viewer != "" {
		actor = page.actor
		spec.By = page.Viewer
	} else if prose.Name(page.By) == "" {
		return nil, spec, "Say who you are.", nil
	}
	if hours, err := strconv.Atoi(r.PostForm.Get("hours")); err == nil {
		spec.For = time.Duration(min(max(hours, 0), 1000)) * time.Hour
	}
	if field, text := fault(spec.Validate()); field != "" {
		return nil, spec, "The " + strings.Replace(text, "by is", "name is", 1) + ".", nil
	}
	if page.Viewer == "" {
		spec.By = actor.Words()
	}
	return audit.WithActor(r.Context(), actor), spec, "", nil
}

// ackHours are the times that a form offers.
func ackHours() []int { return []int{1, 4, 12, 24, 72} }

// outages are the checks that a message about several has named, by what has become of their outages: down includes those that are
// taken, which somebody has.
type outages struct{ down, taken, over []checks.Check }

// outagesOf reads what has become of the outages that the deliveries of a batch were about. Without any, the error is
// [checks.ErrNotFound].
func (s *Server) outagesOf(ctx context.Context, l ackLink) (o outages, err error) {
	raised := make(map[uuid.UUID]time.Time)
	var ids []uuid.UUID
	project := s.mon.Project(l.project)
	for d, err := range project.Deliveries(ctx, checks.DeliveryQuery{Batch: l.batch, Before: l.last + 1}) {
		if err != nil {
			return o, err
		}
		if raised[d.CheckID].IsZero() {
			ids = append(ids, d.CheckID)
			raised[d.CheckID] = d.CreatedAt
		}
	}
	if len(ids) == 0 {
		return o, checks.ErrNotFound
	}
	list, err := project.List(ctx, checks.ListQuery{IDs: ids, Order: checks.ListByName})
	now := s.mon.Now()
	for _, c := range list {
		if c.Status(now) != checks.StatusDown || c.Since(now).After(raised[c.ID]) { // or down again
			o.over = append(o.over, c)
			continue
		}
		if o.down = append(o.down, c); c.Acknowledged(now).By != "" {
			o.taken = append(o.taken, c)
		}
	}
	return o, err
}

// applyAckAll is applyAck for a message about several checks.
func (s *Server) applyAckAll(w http.ResponseWriter, r *http.Request, l ackLink) (status int, page ackView, err error) {
	o, err := s.outagesOf(r.Context(), l)
	if err != nil {
		return 0, page, err
	}
	page.Name = prose.Count(len(o.down)+len(o.over), "check")
	if s.mon.Now().After(l.until) {
		page.Says = "This link has expired."
		return http.StatusOK, page, nil
	}
	if page.Down, page.Taken, page.Up = named(o.down), named(o.taken), named(o.over); len(o.down) == 0 {
		page.Says = "These outages are over."
		return http.StatusOK, page, nil
	}
	page.Hours = ackHours()
	page.addViewer(s, w, r, l.project)
	if r.Method != http.MethodPost {
		return http.StatusOK, page, nil
	}
	ctx, spec, problem, err := s.typedAck(w, r, uuid.NewSHA1(l.project, strconv.AppendInt(nil, l.batch, 10)), &page)
	if err != nil || problem != "" {
		page.Problem = problem
		return http.StatusUnprocessableEntity, page, err
	}
	done, err := s.takeAll(ctx, l.project, spec, &o)
	page.Says = "Nothing was acknowledged."
	if page.Down, page.Taken, page.Up = named(done), named(o.taken), named(o.over); len(done) > 0 {
		var ack gate.Ack // what they have now; those that were theirs before may keep another end
		if spec.For > 0 {
			ack.Until = s.mon.Now().Add(spec.For)
		}
		until := strings.ReplaceAll(untilOf(ack, "UTC"), "it is", "they are")
		page.Says = "You have " + prose.Count(len(done), "outage") + ". Reminders and escalation stop " + until + "."
	}
	return http.StatusOK, page, err
}

// takeAll acknowledges the outages that go on, and returns the checks. It notes which others somebody has, and which have come up since.
func (s *Server) takeAll(ctx context.Context, project uuid.UUID, spec checks.AckSpec, o *outages) (done []checks.Check, err error) {
	ids := make([]uuid.UUID, len(o.down))
	for i, c := range o.down {
		ids[i] = c.ID
	}
	report, err := s.mon.Project(project).AcknowledgeMany(ctx, checks.AckQuery{IDs: ids}, spec)
	took := make(map[uuid.UUID]checks.Check)
	for _, c := range report.Acknowledged {
		took[c.ID] = *c.Check
	}
	taken := make(map[uuid.UUID]bool)
	for _, c := range report.Taken {
		taken[c.ID] = true
	}
	o.taken = nil
	for _, c := range o.down {
		if acked, ok := took[c.ID]; ok {
			done = append(done, acked)
		} else if taken[c.ID] {
			o.taken = append(o.taken, c)
		} else {
			o.over = append(o.over, c)
		}
	}
	return done, err
}

// named counts checks and names the first of them, or is "" for none.
func named(list []checks.Check) string {
	if len(list) == 0 {
		return ""
	}
	var names []string
	for _, c := range list[:min(len(list), ackNames)] {
		names = append(names, prose.Line(c.DisplayName(), checks.MaxName))
	}
	text := strconv.Itoa(len(list)) + ": " + strings.Join(names, ", ")
	if more := len(list) - ackNames; more > 0 {
		text += " and " + strconv.Itoa(more) + " more"
	}
	return text
}

// addViewer adds who is signed in and may see a project.
func (v *ackView) addViewer(s *Server, w http.ResponseWriter, r *http.Request, project uuid.UUID) {
	pages, ok := s.pages.(viewers)
	if !ok || s.crossOrigin.Check(r) != nil {
		return
	}
	if v.actor = pages.Viewer(w, r, project); v.actor.Name != "" {
		v.Viewer = prose.Line(v.actor.Known(), checks.MaxName-1)
	}
}
