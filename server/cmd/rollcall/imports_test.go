package main

import (
	"cmp"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/rollcall-dev/rollcall/"

// modules returns the directories of the modules that are part of this one: that of the binary, and those below it.
func modules(t *testing.T) (directories []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && path != root {
			return cmp.Or(err, fs.SkipDir)
		}
		if entry.Name() == "go.mod" {
			directories = append(directories, filepath.Dir(path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return directories
}

// imports returns the imports of each package of all modules. The field of go list selects direct or all imports. A module
// below this one is left out if the machine lacks what it needs, and the test says so.
func imports(t *testing.T, field string) map[string][]string {
	t.Helper()
	all := make(map[string][]string)
	for _, directory := range modules(t) {
		list := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.ImportPath}} {{join ."+field+` " "}}`, "./...")
		list.Dir = directory
		if directory != root && os.Getenv("ROLLCALL_TEST_REQUIRE") != "all" {
			list.Env = append(os.Environ(), "GOPROXY=off")
		}
		out, err := list.Output()
		if err != nil && list.Env != nil {
			t.Logf("not checked, because there are modules to get: go mod download -C %s", directory)
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", directory, err)
		}
		for line := range strings.Lines(string(out)) {
			words := strings.Fields(line)
			all[strings.TrimPrefix(words[0], module)] = words[1:]
		}
	}
	return all
}

// inDashboard returns packages of the dashboard.
func inDashboard(names ...string) (list []string) {
	for _, name := range names {
		list = append(list, "server/dashboard/internal/"+name)
	}
	return list
}

// TestImportDirection lists the imports that each package may have within the module. Programs and test helpers are not
// listed, and may import anything.
func TestImportDirection(t *testing.T) {
	leaves := []string{"keywords", "pings", "flips", "channels", "badges", "checks/schedule", "checks/quiet", "checks/gate"}
	allowed := map[string][]string{
		"checks/internal/wallclock":    {},
		"checks":                       append([]string{"channels/prose"}, leaves...),
		"checks/job":                   {"checks", "pings"},
		"checks/job/internal/cronspec": {"checks", "checks/schedule"},
		"checks/job/croncheck":         {"checks", "checks/job", "checks/job/internal/cronspec"},
		"checks/job/gocroncheck":       {"checks", "checks/job", "checks/job/internal/cronspec"},
		"checks/job/rivercheck":        {"checks", "checks/job", "checks/job/internal/cronspec"},
		"checks/job/asynqcheck":        {"checks", "checks/job", "checks/job/internal/cronspec"},
		"checks/audit":                 {},
		"checks/records":               {"checks/audit"},
		"checks/internal/store":        append([]string{"checks", "checks/audit", "checks/internal/selection", "checks/records"}, leaves...),
		"checks/verdict":               append([]string{"checks", "checks/internal/selection", "checks/internal/cause", "channels/prose", "pings/text"}, leaves...),
		"checks/internal/cause":        {"channels/prose", "pings/text"},
		"checks/monitor":               append([]string{"channels/prose", "checks", "pings/email", "checks/audit", "checks/internal/...", "checks/job", "checks/records", "checks/verdict"}, leaves...),
		"checks/internal/hold":         {"checks", "checks/internal/store"},
		"checks/internal/selection":    {"channels", "channels/prose", "checks"},
		"checks/internal/background":   {},
		"checks/internal/courier":      append([]string{"checks", "checks/internal/background", "checks/internal/selection", "checks/internal/store", "checks/verdict", "pings/text"}, leaves...),
		"checks/internal/ingest":       {"checks", "checks/internal/background", "checks/internal/hold", "checks/internal/store", "pings"},
		"checks/internal/watch":        {"checks/internal/background", "checks/internal/hold", "checks/internal/store"},
		"checks/internal/feed":         {"channels", "checks", "checks/gate", "checks/internal/background", "checks/internal/store"},
		"checks/sqlstore":              append([]string{"checks", "checks/audit", "checks/internal/background", "checks/internal/selection", "checks/internal/store", "checks/records"}, leaves...),
		"checks/sqlstore/sqlite":       {"checks/sqlstore", "checks/internal/store"},
		"checks/sqlstore/postgres":     {"checks/sqlstore", "checks/internal/store"},
		"checks/spool":                 {"checks/internal/store"},
		"checks/s3store":               append([]string{"checks"}, leaves...),
		"pings/text":                   {"pings"},
		"pings/email":                  {"pings", "pings/text"},
		"checks/declare":               append([]string{"channels/prose", "checks", "checks/internal/selection", "checks/verdict"}, leaves...),
		"client/wire":                  {"checks", "checks/gate"},
		"client":                       append([]string{"checks", "checks/job", "client/wire"}, leaves...),
		"client/clienttest":            {"channels", "checks", "checks/job", "checks/monitor", "checks/monitor/monitortest", "client", "server"},

		"checks/monitor/monitortest": {"channels", "checks", "checks/internal/background", "checks/monitor", "checks/sqlstore", "checks/sqlstore/sqlite"},

		"channels/prose":    {},
		"channels/message":  {"channels", "channels/prose", "pings/text"},
		"channels/outbound": {"channels", "channels/prose"},
		"channels/shell":    {"channels", "channels/prose"},
		"channels/email":    {"channels", "channels/message", "channels/outbound", "channels/prose"},
		"channels/webhook":  {"channels", "channels/outbound"},
		"channels/twilio":   {"channels", "channels/message", "channels/outbound", "channels/prose"},
		"channels/mqtt":     {"channels", "channels/message", "channels/outbound", "channels/prose"},
		"channels/webpush":  {"channels", "channels/message", "channels/outbound", "channels/prose"},
		"channels/services": {"channels", "channels/message", "channels/outbound", "channels/prose"},

		"server/metrics": {"checks", "channels", "checks/monitor", "pings"},
		"server/smtpd":   {"checks", "checks/monitor", "pings", "pings/email", "server/internal/limit"},
		"server/dashboard": append(inDashboard("check", "forms", "integrations", "lists", "overview", "project", "session", "ui"),
			"channels", "checks", "checks/audit", "checks/monitor", "server", "server/dashboard/statuspage", "server/internal/baseurl", "server/internal/limit", "server/internal/origin"),
		"server": append([]string{"channels/prose", "checks", "checks/audit", "checks/monitor", "checks/verdict", "client/wire", "pings/text", "server/internal/..."}, leaves...),

		"server/people":                          {"channels/prose", "checks", "checks/audit", "checks/monitor", "checks/records", "checks/schedule", "server/internal/limit", "server/internal/secret", "server/internal/sessions"},
		"server/internal/sessions":               {"checks", "checks/monitor", "checks/records"},
		"server/internal/request":                {"channels/prose", "checks", "checks/gate"},
		"server/internal/limit":                  {},
		"server/internal/healthchecks":           {"channels/prose", "checks", "checks/declare", "checks/monitor", "client"},
		"server/internal/baseurl":                {},
		"server/internal/secret":                 {"badges"},
		"server/internal/origin":                 {},
		"server/dashboard/accounts":              append(inDashboard("session", "ui", "words"), "channels/prose", "checks", "checks/audit", "checks/records", "server/internal/sessions", "checks/monitor", "server/people", "checks/schedule", "checks/verdict", "server", "server/dashboard", "server/internal/limit"),
		"server/dashboard/accounts/oidc":         {"channels/prose", "server/internal/limit", "server/people"},
		"server/dashboard/accounts/passkey":      {"server/people"},
		"server/dashboard/internal/words":        {"channels/prose", "checks", "checks/gate", "checks/schedule", "checks/verdict"},
		"server/dashboard/internal/assets":       {},
		"server/dashboard/internal/live":         {"checks", "checks/monitor", "server/internal/limit"},
		"server/dashboard/internal/board":        append(inDashboard("timeline", "words"), "checks", "checks/schedule"),
		"server/dashboard/internal/ui":           append(inDashboard("assets", "live", "timeline", "words"), "badges", "channels", "checks", "checks/audit", "checks/gate", "checks/monitor", "checks/schedule", "checks/verdict", "channels/prose", "flips", "pings", "pings/email", "pings/text", "server", "server/internal/..."),
		"server/dashboard/internal/overview":     append(inDashboard("ui", "words"), "channels", "channels/prose", "checks", "checks/gate", "checks/monitor", "checks/verdict", "flips"),
		"server/dashboard/internal/lists":        append(inDashboard("board", "timeline", "ui", "words"), "channels", "channels/prose", "checks", "checks/gate", "checks/monitor", "checks/schedule", "checks/verdict", "flips", "pings"),
		"server/dashboard/internal/changes":      append(inDashboard("ui", "words"), "channels/prose", "checks", "checks/audit"),
		"server/dashboard/internal/check":        append(inDashboard("changes", "snippets", "timeline", "ui", "words"), "channels", "checks", "checks/audit", "checks/monitor", "checks/verdict", "channels/prose", "flips", "pings", "pings/email", "pings/text"),
		"server/dashboard/internal/snippets":     {"checks", "checks/schedule"},
		"server/dashboard/internal/forms":        append(append(inDashboard("ui", "words"), "channels/prose", "checks", "checks/monitor", "checks/verdict"), leaves...),
		"server/dashboard/internal/integrations": append(inDashboard("changes", "ui", "words"), "channels", "channels/message", "channels/outbound", "channels/prose", "checks", "checks/audit", "checks/monitor", "checks/verdict", "flips", "pings"),
		"server/dashboard/internal/project":      append(inDashboard("ui", "words"), "badges", "channels", "channels/prose", "flips", "channels/outbound", "checks", "checks/declare", "checks/gate", "checks/monitor", "checks/schedule", "checks/verdict", "client", "server", "server/internal/healthchecks"),
		"server/dashboard/internal/session":      append(inDashboard("ui", "words"), "checks", "checks/records", "server", "server/internal/limit", "server/internal/sessions"),
		"server/dashboard/statuspage":            append([]string{"server/dashboard/internal/...", "server/internal/...", "channels/prose", "checks", "checks/monitor", "checks/verdict"}, leaves...),
	}
	for _, leaf := range leaves {
		allowed[leaf] = nil
	}
	for _, pkg := range []string{"checks/schedule", "checks/quiet"} {
		allowed[pkg] = []string{"checks/internal/wallclock"}
	}
	allowed["checks/schedule"] = append(allowed["checks/schedule"], "channels/prose")
	allowed["checks/gate"] = []string{"checks/quiet", "checks/schedule", "flips"}
	all := imports(t, "Imports")
	for _, leaf := range leaves {
		if all[leaf] == nil {
			t.Errorf("there is no package %s", leaf)
		}
	}
	// The three ways meet only at the database, and the monitor alone joins them.
	for pkg, list := range all {
		for _, way := range []string{"ingest", "watch", "courier"} {
			if pkg != "checks/monitor" && slices.Contains(list, module+"checks/internal/"+way) {
				t.Errorf("%s imports checks/internal/%s", pkg, way)
			}
		}
		if allowed[pkg] == nil && strings.HasPrefix(pkg, "checks/internal/") && !strings.HasSuffix(pkg, "test") {
			t.Errorf("%s is not listed", pkg)
		}
	}
	// The library stands below its client and its server.
	tests := imports(t, "XTestImports")
	for pkg, list := range all {
		if pkg != "checks" && !strings.HasPrefix(pkg, "checks/") {
			continue
		}
		if pkg != "checks/job" { // whose tests compare its two reporters, a Job of a monitor and a Pinger
			list = slices.Concat(list, tests[pkg])
		}
		for _, above := range []string{"client", "server"} {
			if slices.Contains(list, module+above) {
				t.Errorf("%s imports %s", pkg, above)
			}
		}
	}
	for pkg, may := range allowed {
		for _, path := range all[pkg] {
			if name, ours := strings.CutPrefix(path, module); ours && !slices.ContainsFunc(may, func(m string) bool { return matches(m, name) }) {
				t.Errorf("%s imports %s", pkg, name)
			}
		}
	}
}

// matches reports whether a package is the one that is meant, or below it if that ends with "...".
func matches(meant, name string) bool {
	prefix, below := strings.CutSuffix(meant, "...")
	return name == meant || below && strings.HasPrefix(name, prefix)
}

// TestHeavyImports bounds the dependencies of each package. The domain imports neither HTTP nor SQL, only the store
// imports bun, only the two packages that open a database import its driver and bun's dialect, only senders and object storage import their
// libraries, and only tests and examples drive a browser.
func TestHeavyImports(t *testing.T) {
	anywhere := func(pkg string) bool {
		return strings.HasPrefix(pkg, "server/cmd/") || strings.HasPrefix(pkg, "examples/") || strings.HasPrefix(pkg, "checks/sqlstore/dbtest") ||
			pkg == "checks/monitor/monitortest" || pkg == "client/clienttest" || pkg == "server/dashboard/internal/pagetest"
	}
	ofPeople := func(pkg string) bool {
		return pkg == "server/people" || strings.HasPrefix(pkg, "server/dashboard/accounts")
	}
	domain := []string{"keywords", "pings", "pings/email", "flips", "channels", "channels/message", "channels/prose", "badges", "checks", "checks/schedule", "checks/quiet", "checks/gate",
		"checks/job", "checks/verdict", "checks/monitor", "client/wire"}
	rules := []struct {
		path string
		may  func(pkg string) bool
	}{
		{"github.com/uptrace/bun", func(pkg string) bool { return strings.HasPrefix(pkg, "checks/sqlstore") || anywhere(pkg) }},
		{"github.com/uptrace/bun/dialect/sqlitedialect", func(pkg string) bool { return pkg == "checks/sqlstore/sqlite" || anywhere(pkg) }},
		{"github.com/uptrace/bun/dialect/pgdialect", func(pkg string) bool { return pkg == "checks/sqlstore/postgres" || anywhere(pkg) }},
		{"go.etcd.io/bbolt", func(pkg string) bool { return pkg == "checks/spool" || anywhere(pkg) }},
		{"modernc.org/sqlite", func(pkg string) bool { return pkg == "checks/sqlstore/sqlite" || anywhere(pkg) }},
		{"github.com/jackc/pgx", func(pkg string) bool { return pkg == "checks/sqlstore/postgres" || anywhere(pkg) }},
		{"github.com/julienschmidt/httprouter", func(pkg string) bool {
			return pkg == "server" || strings.HasPrefix(pkg, "server/dashboard") || anywhere(pkg)
		}},
		{"github.com/eclipse/paho.golang", func(pkg string) bool {
			return pkg == "channels/mqtt" || pkg == "channels/standard" || anywhere(pkg)
		}},
		{"github.com/SherClockHolmes/webpush-go", func(pkg string) bool {
			return pkg == "channels/webpush" || pkg == "channels/standard" || anywhere(pkg)
		}},
		{"github.com/aws", func(pkg string) bool {
			return pkg == "checks/s3store" || pkg == "channels/services" || pkg == "channels/standard" || anywhere(pkg)
		}},
		{"github.com/wneessen/go-mail", func(pkg string) bool {
			return pkg == "channels/email" || pkg == "channels/standard" || anywhere(pkg)
		}},
		{"github.com/prometheus", func(pkg string) bool { return pkg == "server/metrics" || anywhere(pkg) }},
		{"golang.org/x/crypto/argon2", func(pkg string) bool { return ofPeople(pkg) || anywhere(pkg) }},
		{"github.com/pquerna/otp", func(pkg string) bool { return ofPeople(pkg) || anywhere(pkg) }},
		{"github.com/trustelem/zxcvbn", func(pkg string) bool { return ofPeople(pkg) || anywhere(pkg) }},
		{module + "server/people", func(pkg string) bool { return ofPeople(pkg) || anywhere(pkg) }},
		{"github.com/chromedp", func(pkg string) bool {
			return pkg == "server/dashboard/internal/browsertest" || strings.HasPrefix(pkg, "examples/")
		}},
		{"github.com/coreos/go-oidc", func(pkg string) bool { return pkg == "server/dashboard/accounts/oidc" || anywhere(pkg) }},
		{"github.com/go-webauthn", func(pkg string) bool { return pkg == "server/dashboard/accounts/passkey" || anywhere(pkg) }},
		{"github.com/zitadel/oidc", func(pkg string) bool { return pkg == "server/dashboard/internal/oidctest" }},
		{"net/http", func(pkg string) bool {
			return !slices.Contains(domain, pkg) && !strings.HasPrefix(pkg, "checks/internal/")
		}},
		{"database/sql", func(pkg string) bool {
			return !slices.Contains(domain, pkg) && !strings.HasPrefix(pkg, "checks/internal/")
		}},
	}
	for pkg, deps := range imports(t, "Deps") {
		for _, rule := range rules {
			for _, dep := range deps {
				// uuid.UUID implements the interfaces of database/sql/driver.
				hit := dep == rule.path || strings.HasPrefix(dep, rule.path+"/") && dep != "database/sql/driver"
				if hit && !rule.may(pkg) {
					t.Errorf("%s depends on %s", pkg, dep)
				}
			}
		}
	}
}
