package server

import (
	"net/http"
	"time"

	"github.com/rollcall-dev/rollcall/pings"
)

// headerAt is the header in which a job says when it sent a ping that waited in a queue.
const headerAt = "Rollcall-At"

// sentAt returns the time in the header of a ping that waited in a queue of its job, or the zero time. A time that is
// refused is a 400, which ends the tries of the job.
func (s *Server) sentAt(r *http.Request) (time.Time, error) {
	values, present := r.Header[headerAt]
	if !present {
		return time.Time{}, nil
	}
	refuse := func(text string) (time.Time, error) {
		return time.Time{}, &problem{status: http.StatusBadRequest, text: headerAt + " " + text}
	}
	var at time.Time
	if at.UnmarshalText([]byte(values[0])) != nil {
		return refuse("is not a time as in 2026-03-01T12:00:00.000000Z")
	}
	switch age := s.mon.Now().Sub(at); {
	case age > s.acceptLate:
		return refuse("is too long ago: the limit is " + s.acceptLate.String())
	case age < -pings.MaxAhead:
		return refuse("is in the future")
	}
	return at, nil
}

// preflight answers the question of a browser whether a page may send the header.
func (s *Server) preflight(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Allow", s.pingMethods)
	h.Set("Access-Control-Allow-Methods", s.pingMethods)
	h.Set("Access-Control-Allow-Headers", headerAt)
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
}
