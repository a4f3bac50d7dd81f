package pinghttp

import (
	"bufio"
	"bytes"
	"context"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
)

// parser reads the heads of the requests of a connection.
type parser struct {
	ctx    context.Context // of all requests
	remote string          // the address that they come from

	latest *http.Request // the latest that was read as a whole
	fields []byte        // its fields, as they came, with the line break before them
}

// parse reads a request, or returns nil if there is more to it than the short way takes. That is so wherever it is not
// certain that net/http would take it for the same request and nothing else.
func (p *parser) parse(head []byte) *http.Request {
	end := bytes.IndexByte(head, '\n')
	if end < 0 {
		return nil
	}
	method, target, ok := plainLine(head[:end])
	if !ok {
		return nil
	}
	if fields := head[end:]; p.latest == nil || !bytes.Equal(fields, p.fields) {
		if !plainFields(fields[1:]) {
			return nil
		}
		r, err := http.ReadRequest(bufio.NewReaderSize(bytes.NewReader(head), len(head)))
		if err != nil || r.Body != http.NoBody {
			return nil
		}
		r.RemoteAddr = p.remote
		p.latest, p.fields = r.WithContext(p.ctx), append(p.fields[:0], fields...)
		return p.latest
	}
	r := new(http.Request)
	*r = *p.latest
	r.Method, r.RequestURI = method, target
	var err error
	if r.URL, err = url.ParseRequestURI(target); err != nil {
		return nil
	}
	return r
}

// methods are those that go the short way.
var methods = [...]string{http.MethodGet, http.MethodHead, http.MethodPost}

// plainLine takes apart the first line of a request, without its line feed. The target is a path, with or without a query.
func plainLine(line []byte) (method, target string, ok bool) {
	name, rest, _ := bytes.Cut(line, []byte(" "))
	for _, m := range methods {
		if string(name) == m {
			method = m
		}
	}
	path, found := bytes.CutSuffix(rest, []byte(" HTTP/1.1\r"))
	if method == "" || !found || len(path) == 0 || path[0] != '/' || len(path) > 1 && path[1] == '/' {
		return "", "", false
	}
	for _, b := range path {
		if b <= ' ' || b >= 0x7f {
			return "", "", false
		}
	}
	return method, string(path), true
}

// plainFields reports whether the fields of a request, up to the end of its head, are well-formed, name one host, and say
// neither that a body follows nor more about the connection than whether it is kept. Nothing may come after the head.
func plainFields(fields []byte) bool {
	hosts := 0
	for {
		line, rest, found := bytes.Cut(fields, []byte("\r\n"))
		switch {
		case !found:
			return false
		case len(line) == 0:
			return hosts == 1 && len(rest) == 0
		}
		name, value, found := bytes.Cut(line, []byte(":"))
		if !found || !isToken(name) || !isText(value) {
			return false
		}
		switch value := string(bytes.Trim(value, " \t")); textproto.CanonicalMIMEHeaderKey(string(name)) {
		case "Host":
			if hosts++; !isHost(value) {
				return false
			}
		case "Content-Length":
			if value != "0" {
				return false
			}
		case "Connection":
			if !strings.EqualFold(value, "keep-alive") && !strings.EqualFold(value, "close") {
				return false
			}
		case "Transfer-Encoding", "Trailer", "Te", "Expect", "Upgrade", "Http2-Settings", "Keep-Alive", "Proxy-Connection":
			return false
		}
		fields = rest
	}
}

// isToken reports whether a text can be the name of a field.
func isToken[T []byte | string](text T) bool {
	return len(text) > 0 && hasOnly(text, "!#$%&'*+-.^_`|~")
}

// isText reports whether a text can be the value of a field.
func isText(text []byte) bool {
	for _, b := range text {
		if b < ' ' && b != '\t' || b == 0x7f {
			return false
		}
	}
	return true
}

// isHost reports whether a text is a host with or without a port, as almost all are written.
func isHost(text string) bool { return hasOnly(text, "-.:[]_") }

// hasOnly reports whether a text consists of letters and digits of ASCII and of others.
func hasOnly[T []byte | string](text T, others string) bool {
	for i := range len(text) {
		b := text[i]
		letter := 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9'
		if !letter && strings.IndexByte(others, b) < 0 {
			return false
		}
	}
	return true
}
