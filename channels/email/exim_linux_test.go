package email_test

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"net/mail"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/emersion/go-msgauth/dkim"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/email"
	"github.com/rollcall-dev/rollcall/channels/internal/receivertest"
)

// eximConfig is for https://www.exim.org/exim-html-4.96/doc/html/spec_html/: a submission server with STARTTLS and AUTH
// that delivers to one maildir. Files list local parts that it treats differently: slow, greylisted, unknown.
const eximConfig = `
primary_hostname = mx.example.org
exim_user = UID
exim_group = GID
spool_directory = DIR/spool
log_file_path = DIR/%s.log
untrusted_set_sender = *
deliver_drop_privilege
keep_environment =
tls_advertise_hosts = *
tls_certificate = DIR/cert.pem
tls_privatekey = DIR/key.pem
acl_smtp_rcpt = rcpt
acl_smtp_data = accept

begin acl
rcpt:
  deny  !authenticated = *
        message = relay not permitted
  warn  local_parts = lsearch;DIR/slow
        delay = 1h
  defer local_parts = lsearch;DIR/greylisted
        message = greylisted, try again later
  deny  local_parts = lsearch;DIR/unknown
        message = no such user here
  accept

begin routers
all:
  driver = accept
  transport = maildir

begin transports
maildir:
  driver = appendfile
  directory = DIR/mail
  maildir_format
  create_directory
  envelope_to_add

begin authenticators
plain:
  driver = plaintext
  public_name = PLAIN
  server_prompts = :
  server_condition = ${if and{{eq{$auth2}{rollcall}}{eq{$auth3}{p4ssword}}}}
  server_set_id = $auth2
`

// exim is a mail server that runs a process of Exim for each connection, as inetd does. So it needs neither root nor a
// port below 1024.
type exim struct {
	t       *testing.T
	program string
	dir     string
	attr    *syscall.SysProcAttr
	config  email.Config // to reach it

	listener net.Listener
	accepts  sync.WaitGroup
	mu       sync.Mutex
	running  map[*exec.Cmd]net.Conn
	ended    *sync.Cond // on mu, when a session has ended
}

// startExim starts a server until the test ends, or skips the test if Exim is missing.
func startExim(t *testing.T) *exim {
	t.Helper()
	x := &exim{
		t: t, program: receivertest.Find(t, "exim4", "ROLLCALL_TEST_EXIM", "apt-get install --no-install-recommends exim4-daemon-light"),
		attr: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}, running: make(map[*exec.Cmd]net.Conn),
	}
	x.ended = sync.NewCond(&x.mu)
	var err error
	if x.dir, err = os.MkdirTemp("", "rollcall-exim-"); err != nil { // another user must reach it, unlike t.TempDir
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(x.dir) })
	uid, gid := strconv.Itoa(os.Getuid()), strconv.Itoa(os.Getgid())
	if os.Getuid() == 0 { // Exim delivers nothing as root
		nobody, err := user.Lookup("nobody")
		if err != nil {
			t.Fatal(err)
		}
		uid, gid = nobody.Uid, nobody.Gid
		u, _ := strconv.Atoi(uid)
		g, _ := strconv.Atoi(gid)
		x.attr.Credential = &syscall.Credential{Uid: uint32(u), Gid: uint32(g)}
		if err := os.Chown(x.dir, u, g); err != nil {
			t.Fatal(err)
		}
	}
	web := httptest.NewUnstartedServer(nil) // for its certificate for 127.0.0.1
	web.StartTLS()
	cert, roots := web.TLS.Certificates[0], x509.NewCertPool()
	roots.AddCert(web.Certificate())
	web.Close()
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	x.write("cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]})))
	x.write("key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})))
	x.write("config", strings.NewReplacer("DIR", x.dir, "UID", uid, "GID", gid).Replace(eximConfig))
	for _, list := range []string{"slow", "greylisted", "unknown"} {
		x.write(list, "")
	}
	x.start("127.0.0.1:0")
	x.config = email.Config{
		Host: "127.0.0.1", Port: x.listener.Addr().(*net.TCPAddr).Port, RootCAs: roots, HELO: "rollcall.example.org",
		Username: "rollcall", Password: password, From: "Rollcall <rollcall@example.org>",
	}
	t.Cleanup(x.stop)
	return x
}

func (x *exim) write(name, content string) {
	x.t.Helper()
	if err := os.WriteFile(filepath.Join(x.dir, name), []byte(content), 0o644); err != nil {
		x.t.Fatal(err)
	}
}

func (x *exim) start(address string) {
	x.t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		x.t.Fatal(err)
	}
	x.listener = listener
	x.accepts.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if err := x.session(conn); err != nil {
				x.t.Error(err)
				conn.Close()
			}
		}
	})
}

