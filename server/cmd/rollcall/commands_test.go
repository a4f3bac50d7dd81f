package main

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// cmdStatus runs a command and checks its exit status: status N COMMAND ARGS…
func cmdStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N COMMAND ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// scriptServers are the servers of a script by name.
type scriptServers map[string]*process

// serversKey is the key of a script's servers.
type serversKey struct{}

// cmdStart starts a server and waits until it listens: start NAME FLAGS… Then $NAME is its URL, and the file
// NAME.out has its output so far.
func cmdStart(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: start NAME FLAGS...")
	}
	env := []string{}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "GORACE", "GOCOVERDIR"} {
		env = append(env, name+"="+ts.Getenv(name))
	}
	for _, name := range []string{"OIDC_ISSUER", "OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET", "OIDC_ROLES"} {
		if value := ts.Getenv(console.EnvPrefix + name); value != "" {
			env = append(env, console.EnvPrefix+name+"="+value)
		}
	}
	name := args[0]
	p, err := startProcess(env, ts.MkAbs("."), args[1:]...)
	ts.Check(err)
	ts.Defer(p.kill)
	ts.Value(serversKey{}).(scriptServers)[name] = p
	ts.Setenv(name, p.url)
	ts.Check(os.WriteFile(ts.MkAbs(name+".out"), []byte(p.stdout.String()), 0o600))
}

// cmdEnd sends a signal to a server and checks that it exits with status 0: end NAME INT|TERM. Then the file
// NAME.err has its log.
func cmdEnd(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM}
	if neg || len(args) != 2 || signals[args[1]] == nil {
		ts.Fatalf("usage: end NAME INT|TERM")
	}
	p := ts.Value(serversKey{}).(scriptServers)[args[0]]
	if p == nil {
		ts.Fatalf("no server %s", args[0])
	}
	state, err := p.stop(signals[args[1]])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".err"), []byte(p.stderr.String()), 0o600))
	if state.ExitCode() != 0 {
		ts.Fatalf("the server ended with %v\n%s", state, p.stderr.String())
	}
}

// httpClient keeps no idle connections, for which a stopping server would wait.
var httpClient = &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}

// request is one HTTP request of a script.
type request struct {
	method, url, body string
	header            http.Header
	answer            *http.Header // gets the header of the answer, unless nil
}

func (r request) do() (status int, body string, err error) {
	req, err := http.NewRequest(r.method, r.url, strings.NewReader(r.body))
	if err != nil {
		return 0, "", err
	}
	for name, values := range r.header {
		req.Header[name] = values
	}
	res, err := httpClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	if r.answer != nil {
		*r.answer = res.Header
	}
	content, err := io.ReadAll(res.Body)
	return res.StatusCode, string(content), err
}

// cmdHTTP makes a request and writes the body of the answer to the file response and its header to the file header:
// http STATUS METHOD URL [KEY [BODY]]. It retries until it gets the wanted status, because administration commands take
// effect within 5 seconds.
func cmdHTTP(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 || len(args) > 5 {
		ts.Fatalf("usage: http STATUS METHOD URL [KEY [BODY]]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	var answer http.Header
	r := request{method: args[1], url: args[2], header: http.Header{}, answer: &answer}
	if len(args) > 3 && args[3] != "" {
		r.header.Set("X-Api-Key", args[3])
	}
	if len(args) > 4 {
		r.body = args[4]
	}
	var status int
	var body string
	if !eventually(patience, func() bool {
		status, body, err = r.do()
		return err == nil && status == want
	}) {
		ts.Fatalf("%s %s: status %d, want %d: %v\n%s", r.method, r.url, status, want, err, body)
	}
	ts.Check(os.WriteFile(ts.MkAbs("response"), []byte(body), 0o600))
	var header strings.Builder
	ts.Check(answer.Write(&header))
	ts.Check(os.WriteFile(ts.MkAbs("header"), []byte(header.String()), 0o600))
}

// cmdPaste runs the N-th curl line of a file as a shell would, and writes the body of the answer to the file response:
// paste FILE N
func cmdPaste(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: paste FILE N")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "curl ") {
			continue
		}
		if n--; n > 0 {
			continue
		}
		r, err := parseCurl(line)
		ts.Check(err)
		status, body, err := r.do()
		ts.Check(err)
		if status >= 300 {
			ts.Fatalf("%s\nstatus %d: %s", line, status, body)
		}
		ts.Check(os.WriteFile(ts.MkAbs("response"), []byte(body), 0o600))
		return
	}
	ts.Fatalf("%s has no such curl line", args[0])
}

