package server

import "net/http"

// headers are headers that are the same in many answers. Their values are shared by the answers, because a ping needs
// little more than a dozen allocations otherwise. Whoever adds to such a value gets a copy of his own: it has no room.
type headers []header

type header struct {
	name  string // in canonical form
	value []string
}

// newHeaders returns headers from their names and values in turn.
func newHeaders(pairs ...string) headers {
	h := make(headers, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		h = append(h, header{http.CanonicalHeaderKey(pairs[i]), []string{pairs[i+1]}})
	}
	return h
}

// set sets the headers of an answer.
func (h headers) set(to http.Header) {
	for _, each := range h {
		to[each.name] = each.value
	}
}
