package outbound_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

func TestRedact(t *testing.T) {
	if outbound.Redact(nil, "s3cret") != nil {
		t.Error("nil became an error")
	}
	err := channels.Permanent(fmt.Errorf("no key s3cret, the s3cret: %w", io.EOF))
	if got := outbound.Redact(err, "other", ""); got != err {
		t.Errorf("%v", got)
	}
	got := outbound.Redact(err, "s3cret")
	if diff := cmp.Diff("no key ***, the ***: EOF", got.Error()); diff != "" {
		t.Error(diff)
	}
	if !channels.IsPermanent(got) || !errors.Is(got, io.EOF) {
		t.Error("the error is not wrapped")
	}
}

func TestExchange(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, "%s %s", strings.Repeat("x", 190), body)
	})
	const secret = `s3cret "/ž`
	req := request(t, "POST", server.URL, secret+` s3cret+%22%2F%C5%BE s3cret%20%22%2F%C5%BE s3cret \"/ž`)
	res, body, err := outbound.Exchange(open(t, outbound.Config{}), req, secret)
	if err == nil || strings.Contains(err.Error(), "s3c") {
		t.Errorf("%v", err)
	}
	if res.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), secret) {
		t.Errorf("status %d, body %s", res.StatusCode, body)
	}
}

// TestListen hears what a receiver answers, to a request that succeeds and to one that fails, without secrets.
func TestListen(t *testing.T) {
	status := http.StatusOK
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, "\ntaken with s3cret\nsecond line")
	})
	for _, status = range []int{http.StatusOK, http.StatusTeapot} {
		var heard []string
		ctx := outbound.Listen(t.Context(), func(status int, text string) { heard = append(heard, fmt.Sprint(status, " ", text)) })
		_, _, err := outbound.Exchange(open(t, outbound.Config{}), request(t, "POST", server.URL, "").WithContext(ctx), "s3cret")
		if (err == nil) != (status == http.StatusOK) {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{fmt.Sprint(status, " taken with ***")}, heard); diff != "" {
			t.Error(diff)
		}
	}
}
