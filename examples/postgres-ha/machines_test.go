//go:build unix && release

// Package postgresha holds the configuration of Rollcall on a PostgreSQL that fails over. Its test runs it.
package postgresha

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience bounds the wait for a condition. Only a failure reaches it.
const patience = 4 * time.Minute

// site is the machines db1, db2 and app as processes on loopback addresses.
type site struct {
	t        *testing.T
	dir      string
	network  string // the first three bytes of the addresses, with a dot at the end
	replace  *strings.Replacer
	attr     *syscall.SysProcAttr
	programs map[string]string
	running  map[string]*exec.Cmd // by the name of the log
	frozen   int                  // a stopped process of PostgreSQL, or 0
}

// newSite finds the programs, or skips the test, and makes the directories.
func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, programs: make(map[string]string), running: make(map[string]*exec.Cmd)}
	for name, hint := range map[string]string{
		"patroni": "patroni", "patronictl": "patroni", "etcd": "etcd-server", "haproxy": "haproxy", "postgres": "postgresql",
	} {
		s.programs[name] = find(t, name, hint)
	}
	var err error
	if s.dir, err = os.MkdirTemp("", "rollcall-ha-"); err != nil { // sockets need a short path
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(s.dir) })
	s.unprivileged()
	s.guard()
	s.network = fmt.Sprintf("127.%d.%d.", 1+rand.IntN(254), rand.IntN(255))
	replacements := []string{
		"10.0.0.0/24", "127.0.0.0/8", "10.0.0.", s.network,
		"/var/lib/postgresql/rollcall", s.dir + "/MACHINE", "/var/run/postgresql", s.dir + "/MACHINE-home",
		"/usr/lib/postgresql/15/bin", filepath.Dir(s.programs["postgres"]),
		"loop_wait: 5", "loop_wait: 1", "/dev/log", s.dir + "/nolog", "user haproxy", "", "group haproxy", "",
	}
	for _, port := range []string{"2379", "2380", "5000", "5432", "7000", "8008"} {
		replacements = append(replacements, port, freePort(t))
	}
	s.replace = strings.NewReplacer(replacements...)
	return s
}

// find returns the path of a program. If it is missing, the test is skipped, or fails with ROLLCALL_TEST_REQUIRE=all.
func find(t *testing.T, name, pkg string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil && name != "postgres" { // that of Debian is never in PATH
		return path
	}
	for _, pattern := range []string{"/usr/sbin/", "/usr/lib/postgresql/*/bin/"} {
		if found, _ := filepath.Glob(pattern + name); len(found) > 0 {
			return slices.Max(found)
		}
	}
	text := "there is no " + name + " to test with (apt-get install " + pkg + ")"
	if os.Getenv("ROLLCALL_TEST_REQUIRE") == "all" {
		t.Fatal(text)
	}
	t.Skip(text)
	return ""
}

// unprivileged sets attr to run programs as the user postgres if the test runs as root, as which PostgreSQL does not run.
func (s *site) unprivileged() {
	s.attr = childAttr()
	if os.Getuid() != 0 {
		return
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		s.t.Fatal(err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	if err := os.Chown(s.dir, uid, gid); err != nil {
		s.t.Fatal(err)
	}
	s.attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// guard starts a process that ends the PostgreSQL servers when the test ends, even by a crash. They are children of
// Patroni, which leaves them alone when it is killed.
func (s *site) guard() {
	s.t.Helper()
	cmd := exec.Command("sh", "-c", `cat; for dir in "$@"; do kill -QUIT "$(head -n1 "$dir/postmaster.pid")"; done`,
		"guard", s.dir+"/db1", s.dir+"/db2")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: s.attr.Credential}
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		for name := range s.running { // Patroni first, as it would start them again
			s.kill(name)
		}
		stdin.Close()
		_ = cmd.Wait() // fails if a server is not running
	})
}

// freePort returns a port that is free on 127.0.0.1, and so most likely on other loopback addresses.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// read returns a file of the configuration with the ports and directories of the test.
func (s *site) read(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.replace.Replace(string(text))
}

