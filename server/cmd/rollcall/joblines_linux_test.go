package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rollcall-dev/rollcall/checks"
)

// pingRecorder answers every request with OK and keeps it.
type pingRecorder struct {
	mu   sync.Mutex
	list []string // method, path and body
}

func (p *pingRecorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	p.mu.Lock()
	p.list = append(p.list, fmt.Sprintf("%s %s %q", r.Method, r.URL.Path, body))
	p.mu.Unlock()
	fmt.Fprint(w, "OK")
}

// take returns the requests since the last call.
func (p *pingRecorder) take() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.list
	p.list = nil
	return list
}

// read returns the text of a file of the module, unpacked if its name ends in .gz.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err == nil && strings.HasSuffix(name, ".gz") {
		var r *gzip.Reader
		if r, err = gzip.NewReader(bytes.NewReader(text)); err == nil {
			text, err = io.ReadAll(r)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// jobTexts returns the texts with lines about jobs, by their name: each block of code in a document, the help and the man pages,
// and the examples.
func jobTexts(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{"help of run": runCmd{}.Help(), "help of ping": pingCmd{}.Help(), "rollcall(1)": overviewExamples}
	for path, text := range documents(t) {
		for i, block := range fence.FindAllString(text, -1) {
			texts[fmt.Sprintf("%s, block %d", strings.TrimPrefix(path, root+"/"), i)] = block
		}
	}
	for _, pattern := range []string{"examples/cron/crontab", "server/dashboard/internal/snippets/files/*.crontab"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(paths) == 0 {
			t.Fatal(pattern, err)
		}
		for _, path := range paths {
			name := strings.TrimPrefix(path, root+"/")
			texts[name] = read(t, name)
		}
	}
	return texts
}

var (
	crontabLine = regexp.MustCompile(`(?m)^ *(?:[\d*/,-]+ ){5} *([^ \n].*)$`)
	crontabEnv  = regexp.MustCompile(`(?m)^ *([A-Z_]+=\S+)$`)
	jobOfLine   = regexp.MustCompile(`/usr/local/bin/(job|backup)`)
)

// localPings replaces the ping URLs of documents.
func localPings(url string) *strings.Replacer {
	return strings.NewReplacer("https://rollcall.example.org", url, "http://localhost:8000", url)
}

// TestCrontabLines runs each line of a crontab that a document has, in the environment of cron and as an ordinary user: on a
// machine with the package, on one with go install, and on one without rollcall. The job runs once, and its exit status passes
// through. The ping arrives, or a line says that it did not.
func TestCrontabLines(t *testing.T) {
	need(t, "curl", "curl")
	machine := newCronMachine(t)
	tried := 0
	for name, text := range jobTexts(t) {
		var env []string
		for _, found := range crontabEnv.FindAllStringSubmatch(text, -1) {
			env = append(env, localPings(machine.server.URL).Replace(found[1]))
		}
		for _, found := range crontabLine.FindAllStringSubmatch(text, -1) {
			tried++
			if strings.Contains(found[0], "%") || strings.Contains(text, "/etc/rollcall") {
				t.Errorf("%s: cron ends the command at the percent sign, or the user cannot read the file:\n%s", name, found[0])
			}
			for _, installed := range []string{"by the package", "by go install", "not"} {
				for _, status := range []int{0, 3} {
					machine.try(t, fmt.Sprintf("%s, rollcall installed %s, status %d", name, installed, status), found[1], env, installed, status)
				}
			}
		}
	}
	if tried < 10 {
		t.Errorf("only %d lines were tried", tried)
	}
}

// cronMachine has a user with jobs, and a server.
type cronMachine struct {
	dir, home string
	pings     *pingRecorder
	server    *httptest.Server
}

func newCronMachine(t *testing.T) *cronMachine {
	t.Helper()
	m := &cronMachine{dir: t.TempDir(), pings: &pingRecorder{}}
	m.server = httptest.NewServer(m.pings)
	t.Cleanup(m.server.Close)
	m.home = filepath.Join(m.dir, "home of a user")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{
		"usr/bin/rollcall": program, "home of a user/.rollcall.key": []byte("key\n"), "local/job": nil, "local/backup": nil,
		"local/backup.sh": []byte(strings.ReplaceAll(read(t, "examples/cron/backup.sh"), "/usr/local/bin", m.dir+"/local")),
	}
	for name, content := range files {
		path := filepath.Join(m.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(m.home, "go/bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{m.dir, filepath.Dir(m.dir)} { // so that another user gets there
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// nobody is the number of the user and the group of cron's jobs, if root runs the test.
const nobody = 65534

// try runs a line once.
func (m *cronMachine) try(t *testing.T, name, line string, env []string, installed string, status int) {
	t.Helper()
	path := "/usr/bin:/bin"
	link := filepath.Join(m.home, "go/bin/rollcall")
	_ = os.Remove(link)
	switch installed {
	case "by the package":
		path = m.dir + path + ":" + path // <dir>/usr/bin stands for /usr/bin
	case "by go install":
		if err := os.Symlink(filepath.Join(m.dir, "usr/bin/rollcall"), link); err != nil {
			t.Fatal(err)
		}
	case "not":
		if _, err := os.Stat("/usr/bin/rollcall"); err == nil {
			return // this machine has the package
		}
	}
	runs := filepath.Join(m.home, "runs")
	script := fmt.Sprintf("#!/bin/sh\necho run >>'%s'\necho 12 files\nexit %d\n", runs, status)
	for _, job := range []string{"job", "backup"} {
		if err := os.WriteFile(filepath.Join(m.dir, "local", job), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(runs, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	command := strings.ReplaceAll(localPings(m.server.URL).Replace(line), "/usr/local/bin", m.dir+"/local")
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", command)
	cmd.Dir, cmd.SysProcAttr = m.home, childAttr()
	cmd.Env = append([]string{"PATH=" + path, "SHELL=/bin/sh", "HOME=" + m.home, "LOGNAME=nobody"}, env...)
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		for _, path := range []string{m.home, runs} {
			if err := os.Chown(path, nobody, nobody); err != nil {
				t.Fatal(err)
			}
		}
	}
	out, _ := cmd.CombinedOutput()
	got := cmd.ProcessState.ExitCode()
	pings := slices.DeleteFunc(m.pings.take(), func(ping string) bool { return strings.Contains(ping, "/start ") })
	switch ran, err := os.ReadFile(runs); {
	case !jobOfLine.MatchString(line) && !strings.Contains(line, "backup.sh"):
		if (got == 0) != (installed != "not") {
			t.Errorf("%s: exit status %d\n%s\n%s", name, got, line, out)
		}
		return // it runs no job
	case err != nil || string(ran) != "run\n" || got != status:
		t.Errorf("%s: the job ran %q, exit status %d, %v\n%s\n%s", name, ran, got, err, line, out)
	}
	want := 1
	switch guarded := strings.Contains(line, "command -v rollcall"); {
	case guarded && installed == "not":
		want = 0
		if !strings.Contains(string(out), "nothing is reported") {
			t.Errorf("%s: says nothing: %s\n%s", name, line, out)
		}
	case status != 0 && strings.Contains(line, " && {"): // reports successes alone
		want = 0
	}
	if len(pings) != want {
		t.Errorf("%s: pings %q, want %d\n%s\n%s", name, pings, want, line, out)
	}
}

var (
	pingLine   = regexp.MustCompile(`(?m)^.*\bcurl .*(?:/ping/|PING_URL|/windows/).*$`)
	pingOnPage = regexp.MustCompile(`(?s)<code>(curl [^<]*/ping/[^<]*)</code>`)
	yamlRun    = regexp.MustCompile(`^ *(?:- )?run: '(.*)'$`)
	yamlScript = regexp.MustCompile(`(?s)- \|\n(.*)`)
)

// pingCommands returns the commands with curl that ping or snooze, by the document that has them.
func pingCommands(t *testing.T) map[string][]string {
	t.Helper()
	list := make(map[string][]string)
	for name, text := range documents(t) {
		for _, block := range fence.FindAllString(text, -1) {
			if _, script, found := strings.Cut(block, "```sh\n#!/bin/sh\n"); found {
				list[name] = append(list[name], strings.TrimSuffix(script, "```"))
				text = strings.Replace(text, block, "", 1)
			}
		}
		for _, line := range pingLine.FindAllString(strings.ReplaceAll(text, "\\\n", " "), -1) {
			line = crontabLine.ReplaceAllString(yamlRun.ReplaceAllString(line, "$1"), "$1")
			list[name] = append(list[name], strings.TrimSpace(line))
		}
	}
	for _, found := range crontabLine.FindAllStringSubmatch(read(t, "examples/cron/crontab"), 1) {
		list["examples/cron/crontab"] = append(list["examples/cron/crontab"], found[1])
	}
	list["examples/cron/backup.sh"] = []string{read(t, "examples/cron/backup.sh")}
	list["examples/kubernetes/cronjob.yaml"] = yamlScript.FindStringSubmatch(read(t, "examples/kubernetes/cronjob.yaml"))[1:]
	for _, found := range pingOnPage.FindAllStringSubmatch(read(t, "server/internal/openapi/reference.html.gz"), -1) {
		list["page of the API"] = append(list["page of the API"], html.UnescapeString(found[1]))
	}
	var greeting strings.Builder
	c := serveCmd{BaseURL: "https://rollcall.example.org", PingBaseURL: "https://rollcall.example.org/ping"}
	c.printGreeting(&greeting, checks.Project{PingKey: "key"}, checks.ProjectKeys{})
	list["greeting"] = pingLine.FindAllString(greeting.String(), -1)
	return list
}

// TestPingLines runs the documented commands with curl against servers that redirect. The ping arrives at the right server, with
// its method and body, or a line says that it did not.
func TestPingLines(t *testing.T) {
	need(t, "curl", "curl")
	pings := &pingRecorder{}
	right := httptest.NewServer(pings)
	defer right.Close()
	urls := map[string]string{}
	for _, status := range []int{301, 302, 303, 307, 308} {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", right.URL+r.URL.RequestURI())
			w.WriteHeader(status)
		}))
		defer web.Close()
		urls[fmt.Sprint(status)] = web.URL
	}
	signIn := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/signin" {
			http.Redirect(w, r, "/signin", http.StatusFound)
			return
		}
		fmt.Fprint(w, "<title>Sign in</title>")
	}))
	defer signIn.Close()
	urls["302 to sign in"] = signIn.URL

	bin := t.TempDir()
	for _, name := range []string{"job", "backup"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\necho 12 files\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	sh := func(command, url string) string {
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", strings.ReplaceAll(localPings(url).Replace(command), "/usr/local/bin", bin))
		cmd.Env = []string{"PATH=" + bin + ":/usr/bin:/bin", "PING_URL=" + url + "/ping/uuid", "PING_KEY=key", "UUID=uuid", "OUTCOME=0"}
		out, _ := cmd.CombinedOutput()
		return strings.NewReplacer("12 files", "", "OK", "", "\n", "").Replace(string(out)) // what it says besides
	}
	tried := 0
	for name, commands := range pingCommands(t) {
		for _, command := range commands {
			tried++
			said := sh(command, right.URL)
			want := pings.take()
			if len(want) == 0 || said != "" {
				t.Errorf("%s: without a redirect: %q, pings %q\n%s", name, said, want, command)
			}
			for fault, url := range urls {
				said := sh(command, url)
				if got := pings.take(); said == "" && !slices.Equal(got, want) {
					t.Errorf("%s: status %s: says nothing, pings %q, want %q\n%s", name, fault, got, want, command)
				}
			}
		}
	}
	if tried < 25 {
		t.Errorf("only %d commands were tried", tried)
	}
}
