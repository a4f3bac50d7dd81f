package server_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rollcall-dev/rollcall/server/internal/openapi"
)

// description is what the tests read of the OpenAPI document. Each reference is replaced by what it names.
type description struct {
	Paths      map[string]item
	Components struct{ Schemas map[string]*schema }
}

// item is a path with its operations by method.
type item struct {
	Get, Head, Post, Put, Delete *described
	Parameters                   []parameter // of each operation
}

// described is an operation in the document.
type described struct {
	OperationID string
	Tags        []string
	Security    []any
	Parameters  []parameter
	RequestBody *struct {
		Required bool
		Content  map[string]media
	}
	Responses map[string]struct {
		Headers map[string]parameter
		Content map[string]media
	}
}

// parameter is a parameter of a request or a header of an answer.
type parameter struct {
	Name, In string
	Required bool
	Schema   *schema
}

// media is a body in one media type.
type media struct {
	Schema   *schema
	Example  any
	Examples map[string]struct{ Value any }
}

// schema is a schema with those of its keywords that the tests read. A library validates by all of them.
type schema struct {
	Type             any
	Enum             []any
	Minimum, Maximum *float64
	MaxLength        *int
	Required         []string
	Properties       map[string]*schema
	Items            *schema
	Default          any
	additional       *schema // AdditionalProperties, unless it is false
	compiled         func() *jsonschema.Schema
}

// UnmarshalJSON decodes a schema, which may be true or false.
func (s *schema) UnmarshalJSON(text []byte) error {
	text = slices.Clone(text)
	s.compiled = sync.OnceValue(func() *jsonschema.Schema {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			panic(err)
		}
		c := jsonschema.NewCompiler()
		c.AssertFormat()
		c.RegisterFormat(&jsonschema.Format{Name: "uuid", Validate: func(any) error { return nil }}) // patterns say whether one may be empty
		if err := c.AddResource("schema.json", value); err != nil {
			panic(err)
		}
		return c.MustCompile("schema.json")
	})
	if text[0] != '{' {
		return nil
	}
	type plain schema
	var more struct{ AdditionalProperties *schema }
	if err := json.Unmarshal(text, &more); err != nil {
		return err
	}
	s.additional = more.AdditionalProperties
	return json.Unmarshal(text, (*plain)(s))
}

// accepts validates a value.
func (s *schema) accepts(value any) error { return s.compiled().Validate(value) }

// read parses a value of a parameter.
func (s *schema) read(text string) (any, error) {
	switch s.Type {
	case "integer":
		return strconv.ParseInt(text, 10, 64)
	case "number":
		return strconv.ParseFloat(text, 64)
	case "boolean":
		return strconv.ParseBool(text)
	default:
		return text, nil
	}
}

