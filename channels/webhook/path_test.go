package webhook_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
	"github.com/rollcall-dev/rollcall/channels/webhook"
)

// TestDotSegments sends names that look like dot segments to a router that matches the escaped path, and to servers that
// decode the path before they resolve dot segments.
func TestDotSegments(t *testing.T) {
	tests := []struct{ segment, name, want string }{
		{"$NAME", "nightly", "nightly"},
		{"$NAME", "..", "%2E%2E"},
		{"$NAME", ".", "%2E"},
		{"$NAME", "...", "..."},
		{"$NAME", "../..", "%2E%2E/%2E%2E"},
		{"$NAME", "a/..", "a/%2E%2E"},
		{"$NAME", "../a", "%2E%2E/a"},
		{"$NAME", "a/../b", "a/%2E%2E/b"},
		{"$NAME", "a/./b", "a/%2E/b"},
		{"$NAME", `..\..\a`, `%2E%2E\%2E%2E\a`},
		{"$NAME", "%2e%2e", "%2e%2e"},
		{"$NAME", ".. ", ".. "},
		{"$NAME", "v1.2/x.y", "v1.2/x.y"},
		{".$NAME", ".", "%2E%2E"},
		{".$NAME", "./..", "%2E%2E/%2E%2E"},
		{".$NAME", "a", ".a"},
		{"..$NAME", "", "%2E%2E"},
		{"$NAME.", "", "%2E"},
		{"%2e$NAME", ".", "%2E%2E"},
		{"$NAME$NAME", ".", "%2E%2E"},
		{"a-$NAME", "..", "a-.."},
	}
	for _, tt := range tests {
		t.Run(tt.segment+" "+tt.name, func(t *testing.T) {
			type arrival struct{ segment, decoded string }
			var got []arrival
			mux := http.NewServeMux()
			mux.HandleFunc("/hooks/{segment}/down", func(_ http.ResponseWriter, r *http.Request) {
				got = append(got, arrival{r.PathValue("segment"), strings.ReplaceAll(r.URL.Path, `\`, "/")})
			})
			mux.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) { t.Errorf("climbed to %s", r.RequestURI) })
			server := httptest.NewServer(mux)
			defer server.Close()
			client := outbound.New(&outbound.Config{AllowPrivateNetworks: true})
			defer client.CloseIdleConnections()
			n := down()
			n.Check.Name = tt.name
			target := server.URL + "/hooks/" + tt.segment + "/down?n=$NAME"
			err := webhook.New(&webhook.Config{Client: client}).Notifier.Notify(t.Context(), channel(t, settings{"url_down": target}), n)
			if err != nil || len(got) != 1 {
				t.Fatalf("%d requests, %v", len(got), err)
			}
			if diff := cmp.Diff(tt.want, got[0].segment); diff != "" {
				t.Error(diff)
			}
			if clean := path.Clean(got[0].decoded); clean != got[0].decoded {
				t.Errorf("%s becomes %s", got[0].decoded, clean)
			}
		})
	}
}

// TestDotSegmentsOfTheTemplate checks that segments without a placeholder are unchanged.
func TestDotSegmentsOfTheTemplate(t *testing.T) {
	n := down()
	n.Check.Name = ".."
	got := send(t, n, settings{"url_down": "http://receiver/a/../b/%2E%2E/$NAME?x=../$NAME#/$NAME"})
	if diff := cmp.Diff("/a/../b/%2E%2E/%252E%252E?x=../..", got.URI); diff != "" {
		t.Error(diff)
	}
}

// TestNoSlug requests a URL that no other check shares, about a check without a slug. The body has no slug.
func TestNoSlug(t *testing.T) {
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = r.RequestURI + " " + string(body)
	}))
	defer server.Close()
	n := channels.Notification{Status: channels.Down, Check: channels.Check{ID: uuid.MustParse("5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f")}}
	to := channels.Channel{Settings: map[string]string{"url_down": server.URL + "/$SLUG?s=$SLUG", "body_down": "[$SLUG]"}}
	notifier := webhook.New(&webhook.Config{Client: outbound.New(&outbound.Config{AllowPrivateNetworks: true})}).Notifier
	if err := notifier.Notify(t.Context(), to, n); err != nil {
		t.Fatal(err)
	}
	id := n.Check.ID.String()
	if want := "/" + id + "?s=" + id + " []"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
