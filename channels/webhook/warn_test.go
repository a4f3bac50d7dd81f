package webhook_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/channels/webhook"
)

// TestWarn warns of bodies that are JSON until a value has a quote.
func TestWarn(t *testing.T) {
	for body, want := range map[string]string{
		"": "", `{"text": "fixed"}`: "", `plain $NAME`: "", `{"text": $NAME_JSON}`: "", `{"id": "$UUID", "to": "$STATUS", "s": "$SLUG"}`: "",
		`{"tags": $TAGS_JSON, "first": $TAG1_JSON, "down": $DOWNFOR}`: "", `{not JSON "$NAME"}`: "", `{"check": $JSON}`: "",
		`{"text": "$NAME"}`:                  "$NAME",
		` ["$NAME is $STATUS", "$CAUSE"] `:   "$NAME, $CAUSE",
		`{"a": "$TAG2", "b": "$BODYEND"}`:    "$TAG1, $BODYEND",
		`{"a": $NAME_JSON, "b": "$PROJECT"}`: "$PROJECT",
	} {
		for _, to := range []string{"down", "up"} {
			got := ""
			if w := webhook.New(nil).Warn(map[string]string{"url_" + to: "https://x.example", "body_" + to: body}); w != nil {
				_, rest, _ := strings.Cut(w.Reason, "the value of ")
				got, _, _ = strings.Cut(rest, " has")
				if first, _, _ := strings.Cut(want, ","); w.Setting != "body_"+to || !strings.Contains(w.Reason, "write "+first+"_JSON in place") {
					t.Errorf("%s: %+v", body, w)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", body, diff)
			}
		}
	}
	get := map[string]string{"url_down": "https://x.example", "method_down": "GET", "body_down": `{"text": "$NAME"}`}
	if w := webhook.New(nil).Warn(get); w != nil {
		t.Errorf("of a body that is not sent: %+v", w)
	}
}
