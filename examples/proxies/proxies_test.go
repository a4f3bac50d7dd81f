// Package proxies holds files for reverse proxies. Its tests load them with the proxies that are installed; before a release, they
// also stop a server behind HAProxy while a job pings.
package proxies

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"
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
