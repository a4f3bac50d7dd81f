package server

import (
	"bytes"
	"encoding/json"
	"iter"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/client/wire"
)

// maxErrorText bounds the text of an error in bytes: it may quote what the client sent.
const maxErrorText = 1000

// fail answers with the JSON document of an error. If a part of another answer has been sent, it breaks the connection off, so
// that the client cannot take the part for the whole.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := s.explain(w, r, err)
	if answer, ok := w.(*response); ok && answer.status != 0 {
		panic(http.ErrAbortHandler)
	}
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
		s.logFailure(w, r, p, err)
	}
	p.text = prose.Brief(p.text, maxErrorText)
	return p
}

// logFailure logs the cause of a 5xx. During an outage of the database every request gets a 503, and a path that is broken answers
// every request with 500, so few are logged.
func (s *Server) logFailure(w http.ResponseWriter, r *http.Request, p problem, err error) {
	path := redactKeys(r.URL.Path)
	attributes := []any{"method", r.Method, "path", path, "status", p.status, "error", err}
	if answer, ok := w.(*response); ok {
		answer.logged = true
		attributes = append(attributes, "route", answer.route, "duration", time.Since(answer.begin))
	}
	if p.status == http.StatusServiceUnavailable {
		unlogged, ok := s.outageLog.Pass(s.mon.Now())
		if !ok {
			return
		}
		if unlogged > 0 {
			attributes = append(attributes, "unlogged", unlogged)
		}
	}
	if p.status != http.StatusServiceUnavailable {
		s.faultLog.Log(s.log, slog.LevelError, strconv.Itoa(p.status)+path, "a request failed", attributes...)
		return
	}
	s.log.ErrorContext(r.Context(), "a request failed", attributes...)
}

// redactKeys removes ping keys, the keys and signatures of badges, links that unsubscribe, acknowledge or sign in, and misplaced API
// keys from a path. UUIDs of checks stay, because the reader of the log needs them.
func redactKeys(path string) string {
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		link := i > 0 && (segments[i-1] == "unsubscribe" || segments[i-1] == "acknowledge" || segments[i-1] == "signin")
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

// maxHeld bounds the memory of a list in bytes. A list up to that has a Content-Length, and an error in it is answered as one.
const maxHeld = 1 << 20

// answerList answers with a list as the only field of a JSON document, and sends a long one in parts while it is read.
func answerList[T any](c *call, field string, list iter.Seq2[T, error], document func(T) any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	b.WriteString(`{"` + field + `":[`)
	separator, sent := "", false
	for item, err := range list {
		if err != nil {
			return err
		}
		if b.Len() >= maxHeld {
			c.w.Header().Set("Content-Type", "application/json")
			if _, err := c.w.Write(b.Bytes()); err != nil || c.r.Method == http.MethodHead {
				return nil // the client is gone, or wants no more
			}
			b.Reset()
			sent = true
		}
		b.WriteString(separator)
		separator = ","
		if err := e.Encode(document(item)); err != nil {
			return err
		}
		b.Truncate(b.Len() - 1) // a line feed
	}
	b.WriteString("]}\n")
	if !sent {
		write(c.w, http.StatusOK, "application/json", b.Bytes())
		return nil
	}
	_, _ = c.w.Write(b.Bytes())
	return nil
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
