//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/pings"
)

// recorder accepts pings and keeps their kinds and bodies: "start", "0: body".
type recorder struct {
	*httptest.Server
	away  atomic.Bool // it answers 503
	mu    sync.Mutex
	pings []string
}

func record(t *testing.T) *recorder {
	t.Helper()
	r := &recorder{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		if r.away.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.pings = append(r.pings, path.Base(req.URL.Path)+": "+string(body))
		io.WriteString(w, "OK")
	}))
	t.Cleanup(r.Close)
	return r
}

// last returns the last ping.
func (r *recorder) last() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.pings) == 0 {
		return ""
	}
	return r.pings[len(r.pings)-1]
}

// runningJob is a running "rollcall run" with a shell script.
type runningJob struct {
	*exec.Cmd
	t      *testing.T
	stdout *bufio.Reader
	stderr output
	exited bool
}

func startJob(t *testing.T, url, script string, env ...string) *runningJob {
	t.Helper()
	j := &runningJob{Cmd: exec.Command("rollcall", "run", "--ping-url", url+"/secret", "--", "sh", "-c", script), t: t}
	j.Env, j.Stderr = append(cleanEnv(), env...), &j.stderr
	pipe, err := j.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	j.stdout = bufio.NewReader(pipe)
	if err := j.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { j.Process.Kill() }) // only if the test is broken
	t.Cleanup(func() {
		timer.Stop()
		if !j.exited {
			j.Process.Kill()
			j.Wait()
		}
	})
	return j
}

// line reads the next line of output.
func (j *runningJob) line() string {
	j.t.Helper()
	line, err := j.stdout.ReadString('\n')
	if err != nil {
		j.t.Fatalf("%q, %v", line, err)
	}
	return strings.TrimSpace(line)
}

// background reads the process id of a background process, which ends with the test.
func (j *runningJob) background() (pid int) {
	j.t.Helper()
	fmt.Sscan(j.line(), &pid)
	j.t.Cleanup(func() { syscall.Kill(pid, syscall.SIGKILL) })
	return pid
}

// exits waits for the end and asserts the exit status.
func (j *runningJob) exits(status int) {
	j.t.Helper()
	io.Copy(io.Discard, j.stdout)
	j.Wait()
	j.exited = true
	if got := j.ProcessState.ExitCode(); got != status {
		j.t.Errorf("%v, want exit status %d", j.ProcessState, status)
	}
}

// waiting is a script that prints its signals, and ends with status 9 at SIGTERM.
// The sleep inherits that INT and QUIT, which a terminal sends to both, are ignored.
const waiting = `trap "" INT QUIT
sleep 600 >/dev/null 2>&1 &
for s in HUP INT QUIT USR1 USR2; do trap "echo $s" $s; done
trap "echo TERM; kill $!; exit 9" TERM
echo ready
while :; do wait $!; done`

func TestRunPassesSignalsOn(t *testing.T) {
	r := record(t)
	j := startJob(t, r.URL, waiting)
	if got := j.line(); got != "ready" {
		t.Fatal(got)
	}
	want := "ready\n"
	for _, test := range []struct {
		sig  syscall.Signal
		name string
	}{
		{syscall.SIGHUP, "HUP"}, {syscall.SIGINT, "INT"}, {syscall.SIGQUIT, "QUIT"}, {syscall.SIGUSR1, "USR1"}, {syscall.SIGUSR2, "USR2"}, {syscall.SIGTERM, "TERM"},
	} {
		if err := j.Process.Signal(test.sig); err != nil {
			t.Fatal(err)
		}
		if got := j.line(); got != test.name {
			t.Errorf("the command got %q, want %s", got, test.name)
		}
		want += test.name + "\n"
	}
	j.exits(9)
	if got := r.last(); got != "9: "+want {
		t.Errorf("last ping %q", got)
	}
}

func TestRunReportsDeathBySignal(t *testing.T) {
	r := record(t)
	j := startJob(t, r.URL, `sleep 600 >/dev/null 2>&1 & trap "kill $!" EXIT; trap "kill $!; trap - TERM; kill $$" TERM; echo ready; while :; do wait $!; done`)
	j.line()
	if err := j.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	j.exits(128 + int(syscall.SIGTERM))
	if got := r.last(); got != "143: ready\n" {
		t.Errorf("last ping %q", got)
	}
}

// If the reader of the output goes away, the command gets SIGPIPE, as without rollcall, and rollcall reports that.
func TestRunWithClosedOutput(t *testing.T) {
	r := record(t)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read.Close()
	cmd := exec.Command("rollcall", "run", "--ping-url", r.URL+"/secret", "--", "sh", "-c", "while echo line; do :; done; exit 4")
	cmd.Env, cmd.Stdout = cleanEnv(), write
	err = cmd.Run()
	write.Close()
	if got := cmd.ProcessState.ExitCode(); got != 128+int(syscall.SIGPIPE) && got != 4 { // 4 if the caller of this test ignores SIGPIPE
		t.Errorf("exit status %d, %v", got, err)
	}
	if got := r.last(); !strings.HasPrefix(got, fmt.Sprint(cmd.ProcessState.ExitCode())+": line\n") {
		t.Errorf("last ping %.50q", got)
	}
}

