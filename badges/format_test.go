package badges_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rollcall-dev/rollcall/badges"
)

func TestJSONDoc(t *testing.T) {
	sum := badges.Summary{Total: 7, Grace: 2}
	tests := []struct {
		sum  badges.Summary
		late bool
		want string
	}{
		{sum, false, `{"status":"up","total":7,"grace":2,"down":0}`},
		{sum, true, `{"status":"late","total":7,"grace":2,"down":0}`},
		{badges.Summary{Total: 7, Grace: 2, Down: 1}, true, `{"status":"down","total":7,"grace":2,"down":1}`},
		{badges.Summary{}, true, `{"status":"up","total":0,"grace":0,"down":0}`},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, string(badges.RenderJSON(tt.sum, tt.late))); diff != "" {
			t.Errorf("%+v, late %v (-want +got):\n%s", tt.sum, tt.late, diff)
		}
	}
}

func TestShieldsDoc(t *testing.T) {
	tests := []struct {
		label string
		state badges.State
		want  string
	}{
		{"backup", badges.Up, `{"schemaVersion":1,"label":"backup","message":"up","color":"success"}`},
		{"", badges.Late, `{"schemaVersion":1,"label":"","message":"late","color":"important"}`},
		{"日本 🚀", badges.Down, `{"schemaVersion":1,"label":"日本 🚀","message":"down","color":"critical"}`},
		{"a\"\\\x00", badges.Up, `{"schemaVersion":1,"label":"a\"\\\u0000","message":"up","color":"success"}`},
		{"other", "odd", `{"schemaVersion":1,"label":"other","message":"odd","color":"inactive"}`},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, string(badges.RenderShields(tt.label, tt.state))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.label, diff)
		}
	}
}

func TestShieldsDocOfInvalidUTF8(t *testing.T) {
	var got struct{ Label string }
	if err := json.Unmarshal(badges.RenderShields("a\xffb", badges.Up), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("a\ufffdb", got.Label); diff != "" {
		t.Error(diff)
	}
}

func TestFormat(t *testing.T) {
	sum := badges.Summary{Total: 1, Grace: 1}
	tests := []struct {
		format      badges.Format
		valid       bool
		contentType string
		two, three  []byte
	}{
		{badges.SVG, true, "image/svg+xml", badges.RenderSVG("x", badges.Up), badges.RenderSVG("x", badges.Late)},
		{badges.JSON, true, "application/json", badges.RenderJSON(sum, false), badges.RenderJSON(sum, true)},
		{badges.Shields, true, "application/json", badges.RenderShields("x", badges.Up), badges.RenderShields("x", badges.Late)},
		{"png", false, "application/octet-stream", nil, nil},
		{"SVG", false, "application/octet-stream", nil, nil},
		{"", false, "application/octet-stream", nil, nil},
	}
	for _, tt := range tests {
		t.Run(string(tt.format), func(t *testing.T) {
			if got := tt.format.Valid(); got != tt.valid {
				t.Errorf("Valid = %v", got)
			}
			if diff := cmp.Diff(tt.contentType, tt.format.ContentType()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.two, tt.format.Document("x", sum, false)); diff != "" {
				t.Errorf("two states (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.three, tt.format.Document("x", sum, true)); diff != "" {
				t.Errorf("three states (-want +got):\n%s", diff)
			}
		})
	}
}

func ExampleFormat_Document() {
	sum := badges.Summary{Total: 4, Grace: 1}
	for _, late := range []bool{false, true} {
		fmt.Printf("%s\n", badges.JSON.Document("backup", sum, late))
		fmt.Printf("%s\n", badges.Shields.Document("backup", sum, late))
	}
	// Output:
	// {"status":"up","total":4,"grace":1,"down":0}
	// {"schemaVersion":1,"label":"backup","message":"up","color":"success"}
	// {"status":"late","total":4,"grace":1,"down":0}
	// {"schemaVersion":1,"label":"backup","message":"late","color":"important"}
}

func ExampleRenderSVG() {
	document := string(badges.RenderSVG("R&D backup", badges.Late))
	head, _, _ := strings.Cut(document, "<linearGradient")
	fmt.Println(strings.ReplaceAll(head, "><", ">\n<"))
	// Output:
	// <svg xmlns="http://www.w3.org/2000/svg" width="111" height="20" viewBox="0 0 111 20" role="img" aria-label="R&amp;D backup: late">
	// <title>R&amp;D backup: late</title>
}