// environment returns the variables of an environment file.
func (s *site) environment(name string) map[string]string {
	variables := make(map[string]string)
	for _, found := range regexp.MustCompile(`(?m)^(\w+)=(.*)$`).FindAllStringSubmatch(s.read(name), -1) {
		variables[found[1]] = found[2]
	}
	return variables
}

// start starts a program. It ends with the test.
func (s *site) start(name string, env map[string]string, program string, args ...string) {
	s.t.Helper()
	log, err := os.OpenFile(s.log(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(s.programs[program], args...)
	cmd.Dir, cmd.SysProcAttr, cmd.Stdout, cmd.Stderr = s.dir, s.attr, log, log
	cmd.Env = os.Environ()
	for variable, value := range env {
		cmd.Env = append(cmd.Env, variable+"="+value)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	if s.running[name] == nil {
		s.t.Cleanup(func() { s.show(name) })
	}
	s.running[name] = cmd
}

func (s *site) log(name string) string { return filepath.Join(s.dir, name+".log") }

// show prints the end of a log if the test has failed.
func (s *site) show(name string) {
	if !s.t.Failed() {
		return
	}
	text, _ := os.ReadFile(s.log(name))
	s.t.Logf("%s printed:\n%s", name, text[max(0, len(text)-8<<10):])
}

// kill ends a program as a crash of its machine would.
func (s *site) kill(name string) {
	if cmd := s.running[name]; cmd.ProcessState == nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // ends by the signal
	}
}

// startEtcd starts the member of a machine, the last byte of whose address is given.
func (s *site) startEtcd(machine, last string) {
	s.t.Helper()
	env := s.environment("etcd.env")
	for name, value := range env {
		if name != "ETCD_INITIAL_CLUSTER" {
			env[name] = strings.ReplaceAll(value, s.network+"1:", s.network+last+":")
		}
	}
	env["ETCD_NAME"], env["ETCD_DATA_DIR"] = machine, filepath.Join(s.dir, "etcd-"+machine)
	s.start("etcd-"+machine, env, "etcd")
}

// startPatroni starts Patroni on a machine.
func (s *site) startPatroni(machine, last string) {
	s.t.Helper()
	text := strings.NewReplacer(
		"name: db1", "name: "+machine, s.dir+"/MACHINE", s.dir+"/"+machine,
		s.network+s.replace.Replace("1:8008"), s.network+last+s.replace.Replace(":8008"),
		s.network+s.replace.Replace("1:5432"), s.network+last+s.replace.Replace(":5432"),
	).Replace(s.read("patroni.yml"))
	file := filepath.Join(s.dir, machine+".yml")
	home := s.dir + "/" + machine + "-home" // for its socket and its passwords
	if err := errors.Join(os.MkdirAll(home, 0o755), os.Chmod(home, 0o777), os.WriteFile(file, []byte(text), 0o644)); err != nil {
		s.t.Fatal(err)
	}
	s.start("patroni-"+machine, map[string]string{"HOME": home}, "patroni", file)
}

// startHAProxy starts HAProxy.
func (s *site) startHAProxy() {
	s.t.Helper()
	file := filepath.Join(s.dir, "haproxy.cfg")
	if err := os.WriteFile(file, []byte(s.read("haproxy.cfg")), 0o644); err != nil {
		s.t.Fatal(err)
	}
	s.start("haproxy", nil, "haproxy", "-db", "-f", file)
}

// eventually waits until a condition holds.
func (s *site) eventually(what string, holds func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("after %v: %s", patience, what)
		}
	}
}

// postmaster returns the process ID of the PostgreSQL server on a machine.
func (s *site) postmaster(machine string) int {
	s.t.Helper()
	file, err := os.Open(filepath.Join(s.dir, machine, "postmaster.pid"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer file.Close()
	text, err := io.ReadAll(file)
	first, _, _ := strings.Cut(string(text), "\n")
	pid, errPID := strconv.Atoi(first)
	if err != nil || errPID != nil {
		s.t.Fatal(err, errPID)
	}
	return pid
}
