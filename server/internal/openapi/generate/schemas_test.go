package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// schemasOf returns the completed schemas of a document with these.
func schemasOf(schemas string) (map[string]any, error) {
	document, err := load([]byte("components:\n  schemas: " + schemas))
	if err != nil {
		return nil, err
	}
	text, err := document.Get("components", "schemas").JSON()
	if err != nil {
		return nil, err
	}
	var completed map[string]any
	return completed, json.Unmarshal(text, &completed)
}

// TestTypes: an answer has the fields of its type, and what is written wins.
func TestTypes(t *testing.T) {
	const seconds = `"type": "string", "format": "date-time", "pattern": "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\+00:00$"`
	for _, test := range []struct{ schemas, name, want string }{
		{"{Flip: {description: F, properties: {timestamp: T, up: {enum: [0, 1], description: U}}}}", "Flip", `{
			"type": "object", "description": "F", "required": ["timestamp", "up"], "additionalProperties": false,
			"properties": {"timestamp": {` + seconds + `, "description": "T"}, "up": {"type": "integer", "enum": [0, 1], "description": "U"}}}`},
		{"{Acknowledgement: {properties: {by: &by B, at: {type: string, description: A}, until: U, note: *by}}}", "Acknowledgement", `{
			"type": "object", "required": ["at", "until", "note"], "additionalProperties": false,
			"properties": {
				"by": {"type": "string", "description": "B"}, "at": {` + seconds + `, "description": "A"},
				"until": {` + strings.Replace(seconds, `"string"`, `["string", "null"]`, 1) + `, "description": "U"},
				"note": {"type": "string", "description": "B"}}}`},
		{"{BadgeList: {properties: {badges: {description: B, required: ['*']}}}, BadgeSet: {properties: {svg: S, svg3: S, json: S, json3: S, shields: S, shields3: S}}}", "BadgeList", `{
			"type": "object", "required": ["badges"], "additionalProperties": false, "properties": {"badges": {
				"type": "object", "description": "B", "required": ["*"], "additionalProperties": {"$ref": "#/components/schemas/BadgeSet"}}}}`},
	} {
		completed, err := schemasOf(test.schemas)
		if err != nil {
			t.Errorf("%s: %v", test.schemas, err)
			continue
		}
		var want any
		if err := json.Unmarshal([]byte(test.want), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, completed[test.name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.schemas, diff)
		}
	}
}

// TestEmbedded: a type has the fields of one that it embeds, with their descriptions and in its place.
func TestEmbedded(t *testing.T) {
	completed, err := schemasOf(`
    StatsDay: {properties: {date: D}}
    StatsSum: {properties: {runs: {minimum: 0, description: R}, failures: F, up: U, down: D, unwatched: W, maintenance: M, availability: A, durations: D}}
    Durations: {properties: {count: C, sum: S, min: M, max: M}}
`)
	if err != nil {
		t.Fatal(err)
	}
	day := completed["StatsDay"].(map[string]any)
	want := []any{"date", "runs", "failures", "up", "down", "unwatched", "maintenance", "availability", "durations"}
	if diff := cmp.Diff(want, day["required"]); diff != "" {
		t.Errorf("required (-want +got):\n%s", diff)
	}
	properties := day["properties"].(map[string]any)
	if diff := cmp.Diff(map[string]any{"type": "integer", "minimum": 0.0, "description": "R"}, properties["runs"]); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	null := []any{map[string]any{"$ref": "#/components/schemas/Durations"}, map[string]any{"type": "null"}}
	if diff := cmp.Diff(map[string]any{"oneOf": null, "description": "D"}, properties["durations"]); diff != "" {
		t.Errorf("durations (-want +got):\n%s", diff)
	}
}

// TestUndescribed: a schema describes each field of its type, and no other.
func TestUndescribed(t *testing.T) {
	for schemas, want := range map[string]string{
		"{Flip: {properties: {timestamp: T}}}":                 "schema Flip: up has no description",
		"{Flip: {properties: {timestamp: T, up: U, down: D}}}": "schema Flip: the type has no field down",
		"{UpdateCheck: {properties: {name: N}}}":               "schema UpdateCheck: slug has no description",
		"{KeyOnly: {properties: {api_key: {type: string}}}}":   "schema KeyOnly: api_key has no description",
	} {
		if _, err := schemasOf(schemas); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", schemas, err, want)
		}
	}
}

// TestFailures: an operation that needs a key has the answers that they all have, in the order of their statuses.
func TestFailures(t *testing.T) {
	document, err := load([]byte(`
paths:
  /keyed/:
    get: {security: [{key: []}], responses: {"201": a, "200": b, "404": c, "503": d}}
    post: {security: [{key: []}], requestBody: e, responses: {"200": f}}
  /open/:
    get: {security: [], responses: {"200": g}}
components: {responses: {Unauthorized: h, TooLarge: i, TooManyRequests: j, InternalError: k, Unavailable: l}}
`))
	if err != nil {
		t.Fatal(err)
	}
	for operation, want := range map[string]string{"/keyed/ get": "201 200 401 404 429 500 503", "/keyed/ post": "200 401 413 429 500 503", "/open/ get": "200"} {
		path, method, _ := strings.Cut(operation, " ")
		var got []string
		for _, e := range document.Get("paths", path, method, "responses").Entries() {
			got = append(got, e.Key)
		}
		if list := strings.Join(got, " "); list != want {
			t.Errorf("%s: %s, want %s", operation, list, want)
		}
	}
	if own := document.Get("paths", "/keyed/", "get", "responses", "503").String(); own != "d" {
		t.Errorf("the answer of the file is replaced by %q", own)
	}
}
