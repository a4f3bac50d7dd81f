package snippets_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/snippets"
)

// TestMain runs more tests at once than there are processors: most of their time is the pauses between tries.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "rollcall-snippets-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	programs.dir, programs.paths = dir, make(map[string]string)
	return m.Run()
}

// site is a server with a check.
type site struct {
	mon   *monitor.Monitor
	check checks.Check
	url   string // its ping URL
}

// patience bounds the run of a snippet. Only a broken test reaches it.
const patience = 10 * time.Minute

// bodyLimit is the default of a server.
const bodyLimit = 100_000

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{}
	var err error
	if s.mon, err = monitor.New(dbtest.SQLite(t).Open(t), nil); err != nil {
		t.Fatal(err)
	}
	signer, err := badges.NewSigner([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewUnstartedServer(nil)
	base := "http://" + web.Listener.Addr().String()
	srv, err := server.New(s.mon, &server.Config{BaseURL: base, Signer: signer, PingBodyLimit: bodyLimit})
	if err != nil {
		t.Fatal(err)
	}
	web.Config.Handler = srv
	web.Start()
	t.Cleanup(web.Close)
	project, err := s.mon.OpenProject(t.Context(), "jobs")
	if err != nil {
		t.Fatal(err)
	}
	spec := checks.Spec{Schedule: new("30 4 * * *"), TZ: new("Europe/Berlin")}
	c, err := project.Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	s.check = *c.Check
	s.url = base + "/ping/" + s.check.ID.String()
	return s
}

// pings returns the pings, oldest first, and the body of the last one. It deletes nothing: a site is for one run.
func (s *site) pings(t *testing.T) (kinds string, last pings.Ping) {
	t.Helper()
	list, err := checks.Collect(s.mon.Project(s.check.ProjectID).Pings(t.Context(), s.check.ID, checks.PingQuery{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		kinds = strings.TrimSpace(string(p.Kind) + " " + kinds)
	}
	if len(list) > 0 {
		last = list[0]
		if last.BodySize > 0 {
			if last.Body, err = s.mon.Project(s.check.ProjectID).PingBody(t.Context(), s.check.ID, last.N); err != nil {
				t.Fatal(err)
			}
		}
	}
	return kinds, last
}

// job is a job in the languages of the snippets. It appends to the file runs, writes to standard output, and fails.
type job struct {
	name   string
	output int // bytes, in lines
	fails  bool
}

// line is what a job writes again and again, and end its last line.
const (
	line = "0123456789 0123456789 0123456789 0123456789 012\n" // 48 bytes
	end  = "the end of the output"
)

func (j job) lines() int { return j.output / len(line) }

// shell returns a script, for snippets that run a command.
func (j job) shell(runs string) string {
	text := "#!/bin/sh\necho run >>" + runs + "\ni=0\nwhile [ $i -lt " + strconv.Itoa(j.lines()) + " ]; do echo '" + strings.TrimSpace(line) + "'; i=$((i+1)); done\necho '" + end + "'\n"
	if j.fails {
		text += "echo 'disk full' >&2\nexit 3\n"
	}
	return text
}

// language says how to run a snippet.
type language struct {
	programs []string
	// hide makes what a snippet reports with unavailable: the programs on the path, or a library by the environment.
	hide func(t *testing.T, dir string) []string
	// prepare returns the command that runs the code with a job, in a directory that holds the program "job" at its path.
	prepare func(t *testing.T, code string, j job, dir, runs string) *exec.Cmd
	// What is reported.
	start, failures, output, errors bool
	status                          int // the exit status of a job that fails
	noStatus                        bool
	sameOrigin                      bool // it follows no redirect to another origin
}

// rewritten replaces the directory of the job and of rollcall.
func rewritten(code, dir string) string { return strings.ReplaceAll(code, "/usr/local/bin", dir) }

// script runs the code with an interpreter.
func script(interpreter ...string) func(*testing.T, string, job, string, string) *exec.Cmd {
	return func(t *testing.T, code string, j job, dir, runs string) *exec.Cmd {
		path := write(t, filepath.Join(dir, "script"), code)
		return exec.Command(interpreter[0], append(interpreter[1:], path)...)
	}
}

// filled puts the code of a job into a snippet, in place of a text.
func filled(place string, body func(j job, runs string) string, interpreter ...string) func(*testing.T, string, job, string, string) *exec.Cmd {
	return func(t *testing.T, code string, j job, dir, runs string) *exec.Cmd {
		if strings.Count(code, place) != 1 {
			t.Fatalf("no %q in\n%s", place, code)
		}
		return script(interpreter...)(t, strings.Replace(code, place, body(j, runs), 1), j, dir, runs)
	}
}

// crontab runs the command of the last line, as cron does.
func crontab(t *testing.T, code string, j job, dir, runs string) *exec.Cmd {
	lines := strings.Split(code, "\n")
	command, found := strings.CutPrefix(lines[len(lines)-1], "30 4 * * *  ")
	if !found || strings.Contains(command, "%") || len(lines) != 4 || lines[2] != "CRON_TZ=Europe/Berlin" {
		t.Fatal(code)
	}
	return exec.Command("/bin/sh", "-c", command)
}

// service runs the command of a unit, as systemd does.
func service(t *testing.T, code string, j job, dir, runs string) *exec.Cmd {
	_, command, found := strings.Cut(code, "\nExecStart=/bin/sh -c '")
	command, rest, ended := strings.Cut(command, "'")
	if !found || !ended || rest != "" || strings.Contains(command, "%") || strings.Contains(strings.ReplaceAll(command, "$$", ""), "$") {
		t.Fatal(code)
	}
	return exec.Command("/bin/sh", "-c", strings.ReplaceAll(command, "$$", "$"))
}

// hidePrograms leaves a path that has only what every system has.
func hidePrograms(t *testing.T, dir string) []string {
	if err := os.Remove(filepath.Join(dir, "rollcall")); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sh", "bash", "cat", "mktemp", "rm", "tail", "tee"} {
		if path, err := exec.LookPath(name); err == nil {
			if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return []string{"PATH=" + bin}
}

// hideLibrary puts a file that cannot be used in front of a library.
func hideLibrary(variable, file, content string) func(t *testing.T, dir string) []string {
	return func(t *testing.T, dir string) []string {
		path := filepath.Join(dir, "lib", file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, path, content)
		return []string{variable + "=" + filepath.Join(dir, "lib")}
	}
}

// pod runs the command of a container.
func pod(t *testing.T, code string, j job, dir, runs string) *exec.Cmd {
	var spec struct {
		Schedule string `yaml:"schedule"`
		TimeZone string `yaml:"timeZone"`
		Template struct {
			Spec struct {
				Template struct {
					Spec struct {
						Containers []struct{ Command, Args []string }
					}
				}
			}
		} `yaml:"jobTemplate"`
	}
	if err := yaml.Unmarshal([]byte(code), &spec); err != nil {
		t.Fatal(err)
	}
	if spec.Schedule != "30 4 * * *" || spec.TimeZone != "Europe/Berlin" {
		t.Error(code)
	}
	c := spec.Template.Spec.Template.Spec.Containers[0]
	return exec.Command(c.Command[0], append(c.Command[1:], c.Args...)...)
}

// program builds the snippet and runs it. The job and the URL are in its environment, so that all runs share one program.
func program(t *testing.T, code string, j job, dir, runs string) *exec.Cmd {
	const place = `	fmt.Fprintln(job.Output(ctx), "exported 12 files") // also becomes the body of the last ping` + "\n"
	url := regexp.MustCompile(`client\.NewPinger\("([^"\\]+)"`).FindStringSubmatchIndex(code)
	if url == nil || strings.Count(code, place) != 1 {
		t.Fatal(code)
	}
	environment := []string{"JOB_URL=" + code[url[2]:url[3]], "JOB_LINES=" + strconv.Itoa(j.lines()), "JOB_RUNS=" + runs, fmt.Sprint("JOB_FAILS=", j.fails)}
	code = code[:url[2]-1] + `os.Getenv("JOB_URL")` + code[url[3]+1:]
	text := "\tout := job.Output(ctx)\n\tlines, _ := strconv.Atoi(os.Getenv(\"JOB_LINES\"))\n\tfor range lines {\n" +
		"\t\tfmt.Print(" + strconv.Quote(line) + ")\n\t\tfmt.Fprint(out, " + strconv.Quote(line) + ")\n\t}\n" +
		"\tfmt.Println(" + strconv.Quote(end) + ")\n\tfmt.Fprintln(out, " + strconv.Quote(end) + ")\n" +
		"\tf, err := os.OpenFile(os.Getenv(\"JOB_RUNS\"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)\n\tif err != nil {\n\t\treturn err\n\t}\n\tfmt.Fprintln(f, \"run\")\n\tf.Close()\n" +
		"\tif os.Getenv(\"JOB_FAILS\") == \"true\" {\n\t\treturn fmt.Errorf(\"disk full\")\n\t}\n"
	code = strings.Replace(code, place, text, 1)
	code = strings.Replace(code, `	"log"`, "\t\"log\"\n\t\"os\"\n\t\"strconv\"", 1)
	cmd := exec.Command(built(t, code))
	cmd.Env = environment
	return cmd
}

// programs are those that have been built, in a directory that TestMain removes.
var programs struct {
	sync.Mutex
	dir   string
	paths map[string]string // by code
}

// built returns the path of a program. It builds each once.
func built(t *testing.T, code string) string {
	t.Helper()
	programs.Lock()
	defer programs.Unlock()
	if path := programs.paths[code]; path != "" {
		return path
	}
	dir, err := os.MkdirTemp(programs.dir, "")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "program")
	build(t, "-o", path, write(t, filepath.Join(dir, "main.go"), code))
	programs.paths[code] = path
	return path
}

// build runs go build. Without debug information it takes half of the time.
func build(t *testing.T, arguments ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "go", append([]string{"build", "-ldflags=-s -w"}, arguments...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func write(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// languages are those of the snippets, by the name of the way and the number of the alternative.
var languages = map[string]language{
	"crontab/2": {sameOrigin: true, hide: hidePrograms, prepare: crontab, start: true, failures: true, output: true, errors: true, status: 3},
	"crontab/0": {hide: hidePrograms, programs: []string{"curl"}, prepare: crontab, status: 3},
	"crontab/1": {hide: hidePrograms, programs: []string{"curl"}, prepare: crontab, failures: true, status: 3},
	"sh/0":      {hide: hidePrograms, programs: []string{"curl"}, prepare: script("sh"), start: true, failures: true, output: true, errors: true, status: 3},
	"bash/0":    {hide: hidePrograms, programs: []string{"bash", "curl"}, prepare: script("bash"), start: true, failures: true, output: true, errors: true, status: 3},
	"systemd/0": {sameOrigin: true, hide: hidePrograms, prepare: service, start: true, failures: true, output: true, errors: true, status: 3},
	"Python/0": {hide: hideLibrary("PYTHONPATH", "urllib.py", "raise ImportError('hidden')"), programs: []string{"python3"}, start: true, failures: true, output: true, errors: true, status: 1,
		prepare: filled("    pass  # your code\n", func(j job, runs string) string {
			text := "    open('" + runs + "', 'a').write('run\\n')\n    for i in range(" + strconv.Itoa(j.lines()) + "): print('" + strings.TrimSpace(line) + "')\n    print('" + end + "')\n"
			if j.fails {
				text += "    raise OSError('disk full')\n"
			}
			return text
		}, "python3")},
	"Node.js/0": {hide: func(t *testing.T, dir string) []string {
		return []string{"NODE_OPTIONS=--require " + write(t, filepath.Join(dir, "hide.js"), "delete globalThis.fetch")}
	}, programs: []string{"node"}, start: true, failures: true, output: true, errors: true, status: 1,
		prepare: filled("  // Your code. Return or throw; process.exit() would skip the last ping.\n", func(j job, runs string) string {
			text := "  require('fs').appendFileSync('" + runs + "', 'run\\n');\n  for (let i = 0; i < " + strconv.Itoa(j.lines()) + "; i++) console.log('" + strings.TrimSpace(line) + "');\n  console.log('" + end + "');\n"
			if j.fails {
				text += "  throw new Error('disk full');\n"
			}
			return text
		}, "node")},
	"PHP/0": {hide: hideLibrary("PHP_INI_SCAN_DIR", "hide.ini", "disable_functions=stream_context_create,ctype_alpha\nallow_url_fopen=0\n"), programs: []string{"php"}, start: true, failures: true, output: true, errors: true, status: 255, noStatus: true,
		prepare: filled("    // Your code. Return or throw; exit() counts as a failure.\n", func(j job, runs string) string {
			text := "    file_put_contents('" + runs + "', \"run\\n\", FILE_APPEND);\n    for ($i = 0; $i < " + strconv.Itoa(j.lines()) + "; $i++) echo \"" + strings.TrimSpace(line) + "\\n\";\n    echo \"" + end + "\\n\";\n"
			if j.fails {
				text += "    throw new Exception('disk full');\n"
			}
			return text
		}, "php")},
	"Ruby/0": {hide: hideLibrary("RUBYLIB", "net/http.rb", "raise LoadError, 'hidden'"), programs: []string{"ruby"}, start: true, failures: true, output: true, errors: true, status: 1,
		prepare: filled("# Your code follows.", func(j job, runs string) string {
			text := "File.write('" + runs + "', \"run\\n\", mode: 'a')\n" + strconv.Itoa(j.lines()) + ".times { puts '" + strings.TrimSpace(line) + "' }\nputs '" + end + "'\n"
			if j.fails {
				text += "raise 'disk full'\n"
			}
			return text
		}, "ruby")},
	"Perl/0": {hide: hideLibrary("PERL5LIB", "HTTP/Tiny.pm", "die 'hidden'"), programs: []string{"perl"}, start: true, failures: true, output: true, errors: true, status: 3,
		prepare: filled("# Your code follows.", func(j job, runs string) string {
			text := "open my $f, '>>', '" + runs + "' or die; print $f \"run\\n\"; close $f;\nprint \"" + strings.TrimSpace(line) + "\\n\" for 1.." + strconv.Itoa(j.lines()) + ";\nprintf \"%s\\n\", '" + end + "';\n"
			if j.fails {
				text += "$! = 3; die \"disk full\\n\";\n"
			}
			return text
		}, "perl")},
	"Go/0":         {sameOrigin: true, prepare: program, start: true, failures: true, output: true, errors: true, status: 1, noStatus: true},
	"Kubernetes/0": {hide: hidePrograms, programs: []string{"curl"}, prepare: pod, start: true, failures: true, status: 3},
}

// untested are snippets that a test cannot run: PowerShell is not in Debian, and the others are no programs.
var untested = []string{"PowerShell/0", "systemd/1", "e-mail/0"}

func params(s *site) snippets.Params {
	return snippets.Params{PingURL: s.url, Settings: s.check.Settings, BodyLimit: bodyLimit, Email: "x@example.org"}
}

// all returns the snippets by the keys of languages.
func all(p snippets.Params) map[string]string {
	list := make(map[string]string)
	for _, way := range snippets.For(p) {
		for i, s := range way.Snippets {
			list[way.Name+"/"+strconv.Itoa(i)] = s.Code
		}
	}
	return list
}

// TestRun runs each snippet with a server and without one, with a short and a long output, with a job that succeeds and one
// that fails: the job runs once, its output and exit status pass through, and the pings arrive.
func TestRun(t *testing.T) {
	bin := t.TempDir()
	build(t, "-o", bin, "github.com/rollcall-dev/rollcall/server/cmd/rollcall")
	known := all(params(newSite(t)))
	for _, name := range untested {
		if known[name] == "" {
			t.Errorf("there is no %s", name)
		}
		delete(known, name)
	}
	for name := range languages {
		if known[name] == "" {
			t.Errorf("there is no %s", name)
		}
	}
	for name := range known {
		l, ok := languages[name]
		if !ok {
			t.Errorf("%s has no test", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, program := range l.programs {
				require(t, program)
			}
			for _, j := range []job{{name: "short"}, {name: "long", output: 200_000}, {name: "fails", fails: true}, {name: "fails at length", output: 200_000, fails: true}} {
				for _, fault := range []fault{none, away, hidden, elsewhere, 301, 302, 303, 307, 308} {
					if fault != none && j.output == 0 || fault == hidden && l.hide == nil {
						continue // retries take seconds
					}
					t.Run(j.name+", "+fault.String(), func(t *testing.T) {
						t.Parallel()
						l.run(t, name, bin, j, fault)
					})
				}
			}
		})
	}
}

// fault is why nothing can be reported, or the status of a server that redirects to the right one.
type fault int

const (
	none      fault = iota
	away            // nothing listens
	hidden          // without the program or the library
	elsewhere       // the server redirects to a page with a form to sign in
)

func (f fault) String() string {
	return cmp.Or(map[fault]string{none: "well", away: "without a server", hidden: "without the program", elsewhere: "to sign in"}[f], "status "+strconv.Itoa(int(f)))
}

// redirects reports whether the server redirects to the right one.
func (f fault) redirects() bool { return f >= 300 }

// move starts a server that redirects as the fault says, and makes its URL that of the site.
func (s *site) move(t *testing.T, fault fault) {
	t.Helper()
	right, path := s.url, "/ping/"+s.check.ID.String()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rest, isPing := strings.CutPrefix(r.URL.Path, path)
		switch {
		case fault.redirects():
			http.Redirect(w, r, right+rest, int(fault))
		case isPing:
			http.Redirect(w, r, "/signin", http.StatusFound)
		default:
			fmt.Fprint(w, "<title>Sign in</title>")
		}
	}))
	t.Cleanup(web.Close)
	s.url = web.URL + path
}

// run runs a snippet once.
func (l language) run(t *testing.T, name, bin string, j job, fault fault) {
	t.Helper()
	s := newSite(t)
	switch {
	case fault == elsewhere || fault.redirects():
		s.move(t, fault)
	case fault == away:
		s.url = "http://127.0.0.1:1/ping/" + s.check.ID.String() // nothing listens there
	}
	dir := t.TempDir()
	runs := filepath.Join(dir, "runs")
	write(t, filepath.Join(dir, "job"), j.shell(runs))
	if err := os.Symlink(filepath.Join(bin, "rollcall"), filepath.Join(dir, "rollcall")); err != nil {
		t.Fatal(err)
	}
	cmd := l.prepare(t, rewritten(all(params(s))[name], dir), j, dir, runs)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	bound := exec.CommandContext(ctx, cmd.Path, cmd.Args[1:]...)
	bound.Env = append(os.Environ(), cmd.Env...)
	bound.Env = append(bound.Env, "PATH="+dir+":"+os.Getenv("PATH"), "HOME="+dir, "TMPDIR="+dir, "no_proxy=*", "NO_PROXY=*")
	if fault == hidden {
		bound.Env = append(bound.Env, l.hide(t, dir)...)
	}
	var out, errs bytes.Buffer
	bound.Stdout, bound.Stderr = &out, &errs
	err := bound.Run()
	status := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		status = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	want := 0
	if j.fails {
		want = l.status
	}
	if status != want {
		t.Errorf("exit status %d, want %d\n%s", status, want, errs.String())
	}
	if wanted := strings.Repeat(line, j.lines()) + end + "\n"; !strings.HasPrefix(out.String(), wanted) {
		t.Errorf("%d bytes of output, want %d: …%q", out.Len(), len(wanted), out.String()[max(0, out.Len()-200):])
	}
	if both := out.String() + errs.String(); j.fails && !strings.Contains(both, "disk full") || strings.Contains(both, s.check.ID.String()) {
		t.Errorf("standard error %q", errs.String())
	}
	if ran, err := os.ReadFile(runs); string(ran) != "run\n" {
		t.Errorf("ran %q, %v", ran, err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "tmp*")); len(left) > 0 || err != nil {
		t.Errorf("left %v, %v", left, err)
	}
	if fault != none && !(fault.redirects() && !l.sameOrigin) {
		if said := errs.String(); !(strings.Contains(said, "ping failed") || strings.Contains(said, "nothing is reported") || strings.Contains(said, " ping: ")) &&
			(l.failures || !j.fails) {
			t.Errorf("it does not say that nothing was reported: %q", said)
		}
		return
	}
	l.received(t, s, j, errs.String())
}

// received compares the pings with those that are due.
func (l language) received(t *testing.T, s *site, j job, errs string) {
	t.Helper()
	kinds, last := s.pings(t)
	// A ping whose answer is late is sent again, and recorded twice.
	kinds = strings.Join(slices.Compact(strings.Fields(kinds)), " ")
	want := "success"
	if j.fails {
		want = "fail"
	}
	if j.fails && !l.failures {
		want = ""
	}
	if l.start {
		want = strings.TrimSpace("start " + want)
	}
	if kinds != want {
		t.Errorf("pings %q, want %q\n%s", kinds, want, errs)
		return
	}
	if j.fails && l.failures && !l.noStatus && (last.ExitStatus == nil || *last.ExitStatus != l.status) {
		t.Errorf("exit status %v, want %d", last.ExitStatus, l.status)
	}
	if l.output && (!strings.Contains(string(last.Body), end) || j.output == 0 && last.BodySize > 2000 || j.output > 0 && last.BodySize < bodyLimit/4 || last.BodySize > bodyLimit) {
		t.Errorf("%d bytes of body: …%q", last.BodySize, last.Body[max(0, len(last.Body)-300):])
	}
	if l.errors && j.fails && !strings.Contains(string(last.Body), "disk full") {
		t.Errorf("body …%q", last.Body[max(0, len(last.Body)-300):])
	}
}

// TestExit ends jobs by an exit status of their own.
func TestExit(t *testing.T) {
	for _, test := range []struct {
		name, program, place, code string
		status                     int
		noStatus                   bool
	}{
		{"Python/0", "python3", "    pass  # your code\n", "    sys.exit(5)\n", 5, false},
		{"Python/0", "python3", "    pass  # your code\n", "    sys.exit('disk full')\n", 1, false},
		{"Python/0", "python3", "    pass  # your code\n", "    sys.exit()\n", 0, false},
		{"Node.js/0", "node", "  // Your code. Return", "  process.exitCode = 5; // ", 5, false},
		{"PHP/0", "php", "    // Your code. Return", "    exit(5); // ", 5, true},
		{"Ruby/0", "ruby", "# Your code follows.", "exit 5", 5, false},
		{"Ruby/0", "ruby", "# Your code follows.", "exit", 0, false},
		{"Perl/0", "perl", "# Your code follows.", "exit 5;", 5, false},
		{"Perl/0", "perl", "# Your code follows.", "eval { die 'caught' }; warn 'kept'; system('false'); print 'done'", 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			require(t, test.program)
			s := newSite(t)
			code := strings.Replace(all(params(s))[test.name], test.place, test.code, 1)
			cmd := exec.CommandContext(t.Context(), test.program, write(t, filepath.Join(t.TempDir(), "script"), code))
			cmd.Env = append(os.Environ(), "no_proxy=*")
			out, _ := cmd.CombinedOutput()
			kinds, last := s.pings(t)
			want := "start success"
			if test.status != 0 {
				want = "start fail"
			}
			if kinds != want || !test.noStatus && (last.ExitStatus == nil || *last.ExitStatus != test.status) || cmd.ProcessState.ExitCode() != test.status {
				t.Errorf("pings %q with %v, exit status %d\n%s", kinds, last.ExitStatus, cmd.ProcessState.ExitCode(), out)
			}
			if strings.Contains(test.code, "kept") && (!strings.Contains(string(last.Body), "kept") || strings.Contains(string(last.Body), "caught")) {
				t.Errorf("body %q", last.Body)
			}
		})
	}
}

// TestNoTemporaryFile runs the job although no file can be created for its output.
func TestNoTemporaryFile(t *testing.T) {
	for _, name := range []string{"sh/0", "bash/0"} {
		shell, _, _ := strings.Cut(name, "/")
		require(t, shell)
		require(t, "curl")
		s, dir := newSite(t), t.TempDir()
		j := job{fails: true}
		write(t, filepath.Join(dir, "job"), j.shell(filepath.Join(dir, "runs")))
		cmd := exec.CommandContext(t.Context(), shell, write(t, filepath.Join(dir, "script"), rewritten(all(params(s))[name], dir)))
		cmd.Env = append(os.Environ(), "TMPDIR="+filepath.Join(dir, "missing"))
		out, _ := cmd.CombinedOutput()
		kinds, last := s.pings(t)
		ran, err := os.ReadFile(filepath.Join(dir, "runs"))
		if err != nil || string(ran) != "run\n" || kinds != "start fail" || last.ExitStatus == nil || *last.ExitStatus != 3 || cmd.ProcessState.ExitCode() != 3 || !strings.Contains(string(out), end) {
			t.Errorf("%s: ran %q, %v, pings %q\n%s", name, ran, err, kinds, out)
		}
	}
}

func TestSchedules(t *testing.T) {
	for _, test := range []struct {
		schedule, tz string
		cron, timer  string // the last line of the crontab up to the command, and the value of OnCalendar
		zoned        bool
	}{
		{"30 4 * * *", "Europe/Riga", "30 4 * * *", "*-*-* 04:30:00 Europe/Riga", true},
		{"30 4 * * *", "Etc/UTC", "30 4 * * *", "*-*-* 04:30:00 Etc/UTC", true},
		{"*/5 * * * *", "Europe/Riga", "*/5 * * * *", "*-*-* *:0/5:00 Europe/Riga", false},
		{"0 2-4 * * mon-fri", "Europe/Riga", "0 2-4 * * mon-fri", "Mon..Fri *-*-* 2..4:00:00 Europe/Riga", true},
		{"0 0,12 1 */2 *", "Europe/Riga", "0 0,12 1 */2 *", "*-1/2-1 0,12:00:00 Europe/Riga", true},
		{"0 3 * * 0,6", "Europe/Riga", "0 3 * * 0,6", "Sun,Sat *-*-* 03:00:00 Europe/Riga", true},
		{"0 3 1 * 5", "Europe/Riga", "0 3 1 * 5", "", true},    // either of them
		{"0 3 L * *", "Europe/Riga", "0 3 * * *", "", false},   // cron has no L: the example
		{"0 3 * * 5#2", "Europe/Riga", "0 3 * * *", "", false}, // nor #
		{"Mon..Fri *-*-* 03:00:00", "Europe/Riga", "0 3 * * *", "Mon..Fri *-*-* 03:00:00 Europe/Riga", false},
		{"*-*-* 03:00:00 America/New_York", "Europe/Riga", "0 3 * * *", "*-*-* 03:00:00 America/New_York", false},
		{"*-*-* 03:00:00\n*-*-* 15:00:00", "Europe/Riga", "0 3 * * *", "", false},
		{"", "Europe/Riga", "0 3 * * *", "", false},
	} {
		list := all(snippets.Params{PingURL: "https://x.example.org/ping/1", Settings: checks.Settings{Schedule: test.schedule, TZ: test.tz}})
		lines := strings.Split(list["crontab/2"], "\n")
		if got := lines[len(lines)-1]; !strings.HasPrefix(got, test.cron+"  r=$(PATH=$PATH:") || !strings.Contains(got, "--ping-url https://x.example.org/ping/1 --}") {
			t.Errorf("%s: %s", test.schedule, got)
		}
		if zoned := strings.Contains(list["crontab/2"], "CRON_TZ="+test.tz+"\n") && strings.Contains(list["crontab/2"], "Debian"); zoned != test.zoned {
			t.Errorf("%s: %s", test.schedule, list["crontab/2"])
		}
		got := ""
		if _, after, found := strings.Cut(list["systemd/1"], "OnCalendar="); found {
			got, _, _ = strings.Cut(after, "\n")
		}
		if got != test.timer {
			t.Errorf("%s: timer %q, want %q", test.schedule, got, test.timer)
		}
		if analyze, err := exec.LookPath("systemd-analyze"); err == nil && got != "" {
			if out, err := exec.CommandContext(t.Context(), analyze, "calendar", got).CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", got, err, out)
			}
		}
	}
}

// TestManual compares the manual with the snippets: it has the same lines.
func TestManual(t *testing.T) {
	list := all(snippets.Params{PingURL: "https://rollcall.example.org/ping/UUID"})
	for page, names := range map[string][]string{"cron.md": {"crontab/0", "crontab/1", "crontab/2"}, "backup.md": {"sh/0"}} {
		manual, err := os.ReadFile("../../../watch/" + page)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if !strings.Contains(string(manual), "\n"+list[name]+"\n```\n") {
				t.Errorf("server/watch/%s lacks %s:\n%s", page, name, list[name])
			}
		}
	}
}