// The command inherits ignored signals, as under nohup.
func TestRunUnderNohup(t *testing.T) {
	r := record(t)
	cmd := exec.Command("sh", "-c", `trap "" HUP; exec rollcall run --ping-url "$0" -- sh -c 'kill -HUP $$; kill -HUP $PPID; echo alive'`, r.URL+"/secret")
	cmd.Env = cleanEnv()
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "alive\n" {
		t.Errorf("%q, %v", out, err)
	}
	if got := r.last(); got != "0: alive\n" {
		t.Errorf("last ping %q", got)
	}
}

// rollcall run reports the end of a command even if another process keeps the output open.
func TestRunLeavesBackgroundProcess(t *testing.T) {
	r := record(t)
	for _, status := range []int{0, 5} {
		j := startJob(t, r.URL, fmt.Sprintf("sleep 600 & echo $!; exit %d", status), "ROLLCALL_OUTPUT_TIMEOUT=50ms")
		pid := j.background()
		j.exits(status)
		if got := r.last(); got != fmt.Sprintf("%d: %d\n", status, pid) || !strings.Contains(j.stderr.String(), "stopped reading it after 50ms") {
			t.Errorf("last ping %q\n%s", got, j.stderr.String())
		}
	}
}

// After a signal, the end of the command is reported soon: a container has ten seconds.
func TestRunEndsSoonAfterSignal(t *testing.T) {
	r := record(t)
	for _, when := range []string{"while :; do wait; done", "exit 7"} { // while the command runs, and while its output is awaited
		j := startJob(t, r.URL, `sleep 600 & trap "exit 7" TERM; echo $!; `+when, "ROLLCALL_OUTPUT_TIMEOUT=0s")
		pid := j.background()
		if err := j.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		j.exits(7)
		if got := r.last(); got != fmt.Sprintf("7: %d\n", pid) || !strings.Contains(j.stderr.String(), "stopped reading it after 1s") {
			t.Errorf("last ping %q\n%s", got, j.stderr.String())
		}
	}
}

// After a signal, a server that hangs does not keep rollcall either, whatever --timeout says.
func TestRunEndsSoonAfterSignalWithoutAnswer(t *testing.T) {
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer hanging.Close()
	j := startJob(t, hanging.URL, `sleep 600 & trap "exit 7" TERM; echo $!; while :; do wait; done`, "ROLLCALL_TIMEOUT=5h")
	j.background()
	if err := j.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	j.exits(7)
	if !strings.Contains(j.stderr.String(), "rollcall: start ping: ") {
		t.Error(j.stderr.String())
	}
}

// A reader of rollcall's own output that hangs does not keep the end of the command from being reported.
func TestRunWithStuckReader(t *testing.T) {
	r := record(t)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	// What the command writes fits into its own pipe, but not through that of the reader.
	cmd := exec.Command("rollcall", "run", "--ping-url", r.URL+"/secret", "--output-timeout", "50ms", "--", "sh", "-c", "head -c 100000 /dev/zero; exit 4")
	cmd.Env, cmd.Stdout = cleanEnv(), write
	timer := time.AfterFunc(patience, func() { read.Close() }) // only if the test is broken
	defer timer.Stop()
	_ = cmd.Run()
	write.Close()
	if got := r.last(); cmd.ProcessState.ExitCode() != 4 || !strings.HasPrefix(got, "4: ") {
		t.Errorf("%v, last ping %.20q", cmd.ProcessState, got)
	}
}

// A reader of both streams that hangs cannot keep it either, though rollcall has something to say there.
func TestRunWithStuckReaderOfBoth(t *testing.T) {
	r := record(t)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	cmd := exec.Command("rollcall", "run", "--ping-url", r.URL+"/secret", "--output-timeout", "50ms", "--", "sh", "-c", "head -c 100000 /dev/zero; exit 4")
	cmd.Env, cmd.Stdout, cmd.Stderr = cleanEnv(), write, write
	timer := time.AfterFunc(patience, func() { read.Close() }) // only if the test is broken
	defer timer.Stop()
	_ = cmd.Run()
	write.Close()
	if got := r.last(); cmd.ProcessState.ExitCode() != 4 || !strings.HasPrefix(got, "4: ") || !strings.Contains(strings.Join(r.pings, "\n"), "log: rollcall: a process of the command keeps") {
		t.Errorf("%v, last ping %.20q", cmd.ProcessState, got)
	}
}

