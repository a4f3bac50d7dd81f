package server

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/client/wire"
)

// maxErrorText bounds the text of an error in bytes: it may quote what the client sent.
const maxErrorText = 1000

// fail answers with the JSON document of an error.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := s.explain(w, r, err)
	document, _ := encode(wire.Error{Error: p.text, Field: p.field}) // strings always encode
	write(w, p.status, "application/json", document)
}

// explain returns what to tell the client about an error, sets Retry-After, and logs the cause of a 5xx.
func (s *Server) explain(w http.ResponseWriter, r *http.Request, err error) problem {
	p := problemOf(err)
	if p.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(p.retryAfter.Seconds()))))
	}
	if p.status >= http.StatusInternalServerError {
		s.logFailure(r, p, err)
	}
	if len(p.text) > maxErrorText {
		end := maxErrorText
		for !utf8.RuneStart(p.text[end]) {
			end--
		}
		p.text = p.text[:end] + "…"
	}
	return p
}

// logFailure logs the cause of a 5xx. During an outage of the database every request gets a 503; one a second is logged.
func (s *Server) logFailure(r *http.Request, p problem, err error) {
	attributes := []any{"method", r.Method, "path", redactKeys(r.URL.Path), "status", p.status, "error", err}
	if p.status == http.StatusServiceUnavailable {
		unlogged, ok := s.outageLog.Pass(s.mon.Now())
		if !ok {
			return
		}
		if unlogged > 0 {
			attributes = append(attributes, "unlogged", unlogged)
		}
	}
	s.log.ErrorContext(r.Context(), "a request failed", attributes...)
}

// redactKeys removes ping keys, the keys and signatures of badges, links that unsubscribe or sign in, and misplaced API
// keys from a path. UUIDs of checks stay, because the reader of the log needs them.
func redactKeys(path string) string {
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		link := i > 0 && (segments[i-1] == "unsubscribe" || segments[i-1] == "signin")
		if link || checks.ValidPingKey(segment) || utf8.RuneCountInString(segment) == keyLength {
			segments[i] = "(key)"
		}
	}
	return strings.Join(segments, "/")
}

// encode renders a JSON document. It leaves <, > and & readable.
func encode(document any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(document); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func writeText(w http.ResponseWriter, status int, text string) {
	write(w, status, "text/plain; charset=utf-8", []byte(text))
}

// write sends an answer. It ignores errors, which mean that the client is gone.
func write(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
