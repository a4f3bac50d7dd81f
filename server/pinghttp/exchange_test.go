package pinghttp_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/server/pinghttp"
)

// script is a connection of a client that sends pieces, each after the answer to the one before, and then no more.
type script struct {
	net.Conn // nil: what is not below is not called
	pieces   [][]byte

	mu     sync.Mutex
	sent   bytes.Buffer
	once   sync.Once
	closed chan struct{}
}

func (s *script) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pieces) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.pieces[0])
	if s.pieces[0] = s.pieces[0][n:]; len(s.pieces[0]) == 0 {
		s.pieces = s.pieces[1:]
	}
	return n, nil
}

func (s *script) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent.Write(p)
}

func (s *script) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

// listener is a listener of the connections and errors that it is given.
type listener struct {
	conns chan net.Conn
	errs  chan error
	done  chan struct{}
	once  sync.Once
}

func newListener() *listener {
	return &listener{conns: make(chan net.Conn, 1), errs: make(chan error), done: make(chan struct{})}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case err := <-l.errs:
		return nil, err
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *listener) Addr() net.Addr { return address }

// seen is what a handler is given.
type seen struct {
	Method, Target, Path, RawPath, Query, Proto, Host, Remote, Local string
	Header                                                           http.Header
	Length                                                           int64
	Encoding                                                         []string
	Close, NoBody                                                    bool
	Body                                                             string
}

var address = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8000}

func (s *script) LocalAddr() net.Addr  { return address }
func (s *script) RemoteAddr() net.Addr { return address }

// It never waits.
func (s *script) SetDeadline(time.Time) error      { return nil }
func (s *script) SetReadDeadline(time.Time) error  { return nil }
func (s *script) SetWriteDeadline(time.Time) error { return nil }

// show is a handler that tells what it was given and answers as the path asks for. It notes the methods of requests, and
// how many of them went the short way.
type show struct {
	mu      sync.Mutex
	methods []string
	short   int
}

func (h *show) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.methods = append(h.methods, r.Method)
	if _, long := w.(http.Flusher); !long {
		h.short++
	}
	h.mu.Unlock()
	path, status := r.URL.Path, http.StatusOK
	switch {
	case strings.HasSuffix(path, "/abort"):
		panic(http.ErrAbortHandler)
	case strings.HasSuffix(path, "/nothing"):
		return
	case strings.HasSuffix(path, "/close"):
		w.Header().Set("Connection", "close")
	case strings.HasSuffix(path, "/length"):
		w.Header().Set("Content-Length", "2")
		_, _ = w.Write([]byte("OK"))
		return
	case strings.HasSuffix(path, "/text"):
		w.Header().Set("Content-Type", "text/plain")
	case strings.HasSuffix(path, "/odd"):
		w.Header()["Line"] = []string{" two\r\nlines ", "2"}
		w.Header()["not a name"] = []string{"1"}
		w.Header()["Date"] = nil
	case strings.HasSuffix(path, "/304"):
		w.WriteHeader(http.StatusNotModified)
		_, _ = w.Write([]byte("not sent"))
		return
	case strings.HasSuffix(path, "/204"):
		w.WriteHeader(http.StatusNoContent)
		return
	case strings.HasSuffix(path, "/404"):
		status = http.StatusNotFound
	}
	body, err := io.ReadAll(r.Body)
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	text, _ := json.Marshal(seen{ // of texts and numbers, which never fails
		Method: r.Method, Target: r.RequestURI, Path: path, RawPath: r.URL.RawPath, Query: r.URL.RawQuery, Proto: r.Proto,
		Host: r.Host, Remote: r.RemoteAddr, Local: fmt.Sprint(local), Header: r.Header, Length: r.ContentLength,
		Encoding: r.TransferEncoding, Close: r.Close, NoBody: r.Body == http.NoBody, Body: fmt.Sprint(string(body), err),
	})
	if len(text) > 2000 { // which net/http sends in chunks if it has no length
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	}
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// exchange has a server answer pieces on one connection. It returns the answers without their dates, and how many
// requests went the short way.
func exchange(t *testing.T, short bool, pieces ...string) (answers []string, taken int) {
	t.Helper()
	h := new(show)
	web := &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0), MaxHeaderBytes: 64 << 10}
	serve, end := web.Serve, web.Close
	if short {
		fast := pinghttp.New(web, func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/ping") })
		serve, end = fast.Serve, fast.Close
	}
	c := &script{closed: make(chan struct{})}
	for _, piece := range pieces {
		if piece != "" {
			c.pieces = append(c.pieces, []byte(piece))
		}
	}
	l := newListener()
	l.conns <- c
	ended := serving(t, serve, l)
	<-c.closed
	_ = end()
	ended()
	h.mu.Lock()
	defer h.mu.Unlock()
	return split(t, c, h.methods), h.short
}

