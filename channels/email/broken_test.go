package email_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/email"
)

// TestBrokenServers uses servers that fall silent or reply nonsense at each step. No recipient gets part of a message.
func TestBrokenServers(t *testing.T) {
	script := []string{"220 hello", "250 hello", "250 sender", "250 receiver", "354 go on", "250 taken", "221 bye"}
	for step := range script {
		for _, instead := range []string{"", "\x00\xff", "999 what?", "close"} {
			t.Run(fmt.Sprintf("%d %q", step, instead), func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				config := scripted(t, script, step, instead, cancel)
				n, err := email.New(&config)
				if err != nil {
					t.Fatal(err)
				}
				err = n.Notifier.Notify(ctx, channel("a@example.org"), down())
				if delivered := step == len(script)-1; (err == nil) != delivered || channels.IsPermanent(err) {
					t.Errorf("error %v", err)
				}
				if instead == "" && step < len(script)-1 && !errors.Is(err, context.Canceled) {
					t.Errorf("error %v", err)
				}
			})
		}
	}
}

// scripted runs a server that follows the script line by line. At one step it says something else and waits; when it
// says nothing, it calls silent.
func scripted(t *testing.T, script []string, step int, instead string, silent func()) email.Config {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { _ = listener.Close(); <-done })
	go func() {
		defer close(done)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		lines := bufio.NewScanner(conn)
		for _, reply := range script[:step] {
			fmt.Fprint(conn, reply, "\r\n")
			for lines.Scan() && reply[0] == '3' && lines.Text() != "." { // the message
			}
		}
		switch instead {
		case "close":
			return
		case "":
			silent()
		default:
			fmt.Fprint(conn, instead, "\r\n")
			lines.Scan() // the client may try something else, or give up
			return
		}
		_, _ = io.Copy(io.Discard, conn) // until the client gives up
	}()
	port := listener.Addr().(*net.TCPAddr).Port
	return email.Config{Host: "127.0.0.1", Port: port, TLS: email.NoTLS, HELO: "h", From: "r@example.org"}
}

func TestUnreachable(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	_ = listener.Close()
	n, err := email.New(&email.Config{Host: "127.0.0.1", Port: port, From: "r@example.org"})
	if err != nil {
		t.Fatal(err)
	}
	err = n.Notifier.Notify(t.Context(), channel("a@example.org"), down())
	if err == nil || channels.IsPermanent(err) {
		t.Errorf("error %v", err)
	}
	for _, to := range []string{"", "nobody", "a@example.org\r\nBcc: b@example.org"} {
		if err := n.Notifier.Notify(t.Context(), channel(to), down()); !channels.IsPermanent(err) {
			t.Errorf("%q: %v", to, err)
		}
	}
}

// TestWrongPort says what to set if the server and the configuration do not agree on the encryption.
func TestWrongPort(t *testing.T) {
	for name, tt := range map[string]struct {
		server, client email.TLSMode
		want           string
	}{
		"STARTTLS to a port with TLS": {email.ImplicitTLS, email.StartTLS, "says nothing, as one does that expects TLS at once: set --mail-tls to implicit, or --mail-port to 587"},
		"no TLS to a port with TLS":   {email.ImplicitTLS, email.NoTLS, "set --mail-tls to implicit"},
		"TLS to a port without":       {email.NoTLS, email.ImplicitTLS, "the mail server does not begin with TLS on port"},
		"no STARTTLS":                 {email.NoTLS, email.StartTLS, "the mail server offers no encryption (STARTTLS) on port"},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, tt.server)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			if strings.Contains(tt.want, "implicit") && tt.server == email.ImplicitTLS {
				ctx, cancel = context.WithTimeout(t.Context(), 300*time.Millisecond)
			}
			defer cancel()
			err := s.notifier(t, func(c *email.Config) { c.TLS = tt.client }).Notify(ctx, channel("a@example.org"), down())
			if !strings.Contains(text(err), tt.want) || channels.IsPermanent(err) {
				t.Error(err)
			}
		})
	}
}
