package server

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/client/wire"
	"github.com/rollcall-dev/rollcall/server/internal/openapi"
)

// TestDocumentedEndpoints compares the OpenAPI document with the router.
func TestDocumentedEndpoints(t *testing.T) {
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(openapi.New("", "").Document(), &document); err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for path, item := range document.Paths {
		if !strings.HasPrefix(path, "/api/") {
			continue
		}
		for method := range item {
			got = append(got, strings.ToUpper(method)+" "+strings.TrimSuffix(path, "/"))
		}
	}
	for _, e := range endpoints() {
		segments := strings.Split(e.path, "/")
		for i, segment := range segments {
			if name, found := strings.CutPrefix(segment, ":"); found {
				segments[i] = "{" + name + "}"
			}
		}
		want = append(want, e.method+" "+strings.Join(segments, "/"))
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("endpoints (-router +openapi.yaml):\n%s", diff)
	}
}

// schema is a part of the OpenAPI document that describes a value.
type schema struct {
	Type                        any
	Properties                  map[string]schema
	Minimum, Maximum, MaxLength int64
	Default                     any
	Not                         *schema
}

func schemas(t *testing.T) map[string]schema {
	t.Helper()
	var document struct {
		Components struct{ Schemas map[string]schema }
	}
	if err := json.Unmarshal(openapi.New("", "").Document(), &document); err != nil {
		t.Fatal(err)
	}
	return document.Components.Schemas
}

// TestDocumentedSettings compares the schemas of a check and of requests with the table of settings.
func TestDocumentedSettings(t *testing.T) {
	all := schemas(t)
	defaults := checks.Defaults().Spec()
	defaults.Channels = new("")
	body, err := wire.Request(defaults)
	if err != nil {
		t.Fatal(err)
	}
	var byDefault map[string]any
	if err := json.Unmarshal(body, &byDefault); err != nil {
		t.Fatal(err)
	}
	names := []string{"api_key"}
	for _, s := range checks.AllSettings() {
		names = append(names, s.Name)
		request := schema{Type: "string", MaxLength: s.Max}
		document := request
		switch s.Zero.(type) {
		case bool:
			request, document = schema{Type: "boolean"}, schema{Type: "boolean"}
		case int, time.Duration:
			request = schema{Type: "integer", Minimum: s.Min, Maximum: s.Max}
			document = request
			document.Minimum = max(s.Min, 1) // left out if it is 0
			if s.Optional && s.Min > 0 {
				request = schema{Type: "integer", Maximum: s.Max, Not: &schema{Minimum: 1, Maximum: s.Min - 1}}
			}
		}
		equalSchema := func(name string, want schema) {
			t.Helper()
			if diff := cmp.Diff(want, all[name].Properties[s.Name]); diff != "" {
				t.Errorf("%s of %s (-table +openapi.yaml):\n%s", s.Name, name, diff)
			}
		}
		equalSchema("CheckFields", document)
		equalSchema("UpdateCheck", request)
		request.Default = byDefault[s.Name]
		equalSchema("CreateCheck", request)
	}
	slices.Sort(names)
	if diff := cmp.Diff(names, slices.Sorted(maps.Keys(all["UpdateCheck"].Properties))); diff != "" {
		t.Errorf("UpdateCheck (-table +openapi.yaml):\n%s", diff)
	}
	names = slices.Sorted(slices.Values(append(names, "unique")))
	if diff := cmp.Diff(names, slices.Sorted(maps.Keys(all["CreateCheck"].Properties))); diff != "" {
		t.Errorf("CreateCheck (-table +openapi.yaml):\n%s", diff)
	}
}

// TestDocumentedFields compares the schemas of the OpenAPI document with package wire.
func TestDocumentedFields(t *testing.T) {
	all := schemas(t)
	for name, value := range map[string]any{
		"CheckFields": wire.Check{}, "Checks": wire.Checks{},
		"Ping": wire.Ping{}, "Pings": wire.Pings{}, "Flip": wire.Flip{}, "Channel": wire.Channel{}, "Channels": wire.Channels{},
		"BadgeSet": wire.BadgeSet{}, "BadgeList": wire.Badges{}, "Status": wire.Status{}, "Error": wire.Error{},
		"Stats": wire.Stats{}, "StatsDay": wire.StatsDay{}, "StatsSum": wire.StatsSum{}, "Durations": wire.Durations{},
		"ChannelDetail": wire.ChannelDetail{}, "ChannelKinds": wire.ChannelKinds{}, "ChannelKind": wire.ChannelKind{}, "ChannelSetting": wire.ChannelSetting{},
		"Project": wire.Project{}, "ProjectList": wire.Projects{}, "CreatedProject": wire.CreatedProject{},
		"CreateChannel": struct {
			wire.ChannelRequest
			Key string `json:"api_key"`
		}{},
		"StatusPage": wire.StatusPage{}, "StatusPageList": wire.StatusPages{}, "UpdateProject": wire.ProjectRequest{},
		"WindowList": wire.Windows{}, "Window": wire.Window{}, "WindowRequest": struct {
			wire.WindowRequest
			Key string `json:"api_key"`
		}{},
	} {
		var want []string
		for _, field := range reflect.VisibleFields(reflect.TypeOf(value)) {
			if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag != "" {
				want = append(want, tag)
			}
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(all[name].Properties))); diff != "" {
			t.Errorf("%s (-wire +openapi.yaml):\n%s", name, diff)
		}
	}
}
