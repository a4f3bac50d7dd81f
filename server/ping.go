package server

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
)

const (
	// pingTimeout bounds the wait for the commit of a ping, after the request was read.
	pingTimeout = 5 * time.Second
	// noCaching is the Cache-Control of answers that are right only at this instant.
	noCaching = "no-store, no-cache, max-age=0"
)

// receive answers a ping.
func (s *Server) receive(w http.ResponseWriter, r *http.Request, path string) {
	setRoute(w, routePing)
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Ping-Body-Limit", s.bodyLimitText)
	h.Set("Cache-Control", noCaching)
	if r.Method == http.MethodOptions && s.acceptLate > 0 {
		s.preflight(w)
		return
	}
	ping, created, err := s.submit(r, path)
	switch {
	case err != nil:
		p := s.explain(w, r, err)
		if p.status == http.StatusMethodNotAllowed {
			h.Set("Allow", s.pingMethods)
		}
		writeText(w, p.status, p.text)
	case created:
		writeText(w, http.StatusCreated, "Created")
	case ping.WrongMethod:
		writeText(w, http.StatusOK, "OK (ignored: the check takes only POST)")
	default:
		writeText(w, http.StatusOK, "OK")
	}
}

// submit passes a ping to the monitor. created reports whether its check was created for it.
func (s *Server) submit(r *http.Request, path string) (ping pings.Ping, created bool, err error) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPost {
		return ping, false, errPingMethod
	}
	target, err := parsePingPath(path)
	if err != nil {
		return ping, false, err
	}
	addr, scheme := s.proxies.Of(r)
	signal := pings.FromHTTP(r.Method, scheme == pings.SchemeHTTPS, nil)
	signal.Kind, signal.ExitStatus, signal.RemoteAddr, signal.UserAgent = target.kind, target.exit, addr, r.UserAgent()
	if r.URL.RawQuery != "" {
		if signal.RunID, err = parseRunID(r.URL.RawQuery); err != nil {
			return ping, false, err
		}
	}
	if s.acceptLate > 0 {
		if signal.At, err = s.sentAt(r); err != nil {
			return ping, false, err
		}
	}
	body := s.newBody(r)
	defer body.release()
	if !body.ended {
		if err := s.readPingBody(r, body, &signal); err != nil {
			return ping, false, err
		}
	}
	// A job may hang up as soon as it has sent its ping, which counts all the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), pingTimeout)
	defer cancel()
	if target.id != uuid.Nil {
		ping, err = s.mon.Ping(ctx, target.id, signal)
		return ping, false, err
	}
	create, _ := queryValue(r.URL.RawQuery, "create")
	ping, created, err = s.mon.PingSlug(ctx, target.key, target.slug, create == "1", signal)
	if errors.Is(err, checks.ErrCheckLimit) {
		if unlogged, ok := s.createLog.Pass(s.mon.Now()); ok {
			s.log.WarnContext(ctx, "a ping created no check", "slug", target.slug, "error", err, "unlogged", unlogged)
		}
		return ping, false, &problem{status: http.StatusNotFound, text: "not found, and not created: " + problemOf(err).text}
	}
	return ping, created, err
}

// parseRunID parses the parameter rid of a ping's query.
func parseRunID(query string) (uuid.NullUUID, error) {
	text, _ := queryValue(query, "rid")
	if text == "" { // as of a script whose uuidgen is missing
		return uuid.NullUUID{}, nil
	}
	id, ok := parseUUID(text, true)
	if !ok {
		return uuid.NullUUID{}, errBadRunID
	}
	return uuid.NullUUID{UUID: id, Valid: true}, nil
}

// queryValue returns the first value of a query parameter. Unlike [url.ParseQuery] it keeps a badly escaped value: a
// ping with a broken run identifier must not pass for one without any.
func queryValue(query, name string) (value string, present bool) {
	for pair := range strings.SplitSeq(query, "&") {
		key, value, _ := strings.Cut(pair, "=")
		if decoded, err := url.QueryUnescape(key); err != nil || decoded != name {
			continue
		}
		if decoded, err := url.QueryUnescape(value); err == nil {
			value = decoded
		}
		return value, true
	}
	return "", false
}
