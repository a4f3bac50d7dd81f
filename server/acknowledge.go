package server

import (
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/gate"
)

const (
	acknowledgePath = "/acknowledge"
	// ackAge is how long a link can be used, and maxAckForm bounds the form of its page in bytes.
	ackAge = 7 * 24 * time.Hour
	// ackLength is the length of what a token stands for: two UUIDs and two instants.
	ackLength = 48
	// acksPerMinute is how often people can press the button for one check.
	acksPerMinute = 10
	maxAckForm    = 16 << 10
)

//go:embed acknowledge.html
var acknowledgeFile string

var acknowledgePage = template.Must(template.New("acknowledge").
	Funcs(template.FuncMap{"style": func() template.CSS { return template.CSS(linkStyle) }}).Parse(acknowledgeFile))

// ackLink is what a token stands for: an outage of a check of a project, until an instant.
type ackLink struct {
	project, check uuid.UUID
	down, until    time.Time
}

// viewers says who is signed in at the pages.
type viewers interface {
	Viewer(w http.ResponseWriter, r *http.Request, project uuid.UUID) string
}

// AcknowledgeURL returns the URL at which people acknowledge the present outage of a check, for the field AckLink of
// monitor.Config. It is "" if the check is not down, or if the signing key cannot be read from the database.
//
// Anyone who knows the URL can acknowledge this outage within 7 days, and no other. A GET shows a page with a button. A POST
// acknowledges, in the name of who is signed in, or else in the name that the form has.
func (s *Server) AcknowledgeURL(ctx context.Context, c checks.Check) string {
	if c.Stored != checks.StatusDown {
		return ""
	}
	message := slices.Concat(c.ProjectID[:], c.ID[:])
	message = binary.BigEndian.AppendUint64(message, uint64(c.StoredSince.UnixMicro()))
	message = binary.BigEndian.AppendUint64(message, uint64(s.mon.Now().Add(ackAge).UnixMicro()))
	token, err := seal(ctx, s.acknowledgers, message)
	if err != nil {
		s.log.WarnContext(ctx, "an alert has no link to acknowledge", "error", err)
		return ""
	}
	return s.base.Text + acknowledgePath + "/" + token
}

// openAck returns the link of a token. A bad one is [checks.ErrNotFound].
func (s *Server) openAck(ctx context.Context, token string) (l ackLink, err error) {
	message, err := unseal(ctx, s.acknowledgers, token, ackLength)
	if err == nil && len(message) != ackLength {
		err = checks.ErrNotFound
	}
	if err != nil {
		return l, err
	}
	at := func(b []byte) time.Time { return time.UnixMicro(int64(binary.BigEndian.Uint64(b))).UTC() }
	return ackLink{uuid.UUID(message[:16]), uuid.UUID(message[16:32]), at(message[32:]), at(message[40:])}, nil
}

// ackView is the data of the page of a link.
type ackView struct {
	Name, Since string // of the check
	Says        string // why there is no form
	Viewer      string // who is signed in
	Owner       string // who has it already
	Owned       string // since when, and until when
	Hours       []int  // for how long people can take it
	By, Note    string // what was typed
	Problem     string
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
	found, err := s.mon.Project(l.project).Check(r.Context(), l.check)
	if err != nil {
		return 0, page, err
	}
	now, c := s.mon.Now(), *found.Check
	page = ackView{Name: prose.Line(c.DisplayName(), checks.MaxName), Since: prose.Time(l.down, "2 Jan 15:04", c.TZ)}
	switch {
	case now.After(l.until):
		page.Says = "This link has expired."
	case c.Status(now) != checks.StatusDown || !c.Since(now).Equal(l.down):
		page.Says = "This outage is over."
	}
	if page.Says != "" {
		return http.StatusOK, page, nil
	}
	page.Viewer, page.Hours = s.viewer(w, r, l.project), []int{1, 4, 12, 24, 72}
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

// untilOf says when an acknowledgement ends.
func untilOf(a gate.Ack, tz string) string {
	if a.Until.IsZero() {
		return "until it is up again"
	}
	return "until " + prose.Time(a.Until, "2 Jan 15:04", tz) + ", or until it is up again"
}

// takeAck acknowledges the outage of a link. A problem says what was wrong with the form.
func (s *Server) takeAck(w http.ResponseWriter, r *http.Request, l ackLink, page *ackView) (ack gate.Ack, problem string, err error) {
	if delay := s.ackLimiter.Wait(l.check); delay > 0 {
		return ack, "", tooMany(acksPerMinute, delay)
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxAckForm)
	if err := r.ParseForm(); err != nil {
		return ack, "", errBrokenBody
	}
	page.By, page.Note = r.PostForm.Get("name"), r.PostForm.Get("note")
	address, _ := s.proxies.Of(r)
	actor := audit.Actor{Kind: audit.Link, Name: prose.Line(page.By, checks.MaxName-len(audit.ByLink)-1), Address: address}
	spec := checks.AckSpec{By: page.By, Note: page.Note, TakeOver: r.PostForm.Has("take_over")}
	if page.Viewer != "" {
		actor = audit.Actor{Kind: audit.Person, Name: page.Viewer, Address: address}
		spec.By = page.Viewer
	} else if prose.Name(page.By) == "" {
		return ack, "Say who you are.", nil
	}
	if hours, err := strconv.Atoi(r.PostForm.Get("hours")); err == nil {
		spec.For = time.Duration(min(max(hours, 0), 1000)) * time.Hour
	}
	err = spec.Validate() // as it was typed
	var c checks.Snapshot
	if spec.By = actor.Words(); err == nil {
		c, err = s.mon.Project(l.project).Acknowledge(audit.WithActor(r.Context(), actor), l.check, spec)
	}
	switch field, text := fault(err); {
	case field != "":
		return ack, "The " + strings.Replace(text, "by is", "name is", 1) + ".", nil
	case errors.Is(err, checks.ErrNotDown):
		return ack, "This outage is over.", nil
	case errors.Is(err, checks.ErrAcknowledged):
		return ack, "Somebody else has it already.", nil
	case err != nil:
		return ack, "", err
	}
	return c.Ack, "", nil
}

// viewer returns who is signed in and may see a project, or "".
func (s *Server) viewer(w http.ResponseWriter, r *http.Request, project uuid.UUID) string {
	pages, ok := s.pages.(viewers)
	if !ok || s.crossOrigin.Check(r) != nil {
		return ""
	}
	return prose.Line(pages.Viewer(w, r, project), checks.MaxName-1)
}
