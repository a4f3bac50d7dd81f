package server_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/internal/baseurl"
)

// contract is the OpenAPI document, with the answers that the tests of this process have seen.
type contract struct {
	document   *description
	operations []*operation

	mu   sync.Mutex
	seen map[string]bool // "operation status", and the texts of errors
}

// operation is a method of a path.
type operation struct {
	*described
	Method, Path string
	pings        bool // below {ping_base_url}
	form         *regexp.Regexp
	names        []string // of the path's parameters
}

// documented is the contract for every request of these tests.
var documented = sync.OnceValue(func() *contract {
	document, err := readDocument()
	if err != nil {
		panic(err)
	}
	c := &contract{document: document, seen: map[string]bool{}}
	for path, item := range document.Paths {
		for method, op := range map[string]*described{"GET": item.Get, "HEAD": item.Head, "POST": item.Post, "PUT": item.Put, "DELETE": item.Delete} {
			if op != nil {
				op.Parameters = append(op.Parameters, item.Parameters...)
				c.operations = append(c.operations, newOperation(path, method, op))
			}
		}
	}
	// Operations with the fewest parameters first, so that /{uuid}/start goes before /{ping_key}/{slug}.
	slices.SortFunc(c.operations, func(a, b *operation) int {
		return 10*(len(a.names)-len(b.names)) + strings.Compare(a.OperationID, b.OperationID)
	})
	return c
})

var templateParameter = regexp.MustCompile(`\\\{(\w+)\\\}`)

func newOperation(path, method string, op *described) *operation {
	o := &operation{described: op, Method: method, Path: path, pings: slices.Contains(op.Tags, "Pings")}
	if o.pings {
		path = strings.TrimPrefix(path, "/ping")
		o.Path = path
	}
	form := regexp.QuoteMeta(strings.TrimSuffix(path, "/"))
	for _, match := range templateParameter.FindAllStringSubmatch(form, -1) {
		o.names = append(o.names, match[1])
	}
	o.form = regexp.MustCompile("^" + templateParameter.ReplaceAllString(form, "([^/]+)") + "/?$")
	return o
}

// find returns the operation for an escaped path, with the values of its parameters. If several match, it takes the one
// whose parameters are valid.
func (c *contract) find(pings bool, method, path string) (*operation, map[string]string) {
	var found *operation
	var values map[string]string
	for _, o := range c.operations {
		match := o.form.FindStringSubmatch(path)
		if match == nil || o.pings != pings || o.Method != method {
			continue
		}
		params := map[string]string{}
		for i, name := range o.names {
			params[name], _ = url.PathUnescape(match[i+1])
		}
		if found == nil {
			found, values = o, params
		}
		if o.acceptsPath(params) == nil {
			return o, params
		}
	}
	return found, values
}

// conforming is a transport that checks requests and answers against the OpenAPI document: the document must allow what
// the server accepts, and must have every answer.
type conforming struct {
	s          *site
	next       http.RoundTripper
	base, ping *url.URL
}

// conform wraps the client of the site, whose server has this configuration, in a conforming transport.
func (s *site) conform(client *http.Client, config server.Config) {
	s.Helper()
	if config.BaseURL == "" {
		config.BaseURL = baseurl.Default
	}
	if config.PingBaseURL == "" {
		config.PingBaseURL = strings.TrimSuffix(config.BaseURL, "/") + "/ping"
	}
	base, err := url.Parse(strings.TrimSuffix(config.BaseURL, "/"))
	s.must(err)
	ping, err := url.Parse(strings.TrimSuffix(config.PingBaseURL, "/"))
	s.must(err)
	client.Transport = &conforming{s, client.Transport, base, ping}
	s.client = client
}

func (c *conforming) RoundTrip(r *http.Request) (*http.Response, error) {
	var sent []byte
	if r.GetBody != nil {
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		if sent, err = io.ReadAll(body); err != nil {
			return nil, err
		}
	}
	response, err := c.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(answer))
	if err := c.check(r, sent, response, answer); err != nil {
		c.s.Errorf("%s %s: answer %d %.300s is not as documented: %v", r.Method, r.URL, response.StatusCode, answer, err)
	}
	return response, nil
}

// locate reports whether a request is a ping, and returns its path below the base URL.
func (c *conforming) locate(r *http.Request) (pings bool, path string) {
	path = r.URL.EscapedPath()
	if path == "/livez" || path == "/readyz" { // on every host
		return false, path
	}
	if c.ping.Path == "" && c.ping.Host != c.base.Host {
		if strings.EqualFold(r.Host, c.ping.Host) {
			return true, path
		}
	} else if rest, found := strings.CutPrefix(path, c.ping.Path); found && c.ping.Path != "" {
		return true, rest
	}
	path, found := strings.CutPrefix(path, c.base.Path)
	if !found {
		return false, "elsewhere"
	}
	known := regexp.MustCompile("^/(api|badge|b|livez|readyz)?(/|$)").MatchString(path)
	return !known && c.ping.Path == "" && c.ping.Host == c.base.Host, path
}

