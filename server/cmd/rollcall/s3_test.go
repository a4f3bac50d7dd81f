package main

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/rollcall-dev/rollcall/checks/s3store/s3test"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
)

func s3Args(url string) []string {
	return []string{"--s3-endpoint", url, "--s3-bucket", s3test.Bucket, "--s3-access-key", s3test.AccessKey, "--s3-secret-key", s3test.SecretKey}
}

// objectsOf returns the number of objects of a check.
func objectsOf(t *testing.T, storage *s3test.Server, c apiCheck) (n int) {
	t.Helper()
	for _, key := range storage.Keys(t) {
		if strings.HasPrefix(key, c.UUID+"/") {
			n++
		}
	}
	return n
}

// getBody reads the body of a check's ping.
func getBody(t *testing.T, p *process, key string, c apiCheck, n int) (status int, body string) {
	t.Helper()
	r := request{
		method: http.MethodGet, url: fmt.Sprintf("%s/api/v3/checks/%s/pings/%d/body", p.url, c.UUID, n), header: http.Header{"X-Api-Key": {key}},
	}
	status, body, err := r.do()
	if err != nil {
		t.Fatal(err)
	}
	return status, body
}

// TestKillBetweenCommitAndUpload kills the server after it committed bodies, while object storage is down. They are always
// readable, and the next server uploads them.
func TestKillBetweenCommitAndUpload(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		storage := s3test.Start(t)
		killBetween(t, db, storage, storage.URL, storage.Stop, func() {}, func() { storage.Restart(t) })
	})
}

// TestKillDuringUpload kills the server while object storage does not answer. The next server uploads the bodies after the
// lease of half a minute.
func TestKillDuringUpload(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	t.Parallel() // it waits
	storage := s3test.Start(t)
	proxy := storage.StartProxy(t)
	underWay := func() {
		// One of them is the probe at the start of the server.
		if !eventually(patience, func() bool { return proxy.Connections() > 2 }) {
			t.Fatal("no upload has begun")
		}
	}
	killBetween(t, dbtest.SQLite(t), storage, proxy.URL, proxy.Hold, underWay, proxy.Release)
}

func killBetween(t *testing.T, db dbtest.DB, storage *s3test.Server, url string, fail, ready, mend func()) {
	t.Helper()
	const pings = 20
	body := func(n int) string { return fmt.Sprint(n, strings.Repeat("\xff\x00\r\n", 50)) }
	args := append(s3Args(url), "--rate-limit", "0")
	fail()
	p := start(t, db.URL, args...)
	key := keyOf(t, p)
	c := createCheck(t, p, key, "job")
	for n := range pings {
		r := request{method: http.MethodPost, url: p.url + "/ping/" + c.UUID, body: body(n)}
		if status, text, err := r.do(); status != http.StatusOK {
			t.Fatal(status, text, err)
		}
	}
	read := func() {
		t.Helper()
		for n := range pings {
			if status, got := getBody(t, p, key, c, n+1); status != http.StatusOK || got != body(n) {
				t.Errorf("body %d: status %d, %q", n, status, got)
			}
		}
	}
	read()
	ready()
	p.kill()
	mend()
	p = start(t, db.URL, args...)
	read()
	if !eventually(3*patience, func() bool { return objectsOf(t, storage, c) == pings }) {
		t.Errorf("%d objects, want %d", objectsOf(t, storage, c), pings)
	}
	read()
}

// TestObjectStorageGone reads a body while object storage is down: only that request fails, with 503.
func TestObjectStorageGone(t *testing.T) {
	storage := s3test.Start(t)
	db := dbtest.SQLite(t)
	p := start(t, db.URL, s3Args(storage.URL)...)
	key := keyOf(t, p)
	c := createCheck(t, p, key, "job")
	ping := func(body string) {
		t.Helper()
		r := request{method: http.MethodPost, url: p.url + "/ping/" + c.UUID, body: body}
		if status, text, err := r.do(); status != http.StatusOK {
			t.Fatal(status, text, err)
		}
	}
	large := strings.Repeat("large ", 20)
	ping(large)
	ping("small")
	// The object exists before the database records it. If storage stopped in between, the body would stay in the database.
	rows := db.Bun(t)
	moved := func() bool {
		var queued int
		err := rows.NewRaw("SELECT count(*) FROM rollcall_uploads").Scan(t.Context(), &queued)
		return err == nil && queued == 0 && objectsOf(t, storage, c) == 1
	}
	if !eventually(patience, moved) {
		t.Fatal("the body was not moved")
	}
	storage.Stop()
	ping(large)
	wants := map[int]int{1: http.StatusServiceUnavailable, 2: http.StatusOK, 3: http.StatusOK, 4: http.StatusNotFound}
	for n, want := range wants {
		if status, body := getBody(t, p, key, c, n); status != want {
			t.Errorf("body %d: status %d, %s; want %d", n, status, body, want)
		}
	}
	if _, err := p.stop(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if log := p.stderr.String(); strings.Contains(log, s3test.SecretKey) || !strings.Contains(log, "object storage is unavailable") {
		t.Errorf("the log does not say what is wrong, or has a key:\n%s", log)
	}

	p = start(t, db.URL, "--s3-endpoint", storage.URL, "--s3-bucket", "missing", "--s3-access-key", "a", "--s3-secret-key", s3test.SecretKey)
	if !eventually(patience, func() bool { return strings.Contains(p.stderr.String(), "object storage cannot be used") }) {
		t.Errorf("the log does not say at the start what is wrong:\n%s", p.stderr.String())
	}
	if status, body := getBody(t, p, key, c, 1); status != http.StatusServiceUnavailable || strings.Contains(body, "s3") {
		t.Errorf("status %d, %s", status, body)
	}
}
