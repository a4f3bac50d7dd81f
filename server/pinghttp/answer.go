package pinghttp

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// answer is the [http.ResponseWriter] of a request. It keeps all until the handler has returned.
type answer struct {
	header http.Header
	status int
	body   []byte

	// Memory that is used again.
	names []string
	text  []byte
}

var _ http.ResponseWriter = (*answer)(nil)

// maxKept is how much memory for bodies is kept for the next answer.
const maxKept = 4 << 10

func (a *answer) reset() {
	clear(a.header)
	a.status, a.body = 0, a.body[:0]
	if cap(a.body) > maxKept {
		a.body, a.text = nil, nil
	}
}

// Header returns the fields of the answer.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader sets the status. Only the first that is not informational counts.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status = status
	}
}

// Write adds to the body.
func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	if !allowsBody(a.status) {
		return 0, http.ErrBodyNotAllowed
	}
	a.body = append(a.body, p...)
	return len(p), nil
}

// allowsBody reports whether an answer with a status may have a body.
func allowsBody(status int) bool {
	return status != http.StatusNoContent && status != http.StatusNotModified
}

// message returns the answer as it is sent. last says that no other follows, as the connection ends with it or the handler
// wants that.
func (a *answer) message(method, date string, ending bool) (message []byte, last bool) {
	a.WriteHeader(http.StatusOK)
	h := a.header
	if allowsBody(a.status) {
		if len(a.body) > 0 || method != http.MethodHead {
			h.Del("Transfer-Encoding")
			length := strconv.Itoa(len(a.body))
			if told := h["Content-Length"]; len(told) != 1 || told[0] != length {
				h["Content-Length"] = []string{length}
			}
		}
		if _, set := h["Content-Type"]; !set && len(a.body) > 0 {
			h["Content-Type"] = []string{http.DetectContentType(a.body)}
		}
	}
	if ending {
		h["Connection"] = []string{"close"}
	}
	b := append(a.text[:0], "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(a.status), 10)
	b = append(b, ' ')
	b = append(b, http.StatusText(a.status)...)
	b = append(b, "\r\n"...)
	if _, set := h["Date"]; !set {
		b = appendField(b, "Date", date)
	}
	b = a.appendFields(b)
	b = append(b, "\r\n"...)
	if method != http.MethodHead {
		b = append(b, a.body...)
	}
	a.text = b
	return b, ending || closes(h["Connection"])
}

// appendFields adds the fields in the order of their names, without those that are not well-formed.
func (a *answer) appendFields(b []byte) []byte {
	a.names = a.names[:0]
	for name := range a.header {
		a.names = append(a.names, name)
	}
	slices.Sort(a.names)
	for _, name := range a.names {
		if !isToken(name) {
			continue
		}
		for _, value := range a.header[name] {
			b = appendField(b, name, value)
		}
	}
	return b
}

// lineBreaks become spaces, as a value must not end its line.
var lineBreaks = strings.NewReplacer("\r", " ", "\n", " ")

func appendField(b []byte, name, value string) []byte {
	if strings.IndexByte(value, '\n') >= 0 || strings.IndexByte(value, '\r') >= 0 {
		value = lineBreaks.Replace(value)
	}
	b = append(b, name...)
	b = append(b, ": "...)
	b = append(b, strings.Trim(value, " \t")...)
	return append(b, "\r\n"...)
}

// closes reports whether the field Connection says that the connection is to be closed.
func closes(values []string) bool {
	return slices.ContainsFunc(values, func(value string) bool {
		return slices.ContainsFunc(strings.Split(value, ","), func(option string) bool {
			return strings.EqualFold(strings.TrimSpace(option), "close")
		})
	})
}
