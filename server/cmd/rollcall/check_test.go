package main

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/manage"
)

// TestCheckSettings checks that what check set can set are settings, and that check list shows them.
func TestCheckSettings(t *testing.T) {
	shown := reflect.TypeFor[manage.CheckDoc]()
	var columns []string
	for field := range shown.Fields() {
		columns = append(columns, field.Tag.Get("json"))
	}
	var titles []string
	for _, c := range manage.CheckList {
		titles = append(titles, c.Title)
	}
	for _, flag := range findCommand(findCommand(model(t).Node, "check"), "set").Flags {
		name := strings.ReplaceAll(flag.Name, "-", "_")
		if slices.Contains([]string{"help", "project", "url", "api_key", "json"}, name) {
			continue
		}
		if !slices.Contains(columns, name) || !slices.Contains(titles, strings.ToUpper(strings.ReplaceAll(name, "_", " "))) {
			t.Errorf("check list does not show %s", name)
		}
		checks.SettingNamed(name) // panics if there is none
	}
}
