package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Without --skip-invalid, a malformed entry stops the import. With it, the import skips the entry.
func TestImportMalformedEntries(t *testing.T) {
	const good, short, typed = "31365bce-8da9-4729-8ff3-aaa71d56b712", "803f680d-e89b-492b-82ef-2be7b774a92d", "803f680d-e89b-492b-82ef-2be7b774a92e"
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v3/checks/":
			fmt.Fprint(w, `{"checks": ["x", {"name": "No UUID"}, {"uuid": "`+typed+`", "name": "Typed", "timeout": {}},
				{"uuid": "`+short+`", "name": "Cron", "schedule": "* * * *", "tz": "UTC"},
				{"uuid": "`+good+`", "name": "Good", "timeout": 3600}]}`)
		default:
			fmt.Fprint(w, `{"channels": [{"id": 5, "name": "odd"}, {"id": "a", "name": "Ops", "kind": "email"}]}`)
		}
	}))
	defer source.Close()
	database := "sqlite:" + filepath.Join(t.TempDir(), "rollcall.db")
	if _, stderr, status := rollcall("project", "create", "jobs", "--database", database); status != 0 {
		t.Fatal(stderr)
	}
	want := []string{
		`rollcall: integration 1 of the source, "odd": id has the wrong type: number`,
		`rollcall: check 1 of the source: it is not a JSON object: string`,
		`rollcall: check 2 of the source, "No UUID": it has no uuid`,
		`rollcall: check "Typed" (` + typed + `): timeout is not a whole number of seconds: {}`,
		`rollcall: check "Cron" (` + short + `): schedule is not a valid cron or OnCalendar expression: a cron expression has 5 parts, this one has 4`,
	}
	args := []string{"import", "healthchecks", "--url", source.URL, "--api-key", "hcw_0000000000000000000000000000", "--project", "jobs", "--database", database}
	stdout, stderr, status := rollcall(args...)
	if diff := cmp.Diff(append(want, "rollcall: 4 checks of 5 cannot be imported, so none was; --skip-invalid imports the others"), strings.Split(strings.TrimSpace(stderr), "\n")); diff != "" || status != 1 || stdout != "" {
		t.Errorf("status %d, stdout %q (-want +got):\n%s", status, stdout, diff)
	}
	stdout, stderr, status = rollcall(append(args, "--skip-invalid")...)
	if diff := cmp.Diff(want, strings.Split(strings.TrimSpace(stderr), "\n")); diff != "" || status != 0 {
		t.Errorf("status %d, stderr (-want +got):\n%s", status, diff)
	}
	if want := `Imported 1 check into the project "jobs": 1 created, 0 updated, 0 unchanged, 4 refused.`; !strings.HasPrefix(stdout, want) || !strings.Contains(stdout, "Ops") {
		t.Errorf("stdout %q, want %q and the integration", stdout, want)
	}
	stdout, _, status = rollcall(append(args, "--skip-invalid", "--json")...)
	if !strings.Contains(stdout, `"uuid": "",`) || !strings.Contains(stdout, `"uuid": "`+typed+`"`) || status != 0 {
		t.Errorf("status %d: %s", status, stdout)
	}
}

// TestHostileServers: what a server sends without an end, or of any length, ends an import or a list with a short error. Names are cut
// where they are printed.
func TestHostileServers(t *testing.T) {
	const key = "hcw_0000000000000000000000000000"
	long := strings.Repeat("x", 1_000_000)
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch path := r.URL.Path; {
		case strings.HasPrefix(path, "/loop/"):
			http.Redirect(w, r, path+"x", http.StatusFound)
		case strings.HasPrefix(path, "/endless/"):
			fmt.Fprint(w, `{"checks": [`)
			for entries := strings.Repeat("{},", 10_000); ; {
				if _, err := fmt.Fprint(w, entries); err != nil {
					return
				}
			}
		case strings.HasPrefix(path, "/many/"):
			fmt.Fprint(w, `{"checks": [`+strings.Repeat("{},", 100_000)+`{}]}`)
		case strings.HasPrefix(path, "/bad/"):
			fmt.Fprint(w, `{"checks": [`+strings.Repeat("{},", 1000)+`{}], "channels": []}`)
		case strings.HasPrefix(path, "/limit/"):
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprint(w, `{"error": "`+long+`"}`)
		default:
			fmt.Fprint(w, `{"checks": [{"uuid": "31365bce-8da9-4729-8ff3-aaa71d56b712", "name": "`+long+`", "slug": "a", "tags": "", "timeout": 3600, "grace": 3600, "channels": "", "status": "new"}],
				"channels": [{"id": "a", "name": "`+long+`", "kind": "email"}]}`)
		}
	}))
	defer source.Close()
	database := "sqlite:" + filepath.Join(t.TempDir(), "rollcall.db")
	if _, stderr, status := rollcall("project", "create", "jobs", "--database", database); status != 0 {
		t.Fatal(stderr)
	}
	for _, test := range []struct{ path, want string }{
		{"/loop", "too many redirects"},
		{"/endless", "the response is longer than"},
		{"/many", "the source has 100001 checks, the maximum is 100000"},
		{"/bad", "and 901 more"},
		{"/limit", "(status 429)"},
		{"/names", "… (1000000 bytes)"},
	} {
		for _, args := range [][]string{
			{"import", "healthchecks", "--url", source.URL + test.path, "--api-key", key, "--project", "jobs", "--database", database, "--skip-invalid"},
			{"check", "list", "--url", source.URL + test.path, "--api-key", key},
		} {
			stdout, stderr, _ := rollcall(args...)
			if len(stdout) > 10_000 || len(stderr) > 20_000 {
				t.Errorf("%s, %s: %d bytes of output and %d of errors", args[0], test.path, len(stdout), len(stderr))
			}
			if args[0] == "import" && !strings.Contains(stdout+stderr, test.want) {
				t.Errorf("%s: %.300s%.300s, want %q", test.path, stdout, stderr, test.want)
			}
		}
	}
}