// parseCurl reads a curl command line with the options that rollcall prints. Others are an error.
func parseCurl(line string) (request, error) {
	words, err := splitShell(line)
	if err != nil {
		return request{}, err
	}
	r := request{method: http.MethodGet, header: http.Header{}}
	for i := 1; i < len(words); i++ {
		switch word := words[i]; {
		case word == "-sS", word == "-sSL":
		case word == "-H" && i+1 < len(words):
			i++
			name, value, _ := strings.Cut(words[i], ": ")
			r.header.Set(name, value)
		case word == "-d" && i+1 < len(words):
			i++
			r.method, r.body = http.MethodPost, words[i]
		case strings.HasPrefix(word, "http://") && r.url == "":
			r.url = word
		default:
			return request{}, fmt.Errorf("unexpected %q in %s", word, line)
		}
	}
	return r, nil
}

// splitShell splits a line into words as a POSIX shell does. It supports single quotes and backslashes. Other special
// characters are errors.
func splitShell(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord, quoted := false, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\'':
			quoted, inWord = !quoted, true
		case quoted:
			word.WriteByte(c)
		case c == '\\' && i+1 < len(line):
			i++
			word.WriteByte(line[i])
			inWord = true
		case c == ' ':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		case strings.IndexByte("\"$`&|;<>(){}[]*?!#~=%\t", c) >= 0:
			return nil, fmt.Errorf("a shell would interpret %q in %s", c, line)
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if quoted {
		return nil, fmt.Errorf("a quote is not closed in %s", line)
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

// lookup returns the value at a path of a JSON document, such as checks.0.status; "." is the document itself. The file
// must have exactly one document.
func lookup(ts *testscript.TestScript, file, path string) any {
	decoder := json.NewDecoder(strings.NewReader(ts.ReadFile(file)))
	decoder.UseNumber()
	var value any
	ts.Check(decoder.Decode(&value))
	if _, err := decoder.Token(); err != io.EOF {
		ts.Fatalf("%s has more than one JSON document", file)
	}
	for step := range strings.SplitSeq(strings.Trim(path, "."), ".") {
		switch v := value.(type) {
		case map[string]any:
			if step != "" {
				value = v[step]
			}
		case []any:
			if i, err := strconv.Atoi(step); err == nil && i < len(v) {
				value = v[i]
			} else if step == "length" {
				value = len(v)
			} else if step != "" {
				ts.Fatalf("%s: no element %q of %d", file, step, len(v))
			}
		default:
			ts.Fatalf("%s: nothing at %q", file, step)
		}
	}
	return value
}

// cmdJSONGet sets a variable to a value of a JSON document, or checks the value with =:
// jsonget VAR FILE PATH, jsonget = FILE PATH VALUE
func cmdJSONGet(ts *testscript.TestScript, neg bool, args []string) {
	switch {
	case !neg && len(args) == 3 && args[0] != "=":
		ts.Setenv(args[0], fmt.Sprint(lookup(ts, args[1], args[2])))
	case !neg && len(args) == 4 && args[0] == "=":
		if diff := cmp.Diff(args[3], fmt.Sprint(lookup(ts, args[1], args[2]))); diff != "" {
			ts.Fatalf("%s (-want +got):\n%s", args[2], diff)
		}
	default:
		ts.Fatalf("usage: jsonget VAR FILE PATH or jsonget = FILE PATH VALUE")
	}
}

// cmdJSONKeys checks that an object of a JSON document has these keys and no others: jsonkeys FILE PATH KEY…
func cmdJSONKeys(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: jsonkeys FILE PATH KEY...")
	}
	object, ok := lookup(ts, args[0], args[1]).(map[string]any)
	if !ok {
		ts.Fatalf("%s: no object", args[1])
	}
	var got []string
	for key := range object {
		got = append(got, key)
	}
	slices.Sort(got)
	want := slices.Sorted(slices.Values(args[2:]))
	if diff := cmp.Diff(want, got); diff != "" {
		ts.Fatalf("keys (-want +got):\n%s", diff)
	}
}

// cmdSQL runs a statement on an SQLite file: sql FILE STATEMENT
func cmdSQL(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sql FILE STATEMENT")
	}
	db, err := sql.Open("sqlite", "file:"+ts.MkAbs(args[0]))
	ts.Check(err)
	defer db.Close()
	_, err = db.Exec(args[1])
	ts.Check(err)
}

// cmdListen occupies a port until the script ends: listen VAR
func cmdListen(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: listen VAR")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { listener.Close() })
	ts.Setenv(args[0], listener.Addr().String())
}
