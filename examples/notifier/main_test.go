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
	for _, test := range []struct {
		status int
		want   string
	}{
		{http.StatusOK, "sent \n"},
		{http.StatusGone, "failed the chat room does not exist (status 410)\n"},
		{http.StatusServiceUnavailable, "pending the chat server answers with status 503\n"},
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
		out, err := exec.CommandContext(t.Context(), program, file, web.URL).Output()
		web.Close()
		if diff := cmp.Diff(test.want, string(out)); diff != "" || err != nil {
			t.Errorf("status %d: %v (-want +got):\n%s", test.status, err, diff)
		}
		select {
		case got := <-received:
			if diff := cmp.Diff("backup is down: a failure was signalled, exit status 3", got); diff != "" {
				t.Errorf("posted (-want +got):\n%s", diff)
			}
		default:
			t.Error("nothing was posted")
		}
	}
}