// session runs a process of Exim on a connection. -odi makes it deliver before it ends.
func (x *exim) session(conn net.Conn) error {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	defer theirs.Close()
	inside, err := net.FileConn(ours)
	ours.Close()
	if err != nil {
		return err
	}
	cmd := exec.Command(x.program, "-bs", "-odi", "-C", filepath.Join(x.dir, "config"))
	cmd.Stdin, cmd.Stdout, cmd.SysProcAttr, cmd.Dir = theirs, theirs, x.attr, x.dir
	if err := cmd.Start(); err != nil {
		return err
	}
	x.mu.Lock()
	x.running[cmd] = conn
	x.mu.Unlock()
	var forward sync.WaitGroup
	forward.Go(func() {
		_, _ = io.Copy(inside, conn)
		_ = inside.(*net.UnixConn).CloseWrite()
	})
	go func() {
		_, _ = io.Copy(conn, inside)
		conn.Close()
		inside.Close()
		forward.Wait()
		_ = cmd.Wait()
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.running, cmd)
		x.ended.Broadcast()
	}()
	return nil
}

// wait returns once all sessions have ended.
func (x *exim) wait() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for len(x.running) > 0 {
		x.ended.Wait()
	}
}

// stop ends the server as a crash would. What it has delivered stays.
func (x *exim) stop() {
	x.listener.Close()
	x.accepts.Wait()
	x.mu.Lock()
	for cmd, conn := range x.running {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		conn.Close()
	}
	x.mu.Unlock()
	x.wait()
}

func (x *exim) notifier(change func(*email.Config)) channels.Notifier {
	x.t.Helper()
	return (&server{config: x.config}).notifier(x.t, change)
}

// got returns what has been delivered since the last call, by recipient and subject, once all connections have ended.
func (x *exim) got() (list []string) {
	x.t.Helper()
	for _, m := range x.messages() {
		list = append(list, m.Header.Get("Envelope-To")+": "+m.Header.Get("Subject"))
	}
	return list
}

func (x *exim) messages() (list []*mail.Message) {
	x.t.Helper()
	x.wait()
	files, _ := filepath.Glob(filepath.Join(x.dir, "mail/new/*"))
	slices.Sort(files) // the names begin with the time
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			x.t.Fatal(err)
		}
		m, err := mail.ReadMessage(strings.NewReader(strings.ReplaceAll(string(data), "\n", "\r\n")))
		if err != nil {
			x.t.Fatal(err)
		}
		list = append(list, m)
		if err := os.Remove(file); err != nil {
			x.t.Fatal(err)
		}
	}
	return list
}

// TestExim sends the alerts of one outage, and checks that they arrive as a thread with valid signatures.
func TestExim(t *testing.T) {
	x := startExim(t)
	key := ed25519.NewKeyFromSeed([]byte(strings.Repeat("s", ed25519.SeedSize)))
	n := x.notifier(func(c *email.Config) {
		c.DKIM = &email.DKIM{Selector: "rollcall", Key: key}
		c.Unsubscribe = unsubscribe
	})
	var threads []string
	for i, change := range []func(*channels.Notification){
		func(*channels.Notification) {},
		func(n *channels.Notification) { n.Reminder = 1 },
		func(n *channels.Notification) { n.Status, n.DownFor = channels.Up, time.Hour },
	} {
		alert := down()
		alert.ID = fmt.Sprint("alert-", i)
		change(&alert)
		if err := n.Notify(t.Context(), channel("ops@example.org"), alert); err != nil {
			t.Fatal(err)
		}
		list := x.messages()
		if len(list) != 1 {
			t.Fatalf("%d messages", len(list))
		}
		threads = append(threads, list[0].Header.Get("Subject")+" "+list[0].Header.Get("References"))
		if err := verifyDKIM(list[0], "v=DKIM1; k=ed25519; p="+base64.StdEncoding.EncodeToString(key.Public().(ed25519.PublicKey))); err != nil {
			t.Error(err)
		}
	}
	const incident = " <rollcall.incident.4cd9b7672d7fbee8fb51fb1e049f6903@example.org>"
	equal(t, "alerts", threads, []string{
		"DOWN: nightly backup" + incident, "Still DOWN (reminder 1): nightly backup" + incident, "UP: nightly backup" + incident,
	})
}