func (c *conforming) check(r *http.Request, sent []byte, response *http.Response, answer []byte) error {
	pings, path := c.locate(r)
	method := r.Method
	if method == http.MethodHead && !pings {
		method = http.MethodGet
	}
	document := documented()
	o, params := document.find(pings, method, path)
	status := response.StatusCode
	if o == nil {
		if strings.HasPrefix(path, "/unsubscribe/") || strings.HasPrefix(path, "/acknowledge/") { // a page for people, outside the API
			return nil
		}
		if status == http.StatusNotFound || status == http.StatusMethodNotAllowed || method == http.MethodOptions || path == "/" || path == "" {
			return nil
		}
		return fmt.Errorf("the document has no such operation")
	}
	if method == r.Method {
		document.see(fmt.Sprint(o.OperationID, " ", status), strings.TrimSpace(string(answer)))
	}
	if (strings.HasSuffix(o.Path, "/pause") || strings.HasSuffix(o.Path, "/resume")) && r.Header.Get("X-Api-Key") != "" {
		sent = nil // with the key in the header, pause and resume ignore the body
	}
	refused := o.acceptsRequest(r, params, sent)
	if refused != nil && status < http.StatusBadRequest {
		return refused
	}
	if refused == nil && status == http.StatusBadRequest { // no header of a ping can lose it
		refused = o.acceptsHeaders(r)
	}
	if refused == nil && status == http.StatusBadRequest && !beyondSchemas(r, answer) {
		return fmt.Errorf("the document allows the request")
	}
	return o.acceptsAnswer(r.Method, response, answer)
}

// everywhere lists the headers that any answer may have; the start of the document says which.
var everywhere = []string{"Accept-Ranges", "Access-Control-", "Cache-Control", "Connection", "Content-", "Date", "Referrer-Policy", "Strict-Transport-Security", "Vary", "X-Content-Type-Options"}

// beyondSchemas reports whether a request was refused for a reason that no schema can express.
func beyondSchemas(r *http.Request, answer []byte) bool {
	if _, err := url.ParseQuery(r.URL.RawQuery); err != nil {
		return true
	}
	for _, reason := range []string{"channels: ", "schedule ", "tz ", "quiet_hours cannot be read", "after names ", "after has an item ", "after makes a circle", " stands alone", "Rollcall-At ", "the body is not valid ",
		`"field":"settings"`, `"field":"steps"`, `"field":"project"`, "kind is unknown", `kind is not \"snooze\"`, "cannot change: ", "which settings lacks", "name has a control character", "has no visible character", "title has a NUL character",
		" is neither a day ", "start is after end", "start is too long before end",
		"duration is out of range", "duration is beside an end", "end is ", "start is ", "tags has an item", `checks has \"`, "checks has a check", `names has \"`, "names has a check"} {
		if bytes.Contains(answer, []byte(reason)) {
			return true
		}
	}
	return false
}

func (c *contract) see(answers ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, answer := range answers {
		if len(answer) < 1000 {
			c.seen[answer] = true
		}
	}
}

// unseen lists documented answers that no test gets through the client of a site, and why.
var unseen = map[string]string{
	"the body could not be read to its end":                    "TestBrokenBody has connections of its own",
	`{"error":"too many requests: the limit is 100 a minute"}`: "the tests have lower limits",
	`{"error":"schedule is not a valid cron or OnCalendar expression: a cron expression has 5 parts, this one has 4","field":"schedule"}`: "the words are those of package schedule",
}

// expected returns what the tests must see: every status of every operation, and every example of an error.
func (c *contract) expected() map[string]bool {
	answers := map[string]bool{}
	for _, o := range c.operations {
		for code, response := range o.Responses {
			answers[o.OperationID+" "+code] = true
			for _, media := range response.Content {
				examples := []any{media.Example}
				for _, example := range media.Examples {
					examples = append(examples, example.Value)
				}
				for _, example := range examples {
					if text, ok := example.(string); ok && code >= "400" {
						answers[text] = true
					} else if document, ok := example.(object); ok && code >= "400" {
						var text strings.Builder
						encoder := json.NewEncoder(&text)
						encoder.SetEscapeHTML(false) // as the server does
						if err := encoder.Encode(document); err != nil {
							panic(err)
						}
						answers[strings.TrimSpace(text.String())] = true
					}
				}
			}
		}
	}
	return answers
}

// covered returns the exit status of the tests: that of m.Run, or 1 if all tests have passed without seeing every
// documented answer.
func (c *contract) covered(status int) int {
	for _, name := range []string{"test.run", "test.skip", "test.list", "test.fuzz"} {
		if flag.Lookup(name).Value.String() != "" {
			return status
		}
	}
	if status != 0 {
		return status
	}
	for _, answer := range slices.Sorted(maps.Keys(c.expected())) {
		if !c.seen[answer] && unseen[answer] == "" {
			fmt.Fprintln(os.Stderr, "documented, but not seen by any test:", answer)
			status = 1
		}
	}
	return status
}
