package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNotifier(t *testing.T) {
	for _, test := range []struct {
		status int
		want   string
	}{
		{http.StatusOK, ""},
		{http.StatusGone, "the chat room does not exist (status 410) (try again: false)\nexit status 1\n"},
		{http.StatusServiceUnavailable, "the chat server answers with status 503 (try again: true)\nexit status 1\n"},
	} {
		received := make(chan string, 1)
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			received <- fmt.Sprintf("%s: %s", r.Header.Get("Idempotency-Key"), body)
			w.WriteHeader(test.status)
		}))
		out, _ := exec.CommandContext(t.Context(), "go", "run", ".", web.URL).CombinedOutput()
		web.Close()
		if diff := cmp.Diff(test.want, string(out)); diff != "" {
			t.Errorf("status %d (-want +got):\n%s", test.status, diff)
		}
		want := "test-1: backup is down since Fri, 02 Jan 2026 03:04:05 UTC: the ping is overdue"
		select {
		case got := <-received:
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("posted (-want +got):\n%s", diff)
			}
		default:
			t.Error("nothing was posted")
		}
	}
}
