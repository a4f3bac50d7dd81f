package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/smtp"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/manage"
)

const mailDomainOfTests = "ping.example.org"

// startMail runs a server with a mail listener, and returns the listener's address.
func startMail(t *testing.T, database string, args ...string) (p *process, addr string) {
	t.Helper()
	p = start(t, database, append([]string{"--smtp-listen", "127.0.0.1:0", "--ping-email-domain", mailDomainOfTests}, args...)...)
	for line := range strings.Lines(p.stdout.String()) {
		if addr, found := strings.CutPrefix(line, "rollcall: accepting e-mail for "+mailDomainOfTests+" on "); found {
			return p, strings.TrimSpace(addr)
		}
	}
	t.Fatalf("no address in %s", p.stdout.String())
	return nil, ""
}

// rollcall runs a command as a user would, and returns its output and its exit status.
func rollcall(args ...string) (stdout, stderr string, status int) {
	var out, errs bytes.Buffer
	status = run(args, &out, &errs)
	return out.String(), errs.String(), status
}

// TestEmailCheck sends a message through the listener, and reads the outcome.
func TestEmailCheck(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		p, addr := startMail(t, db.URL)
		key := keyOf(t, p)
		var c apiCheck
		call(t, p, key, http.MethodPost, "/api/v3/checks/", `{"slug": "nightly", "failure_kw": "FAILED", "success_kw": "ünïcode done", "filter_subject": true, "filter_body": true}`, &c)
		for n, test := range []struct {
			args         []string
			kind, status string
		}{
			{nil, "ign", "new"},
			{[]string{"--body", strings.Repeat("a long line ", 20) + "ünïcode done"}, "success", "up"},
			{[]string{"--subject", "Gerät FAILED", "--from", "nas@example.org"}, "fail", "down"},
		} {
			out, errs, status := rollcall(append([]string{"email-check", "--database", db.URL, "--smtp", addr, "--json", c.UUID + "@" + mailDomainOfTests}, test.args...)...)
			if status != console.ExitOK {
				t.Fatalf("exit status %d: %s", status, errs)
			}
			var got manage.EmailCheckDoc
			if err := json.Unmarshal([]byte(out), &got); err != nil {
				t.Fatal(err)
			}
			from := "rollcall@localhost"
			if len(test.args) == 4 {
				from = test.args[3]
			}
			if got.Check != c.UUID || got.Ping.N != int64(n+1) || string(got.Ping.Type) != test.kind || string(got.Ping.Status) != test.status ||
				got.Ping.UA != "Email from "+from || got.Ping.RemoteAddr != "127.0.0.1" || got.Ping.Size == 0 || !strings.HasPrefix(got.TLS, "none") {
				t.Errorf("%q: %s", test.args, out)
			}
		}
		checkMessageByAPI(t, p, key, c)
		out, errs, status := rollcall("email-check", "--database", db.URL, "--smtp", addr, c.UUID+"@"+mailDomainOfTests)
		if status != console.ExitOK || !strings.Contains(out, "Counted as:  ignored: no keyword") || !strings.Contains(out, "Status now:  down") {
			t.Errorf("exit status %d, printed %s%s", status, out, errs)
		}
		for _, test := range []struct{ address, want string }{
			{c.UUID + "@other.example.org", "does not accept the address"},
			{"6f5dd2d1-8a4c-4a52-9d5f-0d9e2f1c7b3a@" + mailDomainOfTests, "does not exist"},
			{"nobody@" + mailDomainOfTests, "does not exist"},
		} {
			if out, errs, status := rollcall("email-check", "--database", db.URL, "--smtp", addr, test.address); status != console.ExitError || !strings.Contains(errs, test.want) || out != "" {
				t.Errorf("%s: exit status %d, %s%s", test.address, status, out, errs)
			}
		}
		if state, err := p.stop(syscall.SIGTERM); err != nil || state.ExitCode() != 0 {
			t.Errorf("the server ended with %v, %v:\n%s", state, err, p.stderr.String())
		}
		if _, errs, status := rollcall("email-check", "--database", db.URL, "--smtp", addr, c.UUID+"@"+mailDomainOfTests); status != console.ExitError || !strings.Contains(errs, "cannot connect to "+addr) {
			t.Errorf("exit status %d: %s", status, errs)
		}
	})
}

// checkMessageByAPI compares the third message as the API shows it (server/API.md sections 4.8 and 4.9).
func checkMessageByAPI(t *testing.T, p *process, key string, c apiCheck) {
	t.Helper()
	var log struct {
		Pings []struct{ Type, Scheme, UA, Method string }
	}
	call(t, p, key, http.MethodGet, "/api/v3/checks/"+c.UUID+"/pings/", "", &log)
	if got := log.Pings[0]; got.Type != "fail" || got.Scheme != "email" || got.UA != "Email from nas@example.org" || got.Method != "" {
		t.Errorf("%+v", got)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+"/api/v3/checks/"+c.UUID+"/pings/3/body", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", key)
	res, err := httpClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/plain") {
		t.Errorf("status %d, content type %q, %v", res.StatusCode, res.Header.Get("Content-Type"), err)
	}
	if want := "From: nas@example.org\r\nTo: " + c.UUID + "@" + mailDomainOfTests + "\r\nSubject: =?utf-8?q?Ger=C3=A4t_FAILED?=\r\n"; !strings.HasPrefix(string(body), want) {
		t.Errorf("the body is %q", body)
	}
}

