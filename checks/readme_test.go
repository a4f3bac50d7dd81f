package checks_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestReadmeQuickStart builds the program of the quick start in README.md, runs it twice and compares what it prints.
func TestReadmeQuickStart(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```go\n(package main\n.*?)```.*?```text\n(.*?)```").FindSubmatch(readme)
	if found == nil {
		t.Fatal("README.md has no program and no output")
	}
	run := buildReadme(t, found[1])
	for range 2 { // the second run finds the check of the first
		if out, _ := run(); out != string(found[2]) {
			t.Errorf("printed %q, want %q", out, found[2])
		}
	}
}

// TestReadmeSnippets runs the Go snippets of all manuals as one program: the quick start, and each snippet where the
// variables of the ones before are in scope. So they combine, and no variable hides a package that a later one needs.
func TestReadmeSnippets(t *testing.T) {
	if testing.Short() {
		t.Skip("links every package")
	}
	out, log := buildReadme(t, combineReadmes(t))()
	out += log
	if want := "backup is up\n"; !strings.Contains(out, want) {
		t.Errorf("printed %q, want %q", out, want)
	}
	if want := "backup is down: the job reported a failure"; !strings.Contains(out, want) {
		t.Errorf("the function for alerts printed %q, want %q", out, want)
	}
}

// buildReadme compiles a program and returns a function that runs it in its own directory and returns its standard output and its log.
func buildReadme(t *testing.T, program []byte) func() (out, log string) {
	t.Helper()
	dir := t.TempDir()
	source, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "quickstart")
	if err := os.WriteFile(source, program, 0o600); err != nil {
		t.Fatal(err)
	}
	// In this directory, go build takes the imports of the file from this module.
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", binary, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, program)
	}
	return func() (string, string) {
		t.Helper()
		command := exec.CommandContext(t.Context(), binary)
		command.Dir = dir
		var log bytes.Buffer
		command.Stderr = &log
		out, err := command.Output()
		if err != nil {
			t.Errorf("%v\n%s%s", err, out, &log)
		}
		return string(out), log.String()
	}
}

// readmeImports are the packages that the snippets may use. Others are imported by a line of the snippet.
var readmeImports = strings.Fields(`bytes context errors fmt log log/slog net/http net/http/httptest os time
	github.com/google/uuid channels channels/email channels/message channels/standard checks checks/declare checks/job checks/monitor
	checks/monitor/monitortest checks/quiet checks/s3store checks/schedule checks/sqlstore/sqlite checks/verdict client
	flips keywords pings server server/dashboard`)

// readmeSetting is what the snippets take as given: a server, and parts of the reader's program.
const readmeSetting = `
	remote := monitortest.New(time.Now(), &monitor.Config{Channels: standard.Kinds(), DeliveredElsewhere: true})
	host := httptest.NewUnstartedServer(nil)
	serverURL := "http://" + host.Listener.Addr().String()
	handler, err := server.New(remote.Monitor, &server.Config{BaseURL: serverURL})
	must(err)
	host.Config.Handler = handler
	host.Start()
	project, keys, err := remote.Projects().Create(ctx, checks.ProjectSpec{Name: "jobs"})
	must(err)
	watched, err := remote.Project(project.ID).Create(ctx, checks.Spec{Slug: new("job")})
	must(err)
	adminKey, _, err := remote.Installation().CreateKey(ctx)
	must(err)
	apiKey, pingURL := keys.ReadWrite, serverURL+"/ping/"+watched.ID.String()
	must(os.Setenv("PING_URL", pingURL))

	var output, raw []byte
	data := []byte("projects: [{name: jobs, checks: [{slug: nightly}]}]")
	accessKey, secretKey := "key", "secret"
	web, mux := &http.Server{}, http.NewServeMux()
	signedIn := func(*http.Request) (server.Access, error) { return server.Access{}, server.ErrSignedOut }
	copyFiles := func(context.Context) error { return nil }
	dial := func(ctx context.Context, number, text string) error { return nil }
`

