package client_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/client"
)

// recorder is a server that records its requests.
type recorder struct {
	*httptest.Server
	seen []string // method, path, API key and body of each request
}

func record(t *testing.T, answer http.HandlerFunc) *recorder {
	t.Helper()
	r := &recorder{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.seen = append(r.seen, fmt.Sprintf("%s %s %s %s", req.Method, req.URL.Path, req.Header.Get("X-Api-Key"), body))
		answer(w, req)
	}))
	t.Cleanup(r.Close)
	return r
}

// send makes a request with an API key and a ping with the output of a job.
func send(t *testing.T, url string) (api, ping error) {
	t.Helper()
	c, err := client.New(url, someKey, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := client.NewPinger(url+"/ping/secret-id", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, api = c.Create(t.Context(), checks.Spec{Name: new("n")})
	return api, p.Failure(t.Context(), []byte("output"))
}

func someAnswer(w http.ResponseWriter, r *http.Request) {
	answer := "OK"
	if strings.Contains(r.URL.Path, "/api/") {
		answer = someCheck
	}
	fmt.Fprint(w, answer)
}

// Another port of the same host is another origin: neither the API key nor the output of a job goes there.
func TestNoRedirectToAnotherPort(t *testing.T) {
	for _, status := range []int{301, 302, 307, 308} {
		other := record(t, someAnswer)
		first := record(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/elsewhere", status)
		})
		api, ping := send(t, first.URL)
		for what, err := range map[string]error{"API": api, "ping": ping} {
			if err == nil || !strings.Contains(err.Error(), other.URL) || strings.Contains(err.Error(), "elsewhere") || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s, %d: %v", what, status, err)
			}
		}
		if len(other.seen) > 0 || len(first.seen) != 2 {
			t.Errorf("%d: the other port got %q, the first one %q", status, other.seen, first.seen)
		}
	}
}

// A redirect within the origin is followed with the method, the key and the body of the request.
func TestRedirectWithinTheOrigin(t *testing.T) {
	for _, status := range []int{301, 302, 307, 308} {
		server := record(t, func(w http.ResponseWriter, r *http.Request) {
			if moved := "/new"; !strings.HasPrefix(r.URL.Path, moved) {
				http.Redirect(w, r, moved+r.URL.Path, status)
				return
			}
			someAnswer(w, r)
		})
		if api, ping := send(t, server.URL); api != nil || ping != nil {
			t.Errorf("%d: %v, %v", status, api, ping)
		}
		equal(t, fmt.Sprint(status), server.seen, []string{
			`POST /api/v3/checks/ ` + someKey + ` {"name":"n"}`, `POST /new/api/v3/checks/ ` + someKey + ` {"name":"n"}`,
			"POST /ping/secret-id/fail  output", "POST /new/ping/secret-id/fail  output",
		})
	}
}
