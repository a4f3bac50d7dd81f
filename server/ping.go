package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/keywords"
	"github.com/rollcall-dev/rollcall/pings"
)

const (
	// pingTimeout bounds how long a ping is waited for, from when it was received.
	pingTimeout = 10 * time.Second
	// maxDrained is how much of a body beyond the limit is still read and thrown away. A client that is cut off
	// while it sends may never see the answer.
	maxDrained = 10_000_000

	pingMethods = "GET, HEAD, POST"
)

// receive takes a ping.
func (s *Server) receive(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Ping-Body-Limit", strconv.FormatInt(s.bodyLimit, 10))
	h.Set("Cache-Control", neverCached)
	created, err := s.record(r)
	switch {
	case err != nil:
		p := s.explain(w, r, err)
		if p.status == http.StatusMethodNotAllowed {
			h.Set("Allow", pingMethods)
		}
		writeText(w, p.status, p.text)
	case created:
		writeText(w, http.StatusCreated, "Created")
	default:
		writeText(w, http.StatusOK, "OK")
	}
}

// record records a ping; created says that its check was made for it.
func (s *Server) record(r *http.Request) (created bool, err error) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPost {
		return false, errMethod
	}
	target, err := parsePingPath(r.URL.EscapedPath())
	if err != nil {
		return false, err
	}
	run, err := parseRunID(r.URL.RawQuery)
	if err != nil {
		return false, err
	}
	signal := pings.Signal{Kind: target.kind, ExitStatus: target.exit, RunID: run, Method: r.Method, UserAgent: r.UserAgent()}
	signal.RemoteAddr, signal.Scheme = s.proxies.origin(r)
	if signal.Body, signal.Filtered, err = readPingBody(r.Body, s.bodyLimit); err != nil {
		return false, errBrokenBody
	}
	// A job may hang up as soon as it has sent its ping. The ping counts all the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), pingTimeout)
	defer cancel()
	if target.id != uuid.Nil {
		_, err = s.mon.Ping(ctx, target.id, signal)
	} else {
		create, _ := queryValue(r.URL.RawQuery, "create")
		_, created, err = s.mon.PingSlug(ctx, target.key, target.slug, create == "1", signal)
	}
	if errors.Is(err, checks.ErrCheckLimit) {
		s.log.WarnContext(ctx, "a ping made no check", "slug", target.slug, "error", err)
		err = errNotFound
	}
	_, _ = io.CopyN(io.Discard, r.Body, maxDrained)
	return created, err
}

// readPingBody reads the start of a body: what is kept of it, at most limit bytes, and what keywords are looked for
// in if that is more (API-V3.md section 2.1.1), otherwise nil. An empty body is nil. The error is that of a body that
// broke off before.
func readPingBody(body io.Reader, limit int64) (kept, filtered []byte, err error) {
	var b bytes.Buffer
	if _, err := b.ReadFrom(io.LimitReader(body, max(limit, keywords.MaxHTTPBody))); err != nil {
		return nil, nil, err
	}
	kept = b.Bytes()
	if int64(len(kept)) > limit {
		kept, filtered = kept[:limit:limit], kept[:min(len(kept), keywords.MaxHTTPBody)]
	}
	if len(kept) == 0 {
		kept = nil
	}
	return kept, filtered, nil
}

// parseRunID reads the run identifier of a ping's query.
func parseRunID(query string) (uuid.NullUUID, error) {
	text, present := queryValue(query, "rid")
	if !present {
		return uuid.NullUUID{}, nil
	}
	id, ok := hyphenUUID(text)
	if !ok {
		return uuid.NullUUID{}, errBadRunID
	}
	return uuid.NullUUID{UUID: id, Valid: true}, nil
}

// queryValue returns the first value of a query parameter. Unlike [url.ParseQuery] it does not drop a value that is
// badly escaped: a ping with a run identifier that cannot be read must not pass for one without.
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
