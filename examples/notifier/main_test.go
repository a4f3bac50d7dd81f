package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNotifier(t *testing.T) {
	program := filepath.Join(t.TempDir(), "notifier")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const down, up = "backup is down: the job reported a failure, exit status 3", "backup is up: the job reported success"
	for _, test := range []struct {
		status, starts int
		want           string
		posts          []string
	}{
		{http.StatusOK, 2, "sent \n", []string{down, up, down}},
		{http.StatusGone, 1, "failed the receiver answered with status 410 Gone\n", []string{down}},
		{http.StatusServiceUnavailable, 1, "pending the receiver answered with status 503 Service Unavailable\n", []string{down}},
	} {
		received := make(chan string, 100)
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if r.Header.Get("Idempotency-Key") == "" {
				t.Error("no idempotency key")
			}
			received <- string(body)
			w.WriteHeader(test.status)
		}))
		file := filepath.Join(t.TempDir(), "jobs.db")
		for range test.starts {
			out, err := exec.CommandContext(t.Context(), program, file, web.URL).Output()
			if diff := cmp.Diff(test.want, string(out)); diff != "" || err != nil {
				t.Errorf("status %d: %v (-want +got):\n%s", test.status, err, diff)
			}
		}
		web.Close()
		close(received)
		var posts []string
		for post := range received {
			posts = append(posts, post)
		}
		if diff := cmp.Diff(test.posts, posts); diff != "" {
			t.Errorf("status %d: posted (-want +got):\n%s", test.status, diff)
		}
	}
}
