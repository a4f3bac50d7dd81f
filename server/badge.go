package server

import (
	"context"
	"net/http"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/checks"
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
	format, document, err := s.drawBadge(r.Context(), path)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	write(w, http.StatusOK, format.ContentType(), document)
}

const badgeMethods = "GET, HEAD, OPTIONS"

func (s *Server) drawBadge(ctx context.Context, path string) (badges.Format, []byte, error) {
	if ref, err := s.signer.Parse(path); err == nil {
		label, summary, err := s.mon.TagBadge(ctx, ref.BadgeKey, ref.Tag)
		return ref.Format, ref.Format.Document(label, summary, ref.Late), err
	}
	text, format, late, err := badges.ParseCheckPath(path)
	if err != nil {
		return "", nil, checks.ErrNotFound
	}
	key, ok := canonicalUUID(text)
	if !ok {
		return "", nil, checks.ErrNotFound
	}
	label, summary, err := s.mon.CheckBadge(ctx, key)
	return format, format.Document(label, summary, late), err
}
