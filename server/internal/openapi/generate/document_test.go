package main

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/rollcall-dev/rollcall/server/internal/openapi"
)

func TestDocumentIsValid(t *testing.T) {
	load := func(data []byte) error {
		document, err := openapi3.NewLoader().LoadFromData(data)
		if err != nil {
			return err
		}
		return document.Validate(t.Context())
	}
	data := openapi.New("https://rollcall.example.org", "https://rollcall.example.org/ping").Document()
	if err := load(data); err != nil {
		t.Error(err)
	}
	// The validator finds an invalid schema, a missing component, a wrong example and a duplicate name.
	for old, wrong := range map[string]string{
		`"maximum": 31536000`:              `"maximum": "31536000"`,
		`#/components/responses/NotFound"`: `#/components/responses/NotFond"`,
		`"status": "paused"`:               `"status": "pausing"`,
		`"operationId": "getCheck"`:        `"operationId": "listChecks"`,
	} {
		if !strings.Contains(string(data), old) {
			t.Errorf("the document has no %s", old)
		}
		if load([]byte(strings.ReplaceAll(string(data), old, wrong))) == nil {
			t.Errorf("not refused: %s", wrong)
		}
	}
}

// TestSchemas: every body, parameter and header has a schema, every text of a request a bound, and HEAD has no body. Generators
// skip what has no schema, or return what no answer has.
func TestSchemas(t *testing.T) {
	document, err := openapi3.NewLoader().LoadFromData(openapi.New("https://rollcall.example.org", "https://rollcall.example.org/ping").Document())
	if err != nil {
		t.Fatal(err)
	}
	typed := func(what string, schema *openapi3.SchemaRef) {
		if schema == nil || schema.Value.Type == nil && schema.Value.AllOf == nil {
			t.Errorf("%s has no schema", what)
		}
	}
	for path, item := range document.Paths.Map() {
		for method, op := range item.Operations() {
			what := op.OperationID
			for _, p := range slices.Concat(item.Parameters, op.Parameters) {
				typed(what+" "+p.Value.Name, p.Value.Schema)
				if p.Value.Example == nil {
					t.Errorf("%s %s has no example", what, p.Value.Name)
				}
			}
			if op.RequestBody != nil {
				for mediaType, media := range op.RequestBody.Value.Content {
					typed(what+" "+mediaType, media.Schema)
					for name, property := range media.Schema.Value.Properties {
						p := property.Value
						if p.Type.Is("string") && p.MaxLength == nil && p.Enum == nil && name != "api_key" {
							t.Errorf("%s: %s has no bound", what, name)
						}
					}
				}
			}
			for status, response := range op.Responses.Map() {
				for name, header := range response.Value.Headers {
					typed(what+" "+status+" "+name, header.Value.Schema)
				}
				for mediaType, media := range response.Value.Content {
					typed(what+" "+status+" "+mediaType, media.Schema)
				}
				if empty := method == http.MethodHead || status == "304"; empty != (len(response.Value.Content) == 0) {
					t.Errorf("%s %s: %s has %d bodies", method, path, status, len(response.Value.Content))
				}
			}
		}
	}
}
