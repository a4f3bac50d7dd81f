package server

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/client/wire"
	"github.com/rollcall-dev/rollcall/server/openapi"
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

// TestDocumentedFields compares the schemas of the OpenAPI document with package wire.
func TestDocumentedFields(t *testing.T) {
	var document struct {
		Components struct {
			Schemas map[string]struct{ Properties map[string]json.RawMessage }
		}
	}
	if err := json.Unmarshal(openapi.New("", "").Document(), &document); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]any{
		"CheckFields": wire.Check{}, "CreateCheck": wire.CheckCreate{}, "UpdateCheck": wire.CheckUpdate{}, "Checks": wire.Checks{},
		"Ping": wire.Ping{}, "Pings": wire.Pings{}, "Flip": wire.Flip{}, "Channel": wire.Channel{}, "Channels": wire.Channels{},
		"BadgeSet": wire.BadgeSet{}, "BadgeList": wire.Badges{}, "Status": wire.Status{}, "Error": wire.Error{},
		"Stats": wire.Stats{}, "StatsDay": wire.StatsDay{}, "StatsSum": wire.StatsSum{}, "Durations": wire.Durations{},
	} {
		var want []string
		for _, field := range reflect.VisibleFields(reflect.TypeOf(value)) {
			if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag != "" {
				want = append(want, tag)
			}
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(document.Components.Schemas[name].Properties))); diff != "" {
			t.Errorf("%s (-wire +openapi.yaml):\n%s", name, diff)
		}
	}
}
