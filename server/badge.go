package server

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/internal/limit"
)

// badgePolicy allows other pages to embed a badge, also as a document of its own (object, iframe). There it can neither
// run scripts nor load anything.
const badgePolicy = "default-src 'none'; sandbox"

// badge answers with a badge. Any bad address is "not found".
func (s *Server) badge(w http.ResponseWriter, r *http.Request, path string) {
	setRoute(w, routeBadge)
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Cache-Control", noCaching)
	h.Set("Content-Security-Policy", badgePolicy)
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions:
		h.Set("Allow", badgeMethods)
		h.Set("Access-Control-Allow-Methods", badgeMethods)
		w.WriteHeader(http.StatusNoContent)
		return
	default:
		h.Set("Allow", badgeMethods)
		s.fail(w, r, errMethod)
		return
	}
	r, cancel := limit.Detach(r)
	defer cancel()
	format, document, err := s.drawBadge(r.Context(), path)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	write(w, http.StatusOK, format.ContentType(), document)
}

const badgeMethods = "GET, HEAD, OPTIONS"

// badgeSigner returns what signs the addresses of badges.
func (s *Server) badgeSigner(ctx context.Context) (badges.Signer, error) {
	return s.signerSecret.Signer(ctx, s.signer)
}

func (s *Server) drawBadge(ctx context.Context, path string) (badges.Format, []byte, error) {
	if ref, err := badges.ParseCheckPath(path); err == nil {
		key, ok := parseUUID(ref.BadgeKey, false)
		if !ok {
			return "", nil, checks.ErrNotFound
		}
		label, summary, err := s.checkBadge(ctx, key)
		return ref.Format, ref.Format.Document(label, summary, ref.Late), err
	}
	signer, err := s.badgeSigner(ctx)
	if err != nil {
		return "", nil, err
	}
	ref, err := signer.Parse(path)
	if err != nil {
		return "", nil, checks.ErrNotFound
	}
	label, summary, err := s.tagBadge(ctx, ref.BadgeKey, ref.Tag)
	switch unused := summary.Total == 0 && ref.Tag != badges.AllTags; {
	case unused && ref.Format == badges.SVG:
		return ref.Format, badges.RenderSVG(label, noChecks), err
	case unused && ref.Format == badges.Shields:
		return ref.Format, badges.RenderShields(label, noChecks), err
	}
	return ref.Format, ref.Format.Document(label, summary, ref.Late), err
}

// noChecks is what a badge shows, in grey, whose tag no check has any more. The JSON document keeps to the states of section 2.5 of
// the API, and has a total of 0.
const noChecks badges.State = "no checks"

// tagBadge returns the label and the content of a tag's badge, in the project with a badge key. The tag [badges.AllTags] is
// the badge of the project itself.
func (s *Server) tagBadge(ctx context.Context, badgeKey, tag string) (label string, summary badges.Summary, err error) {
	project, err := s.mon.Projects().ByBadgeKey(ctx, badgeKey)
	if err != nil {
		return "", badges.Summary{}, err
	}
	label, tags := project.Name, []string(nil)
	if tag != badges.AllTags {
		label, tags = tag, []string{tag}
	}
	sets, err := s.mon.Project(project.ID).TagSets(ctx, tags)
	if err != nil {
		return "", badges.Summary{}, err
	}
	all := checks.CountAll(sets)
	return label, badges.Summary{Total: all.Total(), Grace: all[checks.StatusGrace], Down: all[checks.StatusDown]}, nil
}

// checkBadge returns the label and the content of the badge of the check with a badge key.
func (s *Server) checkBadge(ctx context.Context, key uuid.UUID) (label string, summary badges.Summary, err error) {
	c, err := s.mon.Projects().CheckByBadgeKey(ctx, key)
	if err != nil {
		return "", badges.Summary{}, err
	}
	return cmp.Or(c.Name, c.Slug, "check"), badges.Summarize(slices.Values([]checks.Status{c.Status(s.mon.Now())})), nil
}
