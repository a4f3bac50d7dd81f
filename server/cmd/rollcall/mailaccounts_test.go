package main

import (
	"cmp"
	"encoding/json"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/mail"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/pquerna/otp/totp"

	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
)

// person is a browser in which somebody uses the pages of a server.
type person struct {
	*testing.T
	*http.Client
}

func newPerson(t *testing.T) *person {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &person{t, &http.Client{Jar: jar, Timeout: patience}}
}

// send sends a form, or without one gets a page. It returns the page that it leads to.
func (p *person) send(to string, form url.Values) (status int, page string) {
	p.Helper()
	method, body := http.MethodGet, ""
	if form != nil {
		method, body = http.MethodPost, form.Encode()
	}
	r, err := http.NewRequest(method, to, strings.NewReader(body))
	if err != nil {
		p.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
	answer, err := p.Do(r)
	if err != nil {
		p.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		p.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// settle creates a person on the command line, who chooses a password.
func settle(t *testing.T, db dbtest.DB, p *process, email, password string) *person {
	t.Helper()
	var created struct{ Link string }
	if err := json.Unmarshal([]byte(administer(t, db, "user", "create", email, "--admin", "--json", "--base-url", p.url)), &created); err != nil {
		t.Fatal(err)
	}
	who := newPerson(t)
	if status, page := who.send(created.Link, url.Values{"password": {password}}); status != http.StatusOK {
		t.Fatalf("%d: %s", status, page)
	}
	return who
}

// TestMailsOfAccounts: a change of a password is mailed by SMTP, also if the mail server was away then and the server was restarted
// since. So are changes on the command line, which has no mail server.
func TestMailsOfAccounts(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := listener.Addr().(*net.TCPAddr)
		listener.Close() // the mail server is away
		flags := []string{"--mail-host", "127.0.0.1", "--mail-port", strconv.Itoa(address.Port), "--mail-tls", "none", "--mail-from", "Rollcall <people@example.org>"}
		p := start(t, db.URL, flags...)
		const first, second = "correct horse battery", "purple monkey dishwasher 7"
		ann := settle(t, db, p, "ann@example.org", first)
		if status, page := ann.send(p.url+"/account/password", url.Values{"old": {first}, "password": {second}}); status != http.StatusOK || !strings.Contains(page, "Password changed") {
			t.Fatalf("%d: %s", status, page)
		}
		if !eventually(patience, func() bool {
			return strings.Contains(p.stderr.String(), "cannot send a mail about a changed account yet")
		}) {
			t.Fatal(p.stderr.String())
		}
		p.kill()

		received := make(inbox, 10)
		if listener, err = net.Listen("tcp", address.String()); err != nil {
			t.Fatal(err)
		}
		mails := smtp.NewServer(received)
		var serving sync.WaitGroup
		serving.Go(func() { _ = mails.Serve(listener) })
		t.Cleanup(func() { _ = mails.Close(); serving.Wait() })
		p = start(t, db.URL, flags...)
		var all string
		for !strings.Contains(all, "The password was changed.") {
			message := next(t, received)
			parsed, err := mail.ReadMessage(strings.NewReader(message))
			if err != nil || parsed.Header.Get("To") != "<ann@example.org>" {
				t.Fatalf("%v:\n%s", err, message)
			}
			all += strings.ReplaceAll(message, "=\r\n", "")
		}
		for _, want := range []string{"A password was set.", "From:    127.0.0.1, Firefox on Linux", " UTC\r\n", "By:      your own account", "Server:  http://localhost:"} {
			if !strings.Contains(all, want) {
				t.Errorf("no %q in:\n%s", want, all)
			}
		}
		if regexp.MustCompile(`/signin/|` + first + `|` + second).MatchString(all) {
			t.Errorf("a secret is in:\n%s", all)
		}
		administer(t, db, "user", "reset-password", "ann@example.org")
		if message := next(t, received); !strings.Contains(message, "The password was removed.") || !strings.Contains(message, "By:      the command line") {
			t.Error(message)
		}
	})
}

// TestWithoutMail: without a mail server, nothing about a change is different.
func TestWithoutMail(t *testing.T) {
	db := dbtest.SQLite(t)
	p := start(t, db.URL)
	const first, second = "correct horse battery", "purple monkey dishwasher 7"
	ann := settle(t, db, p, "ann@example.org", first)
	if status, page := ann.send(p.url+"/account/password", url.Values{"old": {first}, "password": {second}}); status != http.StatusOK || !strings.Contains(page, "Password changed") {
		t.Fatalf("%d: %s", status, page)
	}
	if state, err := p.stop(syscall.SIGTERM); err != nil || state.ExitCode() != 0 || strings.Contains(p.stderr.String(), "level=ERROR") {
		t.Errorf("%v, %v: %s", state, err, p.stderr.String())
	}
}

// TestKeyOfApps: a server with default flags keeps the key of authenticator apps beside an SQLite file, for its owner alone, and not
// in the database. A lost key is said on the page and in the log, and a reset leads out. --encryption-key takes over.
func TestKeyOfApps(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		var flags []string
		if db.Path() == "" {
			flags = []string{"--encryption-key", "the first key of this test"}
		}
		p := start(t, db.URL, flags...)
		const password = "correct horse battery"
		ann := settle(t, db, p, "ann@example.org", password)
		secret := setUpApp(t, p, ann, password)
		stored := contents(t, db)
		if strings.Contains(stored, secret) || !strings.Contains(stored, "sealed:") {
			t.Error("the secret is stored in the clear")
		}
		file := db.Path() + ".key"
		if db.Path() != "" {
			key, err := os.ReadFile(file)
			if err != nil || len(key) < 32 || strings.Contains(stored, strings.TrimSpace(string(key))) {
				t.Errorf("the key: %v", err)
			}
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%v, %v", info, err)
			}
		}
		signIn := func(p *process) (status int, page string) {
			t.Helper()
			who := newPerson(t)
			if status, page := who.send(p.url+"/signin", url.Values{"email": {"ann@example.org"}, "password": {password}}); status != http.StatusOK || !strings.Contains(page, "Enter your code") {
				t.Fatalf("%d: %s", status, page)
			}
			for _, at := range []time.Time{time.Now(), time.Now().Add(30 * time.Second)} { // the first may have been used before
				code, err := totp.GenerateCode(secret, at)
				if err != nil {
					t.Fatal(err)
				}
				if status, page = who.send(p.url+"/signin/code", url.Values{"code": {code}}); status != http.StatusForbidden {
					break
				}
			}
			return status, page
		}
		p.kill()
		rotated := "the second key of this test"
		flags = []string{"--encryption-key", rotated}
		if db.Path() == "" {
			flags = []string{"--encryption-key", rotated + ",the first key of this test"}
		}
		p = start(t, db.URL, flags...)
		if status, page := signIn(p); status != http.StatusOK {
			t.Errorf("after the key was replaced: %d: %s", status, page)
		}
		p.kill()
		_ = os.Remove(file)
		p = start(t, db.URL, "--encryption-key", "another key by mistake")
		if !eventually(patience, func() bool {
			return strings.Contains(p.stderr.String(), "cannot read the secrets of authenticator apps")
		}) {
			t.Error(p.stderr.String())
		}
		if status, page := signIn(p); status != http.StatusInternalServerError || !strings.Contains(page, "Use a recovery code, or ask an administrator") {
			t.Errorf("with another key: %d: %s", status, page)
		}
		administer(t, db, "user", "reset-mfa", "ann@example.org")
		who := newPerson(t)
		if status, page := who.send(p.url+"/signin", url.Values{"email": {"ann@example.org"}, "password": {password}}); status != http.StatusOK || strings.Contains(page, "Enter your code") {
			t.Errorf("after the reset: %d: %s", status, page)
		}
		secret = setUpApp(t, p, who, password)
		if strings.Contains(contents(t, db), secret) {
			t.Error("the secret is stored in the clear")
		}
	})
}

// setUpApp sets up an authenticator app on the pages, and returns its secret.
func setUpApp(t *testing.T, p *process, who *person, password string) (secret string) {
	t.Helper()
	status, page := who.send(p.url+"/account/totp", nil)
	kept := regexp.MustCompile(`name="kept" value="([^"]+)"`).FindStringSubmatch(page)
	shown := regexp.MustCompile(`[A-Z2-7]{4}(?: ?[A-Z2-7]{4}){7}`).FindString(page)
	if status != http.StatusOK || kept == nil || shown == "" {
		t.Fatalf("%d: %s", status, page)
	}
	secret = strings.ReplaceAll(shown, " ", "")
	code, err := totp.GenerateCode(secret, time.Now())
	status, page = who.send(p.url+"/account/totp", url.Values{"kept": {html.UnescapeString(kept[1])}, "code": {code}, "password": {password}})
	if err != nil || status != http.StatusOK || !strings.Contains(page, "recovery codes") {
		t.Fatalf("%v, %d: %s", err, status, cmp.Or(page, "no page"))
	}
	return secret
}