// alert raises an alert at the monitor of a snippet.
const alert = `
	must(mon.Tick(ctx))
	_, err = mon.Ping(ctx, c.ID, pings.Signal{Kind: pings.Failure})
	must(err)
	must(mon.Tick(ctx))
`

// combineReadmes returns the program of TestReadmeSnippets.
func combineReadmes(t *testing.T) []byte {
	t.Helper()
	var start string
	var snippets []string
	for _, file := range []string{"README.md", "../README.md", "../client/README.md"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(text, -1) {
			if snippet := string(found[1]); strings.HasPrefix(snippet, "package main\n") {
				start = snippet
			} else {
				snippets = append(snippets, snippet)
			}
		}
	}

	var program bytes.Buffer
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", start, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		body := start[files.Position(f.Body.Lbrace).Offset+1 : files.Position(f.Body.Rbrace).Offset]
		if f.Name.Name == "run" {
			body = readmeSetting + strings.TrimSuffix(strings.TrimSpace(body), "return nil") + nest(t, snippets) + "\nreturn nil\n"
		}
		program.WriteString(start[files.Position(f.Pos()).Offset:files.Position(f.Body.Lbrace).Offset] + "{" + body + "}\n")
	}
	program.WriteString("func must(err error) { if err != nil { panic(err) } }\n")

	imports := "package main\n"
	program.WriteString("\n")
	text := regexp.MustCompile(`(?m)^import .*\n`).ReplaceAllStringFunc(program.String(), func(line string) string {
		imports += line
		return ""
	})
	text = strings.NewReplacer(
		`"https://rollcall.example.org/ping/5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f"`, "pingURL", `"https://rollcall.example.org"`, "serverURL",
	).Replace(text)
	for _, name := range readmeImports {
		if !regexp.MustCompile(`\b` + path.Base(name) + `\.`).MatchString(text) {
			continue
		}
		if root, _, _ := strings.Cut(name, "/"); slices.Contains([]string{"channels", "checks", "client", "flips", "keywords", "pings", "server"}, root) {
			name = "github.com/rollcall-dev/rollcall/" + name
		}
		imports += fmt.Sprintf("import %q\n", name)
	}
	return []byte(imports + text)
}

// nest returns the statements of snippets, each in a block within that of the one before. It uses each variable, and checks
// each error.
func nest(t *testing.T, snippets []string) string {
	t.Helper()
	var b strings.Builder
	for i, snippet := range snippets {
		snippet = regexp.MustCompile(`(?m)^import .*\n`).ReplaceAllStringFunc(snippet, func(line string) string {
			b.WriteString(line)
			return ""
		})
		const head = "package p\nfunc _() {\n"
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, "", head+snippet+"}", 0)
		if err != nil {
			t.Fatalf("%v in the snippet\n%s", err, snippet)
		}
		fmt.Fprintf(&b, "{ // snippet %d\n", i+1)
		for _, s := range file.Decls[0].(*ast.FuncDecl).Body.List {
			statement := (head + snippet)[files.Position(s.Pos()).Offset:files.Position(s.End()).Offset]
			b.WriteString(statement + "\n")
			assigned, ok := s.(*ast.AssignStmt)
			if !ok {
				continue
			}
			for _, variable := range assigned.Lhs {
				switch name := variable.(*ast.Ident).Name; name {
				case "_":
				case "err":
					b.WriteString("must(err)\n")
				default:
					b.WriteString("_ = " + name + "\n")
				}
			}
			if strings.HasPrefix(statement, "mon, err := monitor.New(") { // the reader's only monitor
				b.WriteString("jobs = mon.Project(jobs.ID())\n")
			}
		}
		if strings.Contains(snippet, "OnAlert:") {
			b.WriteString(alert)
		}
	}
	return b.String() + strings.Repeat("}\n", len(snippets))
}
