package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
)

// TestGeneratedFiles: the files in the repository are up to date.
func TestGeneratedFiles(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", source))
	if err != nil {
		t.Fatal(err)
	}
	files, err := generate(text)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := unpack(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf(`%s is out of date: run "go generate ./server/internal/openapi"`, name)
		}
	}
}

// TestJSONEqualsYAML: both have the same content, before the code adds to it.
func TestJSONEqualsYAML(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", source))
	if err != nil {
		t.Fatal(err)
	}
	document, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	converted, err := document.indented()
	if err != nil {
		t.Fatal(err)
	}
	var fromYAML, fromJSON any
	if err := yaml.Load(text, &fromYAML); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(converted, &fromJSON); err != nil {
		t.Fatal(err)
	}
	plain, err := json.Marshal(fromYAML) // so that both have the numbers of JSON
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(plain, &fromYAML); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fromYAML, fromJSON); diff != "" {
		t.Errorf("-YAML +JSON:\n%s", diff)
	}
}

func asJSON(t *testing.T, text string) []byte {
	t.Helper()
	document, err := load([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	converted, err := document.indented()
	if err != nil {
		t.Fatal(err)
	}
	return converted
}

func TestToJSON(t *testing.T) {
	for text, want := range map[string]string{
		"b: 1\na: [x, null, true, 1.5]\n":  `{"b":1,"a":["x",null,true,1.5]}`,
		"a: &x {k: \"<&>\"}\nb: *x\n":      `{"a":{"k":"<&>"},"b":{"k":"<&>"}}`,
		"\"200\": \"2026-01-02\"\ne: {}\n": `{"200":"2026-01-02","e":{}}`,
	} {
		got := asJSON(t, text)
		if dense := strings.NewReplacer("\n", "", "  ", "", `": `, `":`).Replace(string(got)); dense != want {
			t.Errorf("%q: %s, want %s", text, dense, want)
		}
	}
	for _, text := range []string{"a: 1\na: 2\n", "200: x\n", "[]", "a: *missing\n", "\t", "a: {$ref: '#/b'}\nc: 1\n"} {
		document, err := load([]byte(text))
		if err == nil {
			_, err = document.indented()
		}
		if err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func TestCommand(t *testing.T) {
	const url = "https://example.org/x"
	for want, c := range map[string]command{
		"curl https://example.org/x":                                    {method: "GET", url: url},
		`curl -X DELETE https://example.org/x -H "X-Api-Key: $API_KEY"`: {method: "DELETE", url: url, keyed: true},
		"curl 'https://example.org/x?a=b+%26'":                          {method: "GET", url: url, query: []string{"a=b+%26"}},
		"curl -sSL -m 10 --retry 5 --post301 --post302 --post303 https://example.org/x \\\n  --data-raw 'it'\\''s'": {method: "POST", url: url, body: "it's", ping: true},
		"curl https://example.org/x \\\n  -H 'Content-Type: application/json' \\\n  -d '{\n  \"desc\": \"y\"\n}'":   {method: "POST", url: url, isJSON: true, body: "{\n  \"desc\": \"y\"\n}"},
	} {
		if diff := cmp.Diff(want, c.Text()); diff != "" {
			t.Error(diff)
		}
	}
}