func TestShellcheck(t *testing.T) {
	check := require(t, "shellcheck")
	if out, err := exec.CommandContext(t.Context(), check, "files/job.sh", "files/job.bash").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// needed are what the tests need of a program beyond its name, and the package of Debian that has it.
var needed = map[string]struct {
	try       []string
	inPackage string
}{
	"curl":       {[]string{"curl", "--version"}, "curl"},
	"sh":         {[]string{"sh", "-c", "true"}, "dash"},
	"bash":       {[]string{"bash", "--version"}, "bash"},
	"python3":    {[]string{"python3", "-c", "import urllib.request"}, "python3"},
	"node":       {[]string{"node", "-e", "process.exit(typeof fetch === 'function' ? 0 : 1)"}, "nodejs (18 or later)"},
	"php":        {[]string{"php", "-r", "exit(ini_get('allow_url_fopen') ? 0 : 1);"}, "php-cli"},
	"ruby":       {[]string{"ruby", "-rnet/http", "-e", "1"}, "ruby"},
	"perl":       {[]string{"perl", "-MHTTP::Tiny", "-e", "1"}, "perl"},
	"shellcheck": {[]string{"shellcheck", "--version"}, "shellcheck"},
}

// require skips the test if a program with what the tests need of it is not installed, or fails it with
// ROLLCALL_TEST_REQUIRE=all.
func require(t *testing.T, name string) string {
	t.Helper()
	n := needed[name]
	if out, err := exec.CommandContext(t.Context(), n.try[0], n.try[1:]...).CombinedOutput(); err != nil {
		text := fmt.Sprintf("%s is not installed or lacks what the snippet needs; on Debian: apt-get install %s\n%v %s", name, n.inPackage, err, out)
		if os.Getenv("ROLLCALL_TEST_REQUIRE") == "all" {
			t.Fatal(text)
		}
		t.Skip(text)
	}
	return name
}
