package main

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/smtp"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// TestKeysAreNeitherStoredNorLogged uses a project's keys in correct, wrong and failing requests. Neither the bytes of the
// database nor a debug log may contain them, nor the secrets of the server's flags.
func TestKeysAreNeitherStoredNorLogged(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		p := start(t, db.URL, "--log-level", "debug", "--log-format", "json", "--access-log", "--smtp-listen", "127.0.0.1:0", "--ping-email-domain", "ping.example.org",
			"--mail-host", "mail.example.org", "--mail-from", "a@example.org", "--mail-username", "a", "--mail-password", "mailpassword",
			"--twilio-account-sid", "AC00000000000000000000000000000000", "--twilio-auth-token", "twiliotoken", "--twilio-from", "+37120000000", "--secret-key", "secretkeyofbadges")
		key := keyOf(t, p)
		var readOnly string
		for word := range strings.FieldsSeq(p.stdout.String()) {
			if strings.HasPrefix(word, "rcr_") {
				readOnly = word
			}
		}
		pingKey := wordAfter(t, p.stdout.String(), "ping key")
		c := createCheck(t, p, key, "job")
		use := func() {
			for _, path := range []string{
				"/api/v3/checks/", "/api/v3/checks/" + key, "/api/v3/checks/?key=" + key, "/ping/" + c.UUID, "/ping/" + pingKey + "/job", "/ping/" + pingKey + "/new?create=1",
				"/ping/" + key + "/job", "/" + key, "/api/v3/metrics", "/b/2/" + pingKey + ".svg",
			} {
				for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut} {
					for _, header := range []http.Header{{"X-Api-Key": {key}}, {"X-Api-Key": {readOnly}}, {"X-Api-Key": {key + "x"}}, {"Authorization": {"Bearer " + key}}, {}} {
						r := request{method: method, url: p.url + path, header: header}
						if strings.HasPrefix(path, "/api/") { // the body of a ping may be stored
							r.body = `{"api_key": "` + key + `", "desc": "` + pingKey + `"}` // names of checks are logged
						}
						if _, _, err := r.do(); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			sendMail(t, p, pingKey+"+job@ping.example.org", pingKey+"+nothing@ping.example.org", key+"@ping.example.org")
		}
		use()
		administer(t, db, "key", "revoke", readOnly)
		stored := contents(t, db)
		d := db.Bun(t)
		if _, err := d.ExecContext(t.Context(), "DROP TABLE rollcall_check_channels; DROP TABLE rollcall_pings"); err != nil {
			t.Fatal(err)
		}
		use()
		if state, err := p.stop(syscall.SIGTERM); err != nil || state.ExitCode() != 0 {
			t.Fatalf("%v, %v: %s", state, err, p.stderr.String())
		}
		log := p.stderr.String()
		if !strings.Contains(log, `"level":"ERROR"`) { // one a second at most
			t.Errorf("the server has not failed: %s", log)
		}
		hash := sha256.Sum256([]byte(key))
		if !strings.Contains(stored, string(hash[:])) && !strings.Contains(stored, hex.EncodeToString(hash[:])) {
			t.Error("not even the hash of the key is stored: this test looks in the wrong place")
		}
		for name, secret := range map[string]string{"the API key": key, "the read-only key": readOnly, "the ping key": pingKey,
			"--mail-password": "mailpassword", "--twilio-auth-token": "twiliotoken", "--secret-key": "secretkeyofbadges"} {
			if at := strings.Index(log, secret); at >= 0 {
				t.Errorf("%s is logged: %.400s", name, log[max(0, at-200):])
			}
			if at := strings.Index(stored, secret); at >= 0 && secret != pingKey { // ping keys are stored
				t.Errorf("%s is stored: %.400q", name, stored[max(0, at-200):])
			}
		}
	})
}

// wordAfter returns the word that follows a label.
func wordAfter(t *testing.T, text, label string) string {
	t.Helper()
	_, rest, _ := strings.Cut(text, label)
	words := strings.Fields(rest)
	if len(words) == 0 {
		t.Fatalf("no %s in %s", label, text)
	}
	return words[0]
}

// sendMail sends a message to each address, and ignores refusals.
func sendMail(t *testing.T, p *process, to ...string) {
	t.Helper()
	addr := wordAfter(t, p.stdout.String(), "accepting e-mail for ping.example.org on")
	for _, address := range to {
		_ = smtp.SendMail(addr, nil, "job@example.org", []string{address}, []byte("Subject: done\r\n\r\n"+address+"\r\n"))
	}
}

// administer runs a command on the database, which must succeed, and returns its output.
func administer(t *testing.T, db dbtest.DB, args ...string) string {
	t.Helper()
	var stdout, stderr strings.Builder
	if status := run(append([]string{"--database", db.URL}, args...), &stdout, &stderr); status != console.ExitOK {
		t.Fatalf("%q: status %d: %s", args, status, stderr.String())
	}
	return stdout.String()
}

// contents returns the content of a database: the bytes of SQLite's files, or every row as text.
func contents(t *testing.T, db dbtest.DB) string {
	t.Helper()
	var all strings.Builder
	if path := db.Path(); path != "" {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			content, err := os.ReadFile(path + suffix)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(content)
		}
		return all.String()
	}
	d := db.Bun(t)
	var tables []string
	if err := d.NewRaw("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").Scan(t.Context(), &tables); err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		var rows []string
		if err := d.NewRaw("SELECT t::text FROM "+table+" t").Scan(t.Context(), &rows); err != nil {
			t.Fatal(err)
		}
		all.WriteString(strings.Join(rows, "\n"))
	}
	return all.String()
}
