package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/internal/baseurl"
	"github.com/rollcall-dev/rollcall/server/internal/openapi"
)

// contract is the OpenAPI document, with the answers that the tests of this process have seen.
type contract struct {
	document   *openapi3.T
	operations []*operation

	mu   sync.Mutex
	seen map[string]bool // "operation status", and the texts of errors
}

// operation is a method of a path.
type operation struct {
	*routers.Route
	pings bool // below {ping_base_url}
	form  *regexp.Regexp
	names []string // of the path's parameters
}

// documented is the contract for every request of these tests.
var documented = sync.OnceValue(func() *contract {
	for _, text := range []string{"image/svg+xml", "text/html"} {
		openapi3filter.RegisterBodyDecoder(text, openapi3filter.PlainBodyDecoder)
	}
	docs := openapi.New("https://rollcall.example.org", "https://rollcall.example.org/ping")
	document, err := openapi3.NewLoader().LoadFromData(docs.Document())
	if err != nil {
		panic(err)
	}
	c := &contract{document: document, seen: map[string]bool{}}
	for path, item := range document.Paths.Map() {
		for method, op := range item.Operations() {
			c.operations = append(c.operations, newOperation(document, path, item, method, op))
		}
	}
	// Operations with the fewest parameters first, so that /{uuid}/start goes before /{ping_key}/{slug}.
	slices.SortFunc(c.operations, func(a, b *operation) int {
		return 10*(len(a.names)-len(b.names)) + strings.Compare(a.Operation.OperationID, b.Operation.OperationID)
	})
	return c
})

var templateParameter = regexp.MustCompile(`\\\{(\w+)\\\}`)

func newOperation(document *openapi3.T, path string, item *openapi3.PathItem, method string, op *openapi3.Operation) *operation {
	o := &operation{
		Route: &routers.Route{Spec: document, Path: path, PathItem: item, Method: method, Operation: op},
		pings: slices.Contains(op.Tags, "Pings"),
	}
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
		request := &http.Request{URL: &url.URL{Path: path}, Header: http.Header{}}
		if openapi3filter.ValidateRequest(context.Background(), o.input(request, params, true)) == nil {
			return o, params
		}
	}
	return found, values
}

// input prepares a request for validation against the operation.
func (o *operation) input(r *http.Request, params map[string]string, pathOnly bool) *openapi3filter.RequestValidationInput {
	return &openapi3filter.RequestValidationInput{
		Request: r, PathParams: params, Route: o.Route,
		Options: &openapi3filter.Options{
			AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, SkipSettingDefaults: true,
			IncludeResponseStatus: true, ExcludeRequestBody: pathOnly, ExcludeRequestQueryParams: pathOnly,
		},
	}
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
		document.see(fmt.Sprint(o.Operation.OperationID, " ", status), strings.TrimSpace(string(answer)))
	}
	request := r.Clone(r.Context())
	request.Body = io.NopCloser(bytes.NewReader(sent))
	if o.Operation.RequestBody != nil {
		for mediaType := range o.Operation.RequestBody.Value.Content {
			request.Header.Set("Content-Type", mediaType) // the server accepts any
		}
	}
	input := o.input(request, params, false)
	// With the key in the header, pause and resume ignore the body.
	input.Options.ExcludeRequestBody = (strings.HasSuffix(o.Path, "/pause") || strings.HasSuffix(o.Path, "/resume")) && r.Header.Get("X-Api-Key") != ""
	refused := openapi3filter.ValidateRequest(r.Context(), input)
	if fault, ok := errors.AsType[*openapi3filter.RequestError](refused); ok && fault.Parameter != nil && fault.Parameter.In == "header" && status < http.StatusBadRequest {
		refused = nil // no header of a ping can lose it
	}
	if refused != nil && status < http.StatusBadRequest {
		return refused
	}
	if refused == nil && status == http.StatusBadRequest && !beyondSchemas(r, answer) {
		return fmt.Errorf("the document allows the request")
	}
	if err := o.checkHeaders(response); err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		if len(answer) > 0 {
			return errors.New("HEAD has a body")
		}
		request.Method, input.Options.ExcludeResponseBody = http.MethodGet, true // with HEAD, kin-openapi would not look at the headers
	}
	return openapi3filter.ValidateResponse(r.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: status, Header: response.Header,
		Body: io.NopCloser(bytes.NewReader(answer)), Options: input.Options,
	})
}

// everywhere lists the headers that any answer may have; the start of the document says which.
var everywhere = []string{"Accept-Ranges", "Access-Control-", "Cache-Control", "Connection", "Content-", "Date", "Referrer-Policy", "Strict-Transport-Security", "Vary", "X-Content-Type-Options"}

// checkHeaders reports a header of an answer that the document lacks.
func (o *operation) checkHeaders(response *http.Response) error {
	documented := o.Operation.Responses.Status(response.StatusCode)
	if documented == nil {
		return nil // ValidateResponse refuses it
	}
	for name := range response.Header {
		general := slices.ContainsFunc(everywhere, func(start string) bool { return strings.HasPrefix(name, start) })
		known := slices.ContainsFunc(slices.Collect(maps.Keys(documented.Value.Headers)), func(known string) bool { return http.CanonicalHeaderKey(known) == name })
		if !general && !known {
			return fmt.Errorf("the document lacks the header %s", name)
		}
	}
	return nil
}

// beyondSchemas reports whether a request was refused for a reason that no schema can express.
func beyondSchemas(r *http.Request, answer []byte) bool {
	if _, err := url.ParseQuery(r.URL.RawQuery); err != nil {
		return true
	}
	for _, reason := range []string{"channels: ", "schedule ", "tz ", "quiet_hours cannot be read", "after names ", "after has an item ", "after makes a circle", " stands alone", "Rollcall-At ", "the body is not valid ",
		`"field":"settings"`, `"field":"steps"`, `"field":"project"`, "kind is unknown", "cannot change: ", "which settings lacks", "name has a control character", "has no visible character", "title has a NUL character",
		" is neither a day ", "start is after end", "start is too long before end",
		"duration is out of range", "duration is beside an end", "end is ", "start is ", "tags has an item", `checks has \"`, "checks has a check"} {
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
	`{"error":"schedule is not a valid cron or OnCalendar expression: schedule: a cron expression has 5 parts, this one has 4","field":"schedule"}`: "the words are those of package schedule",
}

// expected returns what the tests must see: every status of every operation, and every example of an error.
func (c *contract) expected() map[string]bool {
	answers := map[string]bool{}
	for _, o := range c.operations {
		for code, response := range o.Operation.Responses.Map() {
			answers[o.Operation.OperationID+" "+code] = true
			for _, media := range response.Value.Content {
				examples := []any{media.Example}
				for _, example := range media.Examples {
					examples = append(examples, example.Value.Value)
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
