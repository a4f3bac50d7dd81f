package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/mail"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-msgauth/dkim"
	"github.com/emersion/go-smtp"

	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// inbox is a mail server that passes on what it receives.
type inbox chan string

func (i inbox) NewSession(*smtp.Conn) (smtp.Session, error) { return i, nil }
func (i inbox) Reset()                                      {}
func (i inbox) Logout() error                               { return nil }
func (i inbox) Mail(string, *smtp.MailOptions) error        { return nil }
func (i inbox) Rcpt(string, *smtp.RcptOptions) error        { return nil }

func (i inbox) Data(r io.Reader) error {
	data, err := io.ReadAll(r)
	i <- string(data)
	return err
}

// TestMailAlerts lets a server without pages send an alert, and follows the link to unsubscribe in it.
func TestMailAlerts(t *testing.T) {
	received := make(inbox, 10)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	mails := smtp.NewServer(received)
	var serving sync.WaitGroup
	serving.Go(func() { _ = mails.Serve(listener) })
	t.Cleanup(func() { _ = mails.Close(); serving.Wait() })

	signer := ed25519.NewKeyFromSeed([]byte(strings.Repeat("s", ed25519.SeedSize)))
	record := "v=DKIM1; k=ed25519; p=" + base64.StdEncoding.EncodeToString(signer.Public().(ed25519.PublicKey))
	encoded, err := x509.MarshalPKCS8PrivateKey(signer)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "dkim.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}), 0o600); err != nil {
		t.Fatal(err)
	}
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		p := start(t, db.URL, "--base-url", "https://rollcall.example.org", "--no-dashboard",
			"--mail-host", "127.0.0.1", "--mail-port", strconv.Itoa(listener.Addr().(*net.TCPAddr).Port), "--mail-tls", "none",
			"--mail-from", "Rollcall <alerts@example.org>", "--mail-dkim-key", file, "--mail-dkim-selector", "rollcall")
		key := keyOf(t, p)
		administer(t, db, "channel", "create", "--kind", "email", "--name", "ops", "--set", "to=ops@example.org, b@example.org")
		var c apiCheck
		call(t, p, key, http.MethodPost, "/api/v3/checks/", `{"slug": "job", "channels": "*"}`, &c)
		fail := func() {
			t.Helper()
			if status, _, err := (request{method: "POST", url: p.url + "/ping/" + c.UUID + "/fail"}).do(); err != nil || status != http.StatusOK {
				t.Fatal(status, err)
			}
		}
		fail()
		first, second := next(t, received), next(t, received)
		if len(verified(t, first, record)) != 1 {
			t.Error("the message has no signature")
		}
		link := func(message string) string {
			parsed, err := mail.ReadMessage(strings.NewReader(message))
			if err != nil {
				t.Fatal(err)
			}
			path, found := strings.CutPrefix(strings.Trim(parsed.Header.Get("List-Unsubscribe"), "<>"), "https://rollcall.example.org/unsubscribe/")
			if !found || parsed.Header.Get("List-Unsubscribe-Post") != "List-Unsubscribe=One-Click" {
				t.Fatalf("%v", parsed.Header)
			}
			return p.url + "/unsubscribe/" + path
		}
		if link(first) == link(second) {
			t.Error("both recipients have the same link")
		}
		post := request{method: "POST", url: link(first), body: "List-Unsubscribe=One-Click"}
		if status, page, err := post.do(); err != nil || status != http.StatusOK || !strings.Contains(page, "ops@example.org gets no alerts") {
			t.Error(status, page, err)
		}
		if _, _, err := (request{method: "POST", url: p.url + "/ping/" + c.UUID}).do(); err != nil {
			t.Fatal(err)
		}
		if up := next(t, received); !strings.Contains(up, "To: <b@example.org>\r\n") {
			t.Errorf("the message goes to others: %s", up)
		}
	})
}

// TestMailedLinks: the link of a new user is printed and sent. If it cannot be sent, it is printed all the same.
func TestMailedLinks(t *testing.T) {
	received := make(inbox, 10)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	mails := smtp.NewServer(received)
	var serving sync.WaitGroup
	serving.Go(func() { _ = mails.Serve(listener) })
	stop := sync.OnceFunc(func() { _ = mails.Close(); serving.Wait() })
	t.Cleanup(stop)
	create := func(email string) (status int, stdout, stderr string) {
		var out, errs bytes.Buffer
		status = run([]string{"user", "create", email, "--database", "sqlite:" + filepath.Join(t.TempDir(), "x.db"), "--base-url", "https://rollcall.example.org",
			"--mail-host", "127.0.0.1", "--mail-port", strconv.Itoa(listener.Addr().(*net.TCPAddr).Port), "--mail-tls", "none",
			"--mail-from", "Rollcall <people@example.org>"}, &out, &errs)
		return status, out.String(), errs.String()
	}
	link := regexp.MustCompile(`https://rollcall\.example\.org/signin/[A-Z2-7]{52}`)
	status, stdout, stderr := create("ann@example.org")
	if status != console.ExitOK {
		t.Fatal(status, stderr)
	}
	message := strings.ReplaceAll(next(t, received), "=\r\n", "")
	if want := link.FindString(stdout); want == "" || !strings.Contains(message, want) || !strings.Contains(message, "To: <ann@example.org>\r\n") {
		t.Errorf("printed:\n%s\nsent:\n%s", stdout, message)
	}
	stop()
	status, stdout, stderr = create("bob@example.org")
	if status != console.ExitError || link.FindString(stdout) == "" || !strings.Contains(stderr, "the link is valid, but could not be sent to bob@example.org: ") {
		t.Errorf("without a mail server: %d\n%s\n%s", status, stdout, stderr)
	}
}

func next(t *testing.T, received inbox) string {
	t.Helper()
	select {
	case message := <-received:
		return message
	case <-time.After(patience):
		t.Fatal("no message arrived")
		return ""
	}
}

// verified returns the valid signatures of a message.
func verified(t *testing.T, message, record string) (valid []*dkim.Verification) {
	t.Helper()
	list, err := dkim.VerifyWithOptions(strings.NewReader(message), &dkim.VerifyOptions{LookupTXT: func(name string) ([]string, error) {
		if name != "rollcall._domainkey.example.org" {
			t.Errorf("the key is looked up at %s", name)
		}
		return []string{record}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range list {
		if v.Err != nil {
			t.Error(v.Err)
			continue
		}
		valid = append(valid, v)
	}
	return valid
}
