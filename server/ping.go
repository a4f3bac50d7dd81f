package server

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/keywords"
	"github.com/rollcall-dev/rollcall/pings"
)

const (
	// pingTimeout bounds how long a ping is waited for, from when it has been read.
	pingTimeout = 5 * time.Second
	pingMethods = "GET, HEAD, POST"
)

// pingAnswers are the parts that the answers to pings have in common.
type pingAnswers struct {
	headers headers // of all
	ok      headers // of those that are "OK"
	text    []byte  // "OK"
}

func newPingAnswers(bodyLimit int64) pingAnswers {
	return pingAnswers{
		headers: newHeaders(
			"Access-Control-Allow-Origin", "*",
			"Ping-Body-Limit", strconv.FormatInt(bodyLimit, 10),
			"Cache-Control", neverCached,
		),
		ok:   newHeaders("Content-Type", plainText, "Content-Length", "2"),
		text: []byte("OK"),
	}
}

// receive answers a ping.
func (s *Server) receive(w http.ResponseWriter, r *http.Request, path string) {
	routed(w, routePing)
	h := w.Header()
	s.answers.headers.set(h)
	created, err := s.record(r, path)
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
		s.answers.ok.set(h)
		w.WriteHeader(http.StatusOK)
		_, _ = w.Write(s.answers.text) // an error means that the client is gone
	}
}

// record records a ping; created says that its check was made for it.
func (s *Server) record(r *http.Request, path string) (created bool, err error) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPost {
		return false, errMethod
	}
	target, err := parsePingPath(path)
	if err != nil {
		return false, err
	}
	run, err := parseRunID(r.URL.RawQuery)
	if err != nil {
		return false, err
	}
	signal := pings.Signal{Kind: target.kind, ExitStatus: target.exit, RunID: run, Method: r.Method, UserAgent: r.UserAgent()}
	signal.RemoteAddr, signal.Scheme = s.proxies.origin(r)
	body := s.newBody(r)
	defer body.release()
	if signal.Body, signal.Filtered, err = readPingBody(r.Context(), body, s.bodyLimit); err != nil {
		return false, err
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
	if errors.Is(err, checks.ErrCheckLimit) || errors.Is(err, monitor.ErrCreatedChecks) {
		if unlogged, ok := s.uncreated.log(s.mon.Now()); ok {
			s.log.WarnContext(ctx, "a ping created no check", "slug", target.slug, "error", err, "unlogged", unlogged)
		}
		err = errNotFound
	}
	return created, err
}

// readPingBody reads the start of a body. Kept is what is stored of it, at most limit bytes. Filtered is what keywords
// are looked for in, if that is more (API-V3.md section 2.1.1), otherwise nil. An empty body is nil.
func readPingBody(ctx context.Context, b *body, limit int64) (kept, filtered []byte, err error) {
	kept, err = b.readTo(ctx, max(limit, keywords.MaxHTTPBody))
	if err != nil || len(kept) == 0 {
		return nil, nil, err
	}
	if int64(len(kept)) > limit {
		kept, filtered = kept[:limit:limit], kept[:min(len(kept), keywords.MaxHTTPBody)]
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