// serving has a server serve, and returns what waits until it was closed.
func serving(t *testing.T, serve func(net.Listener) error, l net.Listener) (ended func()) {
	served := make(chan error, 1)
	go func() { served <- serve(l) }()
	return func() {
		t.Helper()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve returned %v", err)
		}
	}
}

// split takes apart what a server has sent in answer to requests with these methods, and after them if one could not be
// read. An answer begins with its status line, and the fields follow in the order of their names.
func split(t *testing.T, c *script, methods []string) (answers []string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for sent := bufio.NewReader(&c.sent); ; {
		if _, err := sent.Peek(1); err != nil {
			return answers
		}
		var method string
		if len(methods) > 0 {
			method, methods = methods[0], methods[1:]
		}
		r, err := http.ReadResponse(sent, &http.Request{Method: method})
		if err != nil {
			t.Errorf("the answer cannot be read: %v", err)
			return answers
		}
		body, err := io.ReadAll(r.Body)
		if date := r.Header["Date"]; len(date) == 1 {
			if _, err := http.ParseTime(date[0]); err != nil {
				t.Error(err)
			}
			r.Header["Date"] = []string{"a date"}
		}
		var fields bytes.Buffer
		_ = r.Header.Write(&fields)
		answers = append(answers, fmt.Sprintf("%s %s\n%s%d %v %v\n%s%v",
			r.Proto, r.Status, fields.String(), r.ContentLength, r.TransferEncoding, r.Close, body, err))
	}
}

const (
	ping   = "GET /ping/1 HTTP/1.1\r\nHost: example.org\r\nUser-Agent: curl/8\r\nAccept: */*\r\n\r\n"
	next   = "GET /ping/2?rid=3 HTTP/1.1\r\nHost: example.org\r\nUser-Agent: curl/8\r\nAccept: */*\r\n\r\n"
	fields = " HTTP/1.1\r\nHost: example.org\r\n\r\n"
)

