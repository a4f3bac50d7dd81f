//go:build release

package proxies

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/examples/internal/program"
)

// TestRestart stops one of two servers behind HAProxy, with the flags that the file names, while a job pings: no ping fails.
func TestRestart(t *testing.T) {
	haproxy, dir := installed(t, "haproxy"), t.TempDir()
	content, err := os.ReadFile("haproxy.cfg")
	if err != nil {
		t.Fatal(err)
	}
	flags := regexp.MustCompile(`--shutdown-delay \S+`).FindString(string(content))
	path, err := program.Build(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	servers, ping := make([]*program.Server, 2), ""
	for i := range servers {
		servers[i] = &program.Server{Path: path, Args: append(strings.Fields(flags), "--database", "sqlite:"+filepath.Join(dir, "rollcall.db")), Log: os.Stderr}
		if err := servers[i].Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(servers[i].Kill)
		if key := servers[i].Greeting().PingKey; key != "" {
			ping = "/ping/" + key + "/job?create=1"
		}
	}
	front := freeAddress(t)
	certificate(t, filepath.Join(dir, "pair.pem"))
	host := func(s *program.Server) string { return strings.TrimPrefix(s.Greeting().URL, "http://") }
	file := put(t, dir, "haproxy.cfg", "/etc/haproxy/rollcall.pem", dir+"/pair.pem", "log /dev/log local0", "", ":443", front, ":80", freeAddress(t),
		"10.0.0.3:8000", host(servers[0]), "10.0.0.4:8000", host(servers[1]))
	proxy := program.Command(t.Context(), haproxy, "-db", "-f", file)
	proxy.Stderr = os.Stderr
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Process.Kill(); _ = proxy.Wait() })
	// Each ping is a connection, as of curl.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // its own certificate
	send := func() (string, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+front+ping, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(request)
		if err != nil {
			return "", err
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		return string(body), err
	}
	for begin := time.Now(); ; {
		if text, err := send(); err == nil && (text == "OK" || text == "Created") {
			break
		} else if time.Since(begin) > time.Minute {
			t.Fatalf("HAProxy does not answer: %q, %v", text, err)
		}
	}
	stopped := make(chan error, 1)
	go func() {
		_, err := servers[0].Stop(syscall.SIGTERM)
		stopped <- err
	}()
	for sent := 0; ; sent++ {
		select {
		case err := <-stopped:
			if err != nil || sent < 3 {
				t.Errorf("%d pings, %v", sent, err)
			}
			return
		default:
			if text, err := send(); err != nil || text != "OK" {
				t.Errorf("ping %d: %q, %v", sent, text, err)
			}
		}
	}
}

// freeAddress returns an address that nothing listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
