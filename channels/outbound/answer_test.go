package outbound_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

// TestSecretsAreHidden uses a server that repeats the request, as error pages do.
func TestSecretsAreHidden(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved/sesame-path" {
			redirect(w, http.StatusTemporaryRedirect, "/other/sesame-next?x=1")
			return
		}
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, "Cannot %s %s %s | %v %v %s", r.Method, r.URL.Path, r.RequestURI, r.Header["X-Key"], r.Header["Authorization"], r.URL.Query()["t"])
	})
	client := open(t, outbound.Config{})
	for _, path := range []string{"/hook/sesame-1?t=sesame%20two&u=1", "/hook/sesame?t=sesa", "/moved/sesame-path", "/sesame%2Fx/%20sesame"} {
		req := request(t, "POST", server.URL+path, "x")
		req.Header.Set("X-Key", "sesame-key")
		req.Header.Set("Authorization", "Bearer sesame-token")
		_, err := outbound.Do(client, req)
		if err == nil || strings.Contains(err.Error(), "sesame") || !strings.Contains(err.Error(), "Cannot POST ***") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestWordsStay uses a service whose error has words that are also in the request.
func TestWordsStay(t *testing.T) {
	const text = "Can't join remote room: production is not in the notify format, true"
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, text)
	})
	req := request(t, "POST", server.URL+"/client/v3/join/room/notify?format=notify&wait=true", "x")
	req.Header.Set("X-Environment", "production")
	_, err := outbound.Do(open(t, outbound.Config{}), req)
	if err == nil || !strings.HasSuffix(err.Error(), text) {
		t.Error(err)
	}
}

func TestClean(t *testing.T) {
	_, parse := url.Parse(strings.Join([]string{"http://user:s3cret@h:x", ""}, "/"))
	inner := errors.New("connection refused")
	nested := fmt.Errorf("send: %w", &url.Error{Op: "Post", URL: "http://h/s3cret", Err: &url.Error{Op: "Get", URL: "http://h/s3cret", Err: inner}})
	tests := []struct {
		err  error
		want string
	}{
		{parse, "the URL is malformed"},
		{nested, "connection refused"},
		{inner, "connection refused"},
		{errors.New(strings.Repeat("x", 301) + "\n"), strings.Repeat("x", 300) + "…"},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, outbound.Clean(tt.err).Error()); diff != "" {
			t.Error(diff)
		}
	}
	if outbound.Clean(nil) != nil {
		t.Error("Clean(nil) is not nil")
	}
	if !errors.Is(outbound.Clean(nested), inner) {
		t.Error("the error is not wrapped")
	}
}
