package loadgen

import (
	"testing"
	"time"
)

func TestQuantile(t *testing.T) {
	var r Result
	if got := r.Quantile(0.5); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
	for i := range 100 {
		r.Latencies = append(r.Latencies, time.Duration(i+1))
	}
	for share, want := range map[float64]time.Duration{0: 1, 0.5: 51, 0.99: 100, 1: 100} {
		if got := r.Quantile(share); got != want {
			t.Errorf("quantile %v: %d, want %d", share, got, want)
		}
	}
}

func TestComplete(t *testing.T) {
	for response, want := range map[string]bool{
		"": false, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nO": false, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK": true,
		"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n": true, "HTTP/1.1 200 OK\r\n\r\n": false,
		"HTTP/1.1 503 x\r\nDate: y\r\nContent-Length: 1\r\nX: z\r\n\r\nn": true,
	} {
		if got := complete([]byte(response)); got != want {
			t.Errorf("%q: %v", response, got)
		}
	}
	if err := statusError([]byte("HTTP/1.1 503 Service Unavailable\r\n\r\n")); err == nil {
		t.Error("503 is no error")
	}
}