// verifyDKIM checks the signature of a message that a server has delivered.
func verifyDKIM(m *mail.Message, record string) error {
	var b strings.Builder
	for name, values := range m.Header {
		for _, value := range values {
			fmt.Fprintf(&b, "%s: %s\r\n", name, value)
		}
	}
	b.WriteString("\r\n")
	if _, err := io.Copy(&b, m.Body); err != nil {
		return err
	}
	list, err := dkim.VerifyWithOptions(strings.NewReader(b.String()), &dkim.VerifyOptions{
		LookupTXT: func(string) ([]string, error) { return []string{record}, nil },
	})
	if err != nil || len(list) != 1 {
		return fmt.Errorf("%d signatures, %w", len(list), err)
	}
	return list[0].Err
}

func TestEximWrongCredentials(t *testing.T) {
	x := startExim(t)
	err := x.notifier(func(c *email.Config) { c.Password = "wrong" }).Notify(t.Context(), channel("a@example.org"), down())
	if !strings.Contains(text(err), "535") || channels.IsPermanent(err) || strings.Contains(text(err), "wrong") {
		t.Errorf("wrong password: %v", err)
	}
	// Without a login, the server refuses the recipient for good. The error says why.
	err = x.notifier(func(c *email.Config) { c.Username, c.Password = "", "" }).Notify(t.Context(), channel("a@example.org"), down())
	if !strings.Contains(text(err), "relay not permitted") || !channels.IsPermanent(err) {
		t.Errorf("no password: %v", err)
	}
	equal(t, "delivered", x.got(), []string(nil))
}

func TestEximAwayAndBack(t *testing.T) {
	x := startExim(t)
	n, address := x.notifier(nil), x.listener.Addr().String()
	x.stop()
	if err := n.Notify(t.Context(), channel("a@example.org"), down()); err == nil || channels.IsPermanent(err) {
		t.Error(err)
	}
	x.start(address)
	if err := n.Notify(t.Context(), channel("a@example.org"), down()); err != nil {
		t.Error(err)
	}
	equal(t, "delivered", x.got(), []string{"a@example.org: DOWN: nightly backup"})
}

// TestEximSlow checks that a server which does not answer about one address keeps neither the attempt nor the others.
func TestEximSlow(t *testing.T) {
	x := startExim(t)
	x.write("slow", "b\n")
	// However slow this machine is, the time is over before the server's delay is. On a slow one, it may be over before the server
	// accepts the other address: that is no failure, and a longer time decides.
	alert := down()
	var err error
	for timeout := 3 * time.Second; len(channels.Accepted(err)) == 0 && timeout < 5*time.Minute; timeout *= 3 {
		n := x.notifier(func(c *email.Config) { c.Timeout = timeout })
		err = n.Notify(t.Context(), channel("a@example.org, b@example.org"), alert)
	}
	if !strings.Contains(text(err), "the mail server did not answer in time") || channels.IsPermanent(err) {
		t.Error(err)
	}
	x.write("slow", "")
	alert.Done = channels.Accepted(err)
	if err := x.notifier(nil).Notify(t.Context(), channel("a@example.org, b@example.org"), alert); err != nil {
		t.Error(err)
	}
	address := x.listener.Addr().String()
	x.stop() // the process that still waits
	x.start(address)
	equal(t, "delivered", x.got(), []string{"a@example.org: DOWN: nightly backup", "b@example.org: DOWN: nightly backup"})
}

// TestEximGreylisting checks that only the recipient gets a retry whom the server did not accept at first.
func TestEximGreylisting(t *testing.T) {
	x := startExim(t)
	x.write("greylisted", "b\n")
	x.write("unknown", "c\n")
	n, alert, c := x.notifier(nil), down(), channel("a@example.org, b@example.org, c@example.org")
	err := n.Notify(t.Context(), c, alert)
	equal(t, "error", text(err), `the mail server accepted the message for 1 of 3 addresses: b@example.org: 451 "greylisted, try again later"; c@example.org: 550 "no such user here"`)
	equal(t, "permanent", channels.IsPermanent(err), false)
	equal(t, "delivered", x.got(), []string{"a@example.org: DOWN: nightly backup"})

	x.write("greylisted", "")
	alert.Done = channels.Accepted(err)
	err = x.notifier(nil).Notify(t.Context(), c, alert)
	equal(t, "error", text(err), `the mail server accepted the message for 2 of 3 addresses: c@example.org: 550 "no such user here"`)
	equal(t, "permanent", channels.IsPermanent(err), true)
	equal(t, "delivered", x.got(), []string{"b@example.org: DOWN: nightly backup"})
}