// exchanges are what clients send on a connection, and how many of the requests are to go the short way.
var exchanges = map[string]struct {
	pieces []string
	short  int
}{
	"one ping":                          {[]string{ping}, 1},
	"the same twice":                    {[]string{ping, ping}, 2},
	"another target":                    {[]string{ping, next, ping}, 3},
	"other fields":                      {[]string{ping, "GET /ping/1" + fields, ping}, 3},
	"HEAD and POST":                     {[]string{"HEAD /ping/1" + fields, "POST /ping/1" + fields, "HEAD /ping/404" + fields}, 3},
	"a HEAD with a length":              {[]string{"HEAD /ping/length" + fields, "GET /ping/length" + fields, "HEAD /ping/nothing" + fields}, 3},
	"an empty answer":                   {[]string{"GET /ping/nothing" + fields, "POST /ping/nothing" + fields}, 2},
	"an answer with a type":             {[]string{"GET /ping/text" + fields, "HEAD /ping/text" + fields}, 2},
	"answers without a body":            {[]string{"GET /ping/204" + fields, "GET /ping/304" + fields, ping}, 3},
	"an answer with odd fields":         {[]string{"GET /ping/odd" + fields, ping}, 2},
	"a long target":                     {[]string{"GET /ping/" + strings.Repeat("x", 3000) + fields, "HEAD /ping/" + strings.Repeat("x", 3000) + fields, ping}, 3},
	"the handler closes":                {[]string{"GET /ping/close" + fields, ping}, 1},
	"the handler aborts":                {[]string{"GET /ping/abort" + fields, ping}, 1},
	"a length of nothing":               {[]string{"POST /ping/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", ping}, 2},
	"kept alive":                        {[]string{"GET /ping/1 HTTP/1.1\r\nHost: a\r\nConnection: Keep-Alive\r\n\r\n", ping}, 2},
	"escapes and a query":               {[]string{"GET /ping/a%2Fb%20c?x=%zz&y;z#f" + fields, "GET /ping/%41?" + fields}, 2},
	"many fields of a name":             {[]string{"GET /ping/1 HTTP/1.1\r\nhost:a:80\r\nX-Forwarded-For: 1\r\nx-forwarded-for:\t2 \r\nX-Empty:\r\n\r\n"}, 1},
	"a field that is not ASCII":         {[]string{"GET /ping/1 HTTP/1.1\r\nHost: a\r\nUser-Agent: \xff\u00e9\r\n\r\n"}, 1},
	"Pragma":                            {[]string{"GET /ping/1 HTTP/1.1\r\nHost: a\r\nPragma: no-cache\r\n\r\n"}, 1},
	"an empty host":                     {[]string{"GET /ping/1 HTTP/1.1\r\nHost:\r\n\r\n"}, 1},
	"line breaks after a POST":          {[]string{"POST /ping/1" + fields, "\r\n" + ping, ping}, 3},
	"line breaks after a POST, alone":   {[]string{"POST /ping/1" + fields, "\r\n", ping}, 1},
	"line breaks after a GET":           {[]string{ping, "\r\n" + ping}, 1},
	"not a ping":                        {[]string{"GET /api" + fields, ping}, 0},
	"not a ping, after pings":           {[]string{ping, ping, "GET /api" + fields, ping}, 2},
	"a body":                            {[]string{"POST /ping/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi", ping}, 0},
	"a body later":                      {[]string{ping, "POST /ping/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n", "hi", ping}, 1},
	"a body in chunks":                  {[]string{"POST /ping/1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", ping}, 0},
	"a length and chunks":               {[]string{"POST /ping/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", ping}, 0},
	"a body that is waited for":         {[]string{"POST /ping/1 HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n", "hi"}, 0},
	"two lengths":                       {[]string{"POST /ping/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 2\r\n\r\nhi", ping}, 0},
	"two lengths of nothing":            {[]string{"POST /ping/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n", ping}, 2},
	"a signed length":                   {[]string{"POST /ping/1 HTTP/1.1\r\nHost: a\r\nContent-Length: +0\r\n\r\n", ping}, 0},
	"a length with zeros":               {[]string{"POST /ping/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 00\r\n\r\n", ping}, 0},
	"two requests in one piece":         {[]string{ping + next, ping}, 0},
	"two requests in one piece, later":  {[]string{ping, ping + next, ping}, 1},
	"a head in two pieces":              {[]string{ping[:30], ping[30:], ping}, 0},
	"a head in two pieces, later":       {[]string{ping, ping[:30], ping[30:], ping}, 1},
	"a head that ends early":            {[]string{ping, ping[:30]}, 1},
	"a head that is long":               {[]string{"GET /ping/" + strings.Repeat("x", 5000) + fields, ping}, 0},
	"a head that is too long":           {[]string{ping, "GET /ping/" + strings.Repeat("x", 100_000) + fields, ping}, 1},
	"the client closes":                 {[]string{"GET /ping/1 HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n", ping}, 1},
	"the client closes later":           {[]string{ping, "HEAD /ping/1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", ping}, 2},
	"more about the connection":         {[]string{"GET /ping/1 HTTP/1.1\r\nHost: a\r\nConnection: close, x\r\n\r\n", ping}, 0},
	"the connection, twice":             {[]string{"GET /ping/1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\nConnection: keep-alive\r\n\r\n", ping}, 1},
	"an upgrade":                        {[]string{"GET /ping/1 HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", ping}, 0},
	"HTTP/1.0":                          {[]string{"GET /ping/1 HTTP/1.0\r\n\r\n", ping}, 0},
	"HTTP/2":                            {[]string{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"}, 0},
	"another version":                   {[]string{"GET /ping/1 HTTP/1.2\r\nHost: a\r\n\r\n"}, 0},
	"no host":                           {[]string{"GET /ping/1 HTTP/1.1\r\n\r\n", ping}, 0},
	"two hosts":                         {[]string{"GET /ping/1 HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", ping}, 0},
	"a host that is none":               {[]string{"GET /ping/1 HTTP/1.1\r\nHost: a/b\r\n\r\n", "GET /ping/1 HTTP/1.1\r\nHost: a b\r\n\r\n"}, 0},
	"an absolute target":                {[]string{"GET http://other/ping/1" + fields, ping}, 0},
	"a target with two slashes":         {[]string{"GET //ping/1" + fields, ping}, 0},
	"a target that is none":             {[]string{"GET /ping/%zz" + fields, ping}, 0},
	"a target that is none, later":      {[]string{"GET /ping/1" + fields, "GET /ping/%zz" + fields, ping}, 1},
	"no target":                         {[]string{"GET" + fields, ping}, 0},
	"a target with a space":             {[]string{"GET /ping/1 2" + fields, ping}, 0},
	"another method":                    {[]string{"PUT /ping/1" + fields, ping}, 0},
	"a method in lower case":            {[]string{"get /ping/1" + fields, ping}, 0},
	"bare line feeds":                   {[]string{"GET /ping/1 HTTP/1.1\nHost: a\n\n", ping}, 0},
	"a bare line feed in the fields":    {[]string{"GET /ping/1 HTTP/1.1\r\nHost: a\nX: 1\r\n\r\n", ping}, 0},
	"a carriage return in a field":      {[]string{"GET /ping/1 HTTP/1.1\r\nHost: a\r\nX: 1\rTransfer-Encoding: chunked\r\n\r\n", ping}, 0},
	"NUL in a field":                    {[]string{"GET /ping/1 HTTP/1.1\r\nHost: a\r\nX: \x00\r\n\r\n", ping}, 0},
	"a field on two lines":              {[]string{"GET /ping/1 HTTP/1.1\r\nHost: a\r\nX: 1\r\n 2\r\n\r\n", ping}, 0},
	"a field without a name":            {[]string{"GET /ping/1 HTTP/1.1\r\nHost: a\r\n: 1\r\n\r\n", ping}, 0},
	"a space after a name":              {[]string{"GET /ping/1 HTTP/1.1\r\nHost: a\r\nContent-Length : 2\r\n\r\nhi", ping}, 0},
	"a space before the fields":         {[]string{"GET /ping/1 HTTP/1.1\r\n Host: a\r\n\r\n", ping}, 0},
	"a field without a colon":           {[]string{"GET /ping/1 HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", ping}, 0},
	"nothing":                           {nil, 0},
	"an empty line":                     {[]string{"\r\n\r\n"}, 0},
	"what has nothing to do with HTTP":  {[]string{"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03"}, 0},
	"a field that concerns a body only": {[]string{"GET /ping/1 HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\n\r\n", ping}, 2},
}

// compare holds that net/http alone gives the same answers. short is how many requests went the short way.
func compare(t *testing.T, pieces ...string) (short int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { // net/http sleeps before it closes
		want, _ := exchange(t, false, pieces...)
		var got []string
		got, short = exchange(t, true, pieces...)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-net/http +pinghttp:\n%s", diff)
		}
	})
	return short
}

// TestSameAnswers holds that a client gets the same answers as from net/http, and the handler the same requests; and
// which requests go the short way.
func TestSameAnswers(t *testing.T) {
	for name, e := range exchanges {
		t.Run(name, func(t *testing.T) {
			if short := compare(t, e.pieces...); short != e.short {
				t.Errorf("%d requests went the short way, not %d", short, e.short)
			}
		})
	}
}

// FuzzSameAnswers holds that for anything that a client sends in three pieces.
func FuzzSameAnswers(f *testing.F) {
	for _, e := range exchanges {
		var pieces [3]string
		copy(pieces[:], e.pieces)
		f.Add(pieces[0], pieces[1], pieces[2])
	}
	f.Fuzz(func(t *testing.T, first, second, third string) {
		for _, piece := range []string{second, third} {
			if 0 < len(piece) && len(piece) < 4 {
				// Where a connection ends in the first three bytes of a request, net/http answers with 400 if it is
				// the first, and with nothing after others. One that was left to it has had none before.
				return
			}
		}
		compare(t, first, second, third)
	})
}