// With a ping in its queue and a full disk, run and ping reach a server that answers.
func TestCommandsOnAFullDisk(t *testing.T) {
	for name, args := range map[string]string{"run": "run --no-start -- sh -c 'exit 3'", "ping": "ping 3"} {
		r := record(t)
		r.away.Store(true)
		env := append(cleanEnv(), "ROLLCALL_QUEUE="+t.TempDir(), "ROLLCALL_PING_URL="+r.URL+"/secret", "ROLLCALL_TIMEOUT=500ms")
		earlier := exec.Command("rollcall", "ping", "start")
		earlier.Env = env
		if out, err := earlier.CombinedOutput(); err == nil || r.last() != "" {
			t.Fatalf("%s\n%s", r.last(), out)
		}
		r.away.Store(false)
		cmd := exec.Command("sh", "-c", "ulimit -f 0; exec rollcall "+args)
		cmd.Env = append(env, "ROLLCALL_TIMEOUT="+patience.String())
		out, _ := cmd.CombinedOutput()
		want := map[string]int{"run": 3}[name]
		if got := strings.Join(r.pings, "|"); cmd.ProcessState.ExitCode() != want || len(out) > 0 || got != "start: |3: " {
			t.Errorf("%s: %v, pings %q\n%s", name, cmd.ProcessState, got, out)
		}
	}
}

// Signals that Go would swallow are passed on, too. A command that ignores one for itself, survives it.
func TestRunPassesOtherSignalsOn(t *testing.T) {
	r := record(t)
	for _, sig := range []syscall.Signal{syscall.SIGALRM, syscall.SIGVTALRM, syscall.SIGXCPU, syscall.SIGABRT} {
		j := startJob(t, r.URL, fmt.Sprintf(`trap "" TERM; sleep 600 >/dev/null 2>&1 & trap "kill -KILL $!; exit 9" %d; echo ready; while :; do wait $!; done`, sig))
		j.line()
		for _, sent := range []syscall.Signal{syscall.SIGTERM, sig} {
			if err := j.Process.Signal(sent); err != nil {
				t.Fatal(err)
			}
		}
		j.exits(9)
		if got := r.last(); got != "9: ready\n" {
			t.Errorf("%v: last ping %q", sig, got)
		}
	}
}

// What a command writes to standard error at its end stays in the report, although rollcall may read it before the last of a
// long standard output.
func TestRunKeepsReason(t *testing.T) {
	output := pings.NewEnds(1000)
	text := transcript{Ends: output}
	var pipes [2]*os.File
	for i, content := range []string{strings.Repeat("x", 50_000), "disk full\n"} {
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := write.WriteString(content); err != nil {
			t.Fatal(err)
		}
		write.Close()
		defer read.Close()
		pipes[i] = read
	}
	text.copy(io.Discard, nil, pipes[1], pipes[0]) // standard error first
	text.copy(io.Discard, nil, pipes[0])
	text.finish()
	if body, cut := output.Body(); !strings.HasSuffix(string(body), "xdisk full\n") || cut != 50_010-1000 {
		t.Errorf("the end is %.20q, %d bytes are cut", body[max(0, len(body)-20):], cut)
	}
}

// A signal while nothing is reported reaches the command, too.
func TestRunWithoutCheck(t *testing.T) {
	cmd := exec.Command("rollcall", "run", "--", "sh", "-c", `kill -TERM $PPID; while :; do sleep 0.01; done`)
	cmd.Env = cleanEnv()
	out, _ := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != 128+int(syscall.SIGTERM) || string(out) != "rollcall: nothing is reported: which check? Give --ping-url, --uuid, or --slug with --ping-key\n" {
		t.Errorf("%v\n%s", cmd.ProcessState, out)
	}
}

// A signal during the last ping cancels the ping, and leaves the exit status of the command.
func TestSignalDuringLastPing(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if strings.HasSuffix(r.URL.Path, "/8") {
			close(arrived)
			<-release
		}
		io.WriteString(w, "OK")
	}))
	defer server.Close()
	defer close(release)
	cmd := exec.Command("rollcall", "run", "--ping-url", server.URL+"/secret", "--timeout", "1h", "--", "sh", "-c", "exit 8")
	var stderr output
	cmd.Env, cmd.Stderr = cleanEnv(), &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer timer.Stop()
	<-arrived
	cmd.Process.Signal(syscall.SIGTERM)
	cmd.Wait()
	if cmd.ProcessState.ExitCode() != 8 || !strings.Contains(stderr.String(), "rollcall: fail ping: context canceled") {
		t.Errorf("%v\n%s", cmd.ProcessState, stderr.String())
	}
}

// TestRunKeepsOrder prints both streams of a command in the order in which it wrote them, where both go to one place, as in cron's mail.
func TestRunKeepsOrder(t *testing.T) {
	r := record(t)
	cmd := exec.Command("rollcall", "run", "--ping-url", r.URL+"/secret", "--", "sh", "-c", `i=0; while [ $i -lt 1000 ]; do echo $i; i=$((i+1)); echo $i >&2; i=$((i+1)); done`)
	cmd.Env = cleanEnv()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for i := range 1000 {
		fmt.Fprintln(&want, i)
	}
	if diff := cmp.Diff(want.String(), string(out)); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("0: "+want.String(), r.last()); diff != "" {
		t.Errorf("reported (-want +got):\n%s", diff)
	}
}
