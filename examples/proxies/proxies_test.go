// Package proxies holds files for reverse proxies. Its tests load them with the proxies that are installed, and restart a server
// behind HAProxy while a job pings.
package proxies

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/rollcall-dev/rollcall/examples/internal/program"
)

// installed returns the path of a proxy, or skips the test: no machine needs all of them.
func installed(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skip(err)
	}
	return path
}

// put writes a file of this directory into another, with other values in it, and returns its path.
func put(t *testing.T, dir, name string, replace ...string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(strings.NewReplacer(replace...).Replace(string(content))), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// certificate writes a certificate with its key into a file.
func certificate(t *testing.T, path string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"rollcall.example.org"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestCaddy(t *testing.T) {
	run(t, installed(t, "caddy"), "validate", "--adapter", "caddyfile", "--config", "Caddyfile")
}

func TestNginx(t *testing.T) {
	nginx, dir := installed(t, "nginx"), t.TempDir()
	certificate(t, filepath.Join(dir, "pair.pem"))
	site := put(t, dir, "nginx.conf", "/etc/letsencrypt/live/rollcall.example.org/fullchain.pem", dir+"/pair.pem",
		"/etc/letsencrypt/live/rollcall.example.org/privkey.pem", dir+"/pair.pem")
	whole := filepath.Join(dir, "whole.conf")
	text := "pid " + dir + "/pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n"
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		text += kind + "_temp_path " + dir + "/" + kind + ";\n"
	}
	text += "include " + site + ";\n}\n"
	if err := os.WriteFile(whole, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, nginx, "-t", "-c", whole, "-p", dir)
}

// TestTraefik: Traefik has no command that checks a file, so this holds the fields that the file has.
func TestTraefik(t *testing.T) {
	content, err := os.ReadFile("traefik.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		HTTP struct {
			Routers map[string]struct {
				Rule, Service string
				EntryPoints   []string `yaml:"entryPoints"`
				TLS           struct {
					CertResolver string `yaml:"certResolver"`
				}
			}
			Services map[string]struct {
				LoadBalancer struct {
					Servers     []struct{ URL string }
					HealthCheck struct{ Path, Interval, Timeout string } `yaml:"healthCheck"`
				} `yaml:"loadBalancer"`
			}
		}
	}
	if err := yaml.Load(content, &file, yaml.WithKnownFields()); err != nil {
		t.Fatal(err)
	}
	for name, r := range file.HTTP.Routers {
		if s, ok := file.HTTP.Services[r.Service]; !ok || len(s.LoadBalancer.Servers) == 0 || s.LoadBalancer.HealthCheck.Path != "/readyz" {
			t.Errorf("%s: %+v, %+v", name, r, s)
		}
	}
	if len(file.HTTP.Routers) == 0 {
		t.Error("no routers")
	}
}

func TestHAProxy(t *testing.T) {
	haproxy, dir := installed(t, "haproxy"), t.TempDir()
	certificate(t, filepath.Join(dir, "pair.pem"))
	run(t, haproxy, "-c", "-f", put(t, dir, "haproxy.cfg", "/etc/haproxy/rollcall.pem", dir+"/pair.pem"))
}

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