// accepts validates the values of a parameter or a header.
func (p *parameter) accepts(name string, values []string) error {
	if len(values) == 0 && p.Required {
		return fmt.Errorf("%s is missing", name)
	}
	if len(values) == 0 {
		return nil
	}
	var value any
	var err error
	if p.Schema.Type == "array" {
		items := make([]any, len(values))
		for i, text := range values {
			if items[i], err = p.Schema.Items.read(text); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		value = items
	} else if value, err = p.Schema.read(values[0]); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := p.Schema.accepts(value); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// accepts validates a body of a media type.
func (m media) accepts(mediaType string, body []byte) error {
	if mediaType != "application/json" {
		return m.Schema.accepts(string(body))
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	return m.Schema.accepts(value)
}

// acceptsPath validates the parameters of a path.
func (d *described) acceptsPath(params map[string]string) error {
	for _, p := range d.Parameters {
		if p.In == "path" {
			if err := p.accepts(p.Name, []string{params[p.Name]}); err != nil {
				return err
			}
		}
	}
	return nil
}

// acceptsRequest validates all of a request but its headers.
func (d *described) acceptsRequest(r *http.Request, params map[string]string, body []byte) error {
	if err := d.acceptsPath(params); err != nil {
		return err
	}
	query := r.URL.Query()
	for _, p := range d.Parameters {
		if p.In == "query" {
			if err := p.accepts(p.Name, query[p.Name]); err != nil {
				return err
			}
		}
	}
	if d.RequestBody == nil {
		return nil
	}
	if len(body) == 0 {
		if d.RequestBody.Required {
			return errors.New("the body is missing")
		}
		return nil
	}
	for mediaType, m := range d.RequestBody.Content { // the server accepts any
		if err := m.accepts(mediaType, body); err != nil {
			return fmt.Errorf("the body: %w", err)
		}
	}
	return nil
}

// acceptsHeaders validates the headers of a request.
func (d *described) acceptsHeaders(r *http.Request) error {
	for _, p := range d.Parameters {
		if p.In == "header" {
			if err := p.accepts(p.Name, r.Header.Values(p.Name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// acceptsAnswer validates an answer. An answer to HEAD has no body.
func (d *described) acceptsAnswer(method string, answer *http.Response, body []byte) error {
	documented, ok := d.Responses[strconv.Itoa(answer.StatusCode)]
	if !ok {
		return fmt.Errorf("the document has no status %d", answer.StatusCode)
	}
	for name, h := range documented.Headers {
		if err := h.accepts(name, answer.Header.Values(name)); err != nil {
			return err
		}
	}
	for name := range answer.Header {
		general := slices.ContainsFunc(everywhere, func(start string) bool { return strings.HasPrefix(name, start) })
		known := false
		for header := range documented.Headers {
			known = known || http.CanonicalHeaderKey(header) == name
		}
		if !general && !known {
			return fmt.Errorf("the document lacks the header %s", name)
		}
	}
	if method == http.MethodHead {
		if len(body) > 0 {
			return errors.New("HEAD has a body")
		}
		return nil
	}
	if len(documented.Content) == 0 {
		return nil
	}
	mediaType, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if err != nil {
		return err
	}
	m, ok := documented.Content[mediaType]
	if !ok {
		return fmt.Errorf("the document has no %s", mediaType)
	}
	return m.accepts(mediaType, body)
}

// readDocument returns the OpenAPI document of a server.
func readDocument() (*description, error) {
	var all map[string]any
	if err := json.Unmarshal(openapi.New("https://rollcall.example.org", "https://rollcall.example.org/ping").Document(), &all); err != nil {
		return nil, err
	}
	components := all["components"].(map[string]any)
	var resolve func(part any) any
	resolve = func(part any) any {
		switch part := part.(type) {
		case []any:
			list := make([]any, len(part))
			for i, item := range part {
				list[i] = resolve(item)
			}
			return list
		case map[string]any:
			if ref, ok := part["$ref"].(string); ok {
				kind, name, _ := strings.Cut(strings.TrimPrefix(ref, "#/components/"), "/")
				return resolve(components[kind].(map[string]any)[name])
			}
			resolved := make(map[string]any, len(part))
			for key, value := range part {
				resolved[key] = resolve(value)
			}
			return resolved
		}
		return part
	}
	text, err := json.Marshal(resolve(all))
	if err != nil {
		return nil, err
	}
	document := new(description)
	return document, json.Unmarshal(text, document)
}

// TestContract: the tests would notice requests and answers that are not as documented.
func TestContract(t *testing.T) {
	document := documented()
	request := func(method, path, body string) error {
		r, err := http.NewRequest(method, path, nil)
		if err != nil {
			t.Fatal(err)
		}
		o, params := document.find(false, method, r.URL.Path)
		return o.acceptsRequest(r, params, []byte(body))
	}
	answer := func(status int, body string, header ...string) error {
		r := &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}}
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		o, _ := document.find(false, "GET", "/api/v3/channels/")
		return o.acceptsAnswer("GET", r, []byte(body))
	}
	const pings, none = "/api/v3/checks/" + unknownUUID + "/pings/", `{"channels":[]}`
	for name, c := range map[string]struct {
		got  error
		want string
	}{
		"a request":           {request("GET", pings+"?limit=20", ""), ""},
		"a wrong path":        {request("GET", "/api/v3/checks/x/pings/", ""), "id: "},
		"beyond a bound":      {request("GET", pings+"?limit=1001", ""), "limit: "},
		"not a number":        {request("GET", pings+"?limit=x", ""), "limit: "},
		"a body":              {request("POST", "/api/v3/checks/", `{"name":"x"}`), ""},
		"another type":        {request("POST", "/api/v3/checks/", `{"name":1}`), "the body: "},
		"no JSON":             {request("POST", "/api/v3/checks/", `{`), "the body: "},
		"no body":             {request("POST", "/api/v3/channels/", ""), "the body is missing"},
		"an answer":           {answer(200, none), ""},
		"another status":      {answer(204, ""), "no status 204"},
		"a missing field":     {answer(200, `{}`), "missing property"},
		"another field":       {answer(200, `{"channels":[],"x":1}`), "additional properties"},
		"another kind":        {answer(200, none, "Content-Type", "text/plain"), "no text/plain"},
		"an unknown header":   {answer(200, none, "X-Secret", "x"), "lacks the header X-Secret"},
		"without Retry-After": {answer(429, `{"error":"too many requests: the limit is 100 a minute"}`), "Retry-After is missing"},
		"a wrong header":      {answer(429, `{"error":"too many requests: the limit is 100 a minute"}`, "Retry-After", "0"), "Retry-After: "},
	} {
		if got := fmt.Sprint(c.got); c.want == "" && c.got != nil || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %q", name, got, c.want)
		}
	}
}