// A killed server loses no message that it acknowledged.
func TestKillLosesNoAcknowledgedMessage(t *testing.T) {
	const clients, enough = 6, 60
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		p, addr := startMail(t, db.URL)
		key := keyOf(t, p)
		c := createCheck(t, p, key, "job")
		var mu sync.Mutex
		acknowledged := make(map[string]bool)
		var count atomic.Int64
		var wg sync.WaitGroup
		for i := range clients {
			wg.Go(func() {
				for n := 0; ; n++ {
					from := fmt.Sprintf("client%d.message%d@example.org", i, n)
					if smtp.SendMail(addr, nil, from, []string{c.UUID + "@" + mailDomainOfTests}, []byte("Subject: x\r\n\r\n")) != nil {
						return // killed
					}
					mu.Lock()
					acknowledged["Email from "+from] = true
					mu.Unlock()
					if count.Add(1) == enough {
						p.cmd.Process.Kill()
					}
				}
			})
		}
		wg.Wait()
		p.kill()
		if len(acknowledged) < enough {
			t.Fatalf("%d messages were acknowledged:\n%s", len(acknowledged), p.stderr.String())
		}
		checkLog(t, start(t, db.URL), key, c, acknowledged)
	})
}

// TestShutdownFinishesMessages stops the server in the middle of a message.
func TestShutdownFinishesMessages(t *testing.T) {
	p, addr := startMail(t, dbtest.SQLite(t).URL, "--shutdown-timeout", patience.String())
	c := createCheck(t, p, keyOf(t, p), "slow")
	client, err := smtp.Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(client.Mail("a@b.example"))
	must(client.Rcpt(c.UUID + "@" + mailDomainOfTests))
	w, err := client.Data()
	must(err)
	p.cmd.Process.Signal(syscall.SIGTERM)
	waitForLog(t, p, "msg=stopping")
	_, err = fmt.Fprint(w, "Subject: x\r\n\r\n")
	must(err)
	must(w.Close()) // 250
	if state, err := p.wait(); err != nil || state.ExitCode() != 0 {
		t.Errorf("the server ended with %v, %v:\n%s", state, err, p.stderr.String())
	}
}

// TestSTARTTLS connects by STARTTLS, and gets the new certificate after its files were replaced.
func TestSTARTTLS(t *testing.T) {
	dir := t.TempDir()
	db := dbtest.SQLite(t).URL
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCertificate(t, certFile, keyFile, 1)
	p, addr := startMail(t, db, "--smtp-tls-cert", certFile, "--smtp-tls-key", keyFile)
	c := createCheck(t, p, keyOf(t, p), "job")
	out, errs, status := rollcall("email-check", "--database", db, "--smtp", addr, c.UUID+"@"+mailDomainOfTests)
	if status != console.ExitOK || !strings.Contains(out, "TLS 1.3, but the certificate is not valid") {
		t.Errorf("exit status %d, printed %s%s", status, out, errs)
	}

	pair := &keyPair{certFile: certFile, keyFile: keyFile}
	if err := pair.load(); err != nil {
		t.Fatal(err)
	}
	serial := func(reload bool) int64 {
		t.Helper()
		if reload {
			pair.looked = time.Time{}
		}
		cert, err := pair.get(nil)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := x509.ParseCertificate(cert.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		return parsed.SerialNumber.Int64()
	}
	writeCertificate(t, certFile, keyFile, 2)
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(certFile, later, later); err != nil {
		t.Fatal(err)
	}
	got := []int64{serial(false), serial(true)}
	if err := os.WriteFile(keyFile, []byte("half a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	got = append(got, serial(true))
	if err := os.Remove(certFile); err != nil {
		t.Fatal(err)
	}
	got = append(got, serial(true))
	if diff := cmp.Diff([]int64{1, 2, 2, 2}, got); diff != "" {
		t.Errorf("certificates (-want +got):\n%s", diff)
	}
}

func writeCertificate(t *testing.T, certFile, keyFile string, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), DNSNames: []string{"localhost"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: cert}, keyFile: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := tls.LoadX509KeyPair(certFile, keyFile); err != nil {
		t.Fatal(err)
	}
}

func TestMailDomain(t *testing.T) {
	for base, want := range map[console.Address]string{
		"http://localhost:8000":          "localhost",
		"https://rollcall.example.org/x": "rollcall.example.org",
		"http://192.0.2.1":               "[192.0.2.1]",
		"http://[2001:db8::1]:80":        "[IPv6:2001:db8::1]",
	} {
		if got := mailDomain(base); got != want {
			t.Errorf("%s: %s, want %s", base, got, want)
		}
	}
}

func TestMailServersOfAddressLiterals(t *testing.T) {
	for domain, want := range map[string]string{"[192.0.2.1]": "192.0.2.1:25", "[IPv6:2001:db8::1]": net.JoinHostPort("2001:db8::1", "25")} {
		got, err := manage.MailServers(t.Context(), domain)
		if diff := cmp.Diff([]string{want}, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", domain, err, diff)
		}
	}
}
