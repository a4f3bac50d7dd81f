package monitor_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestAlertPing sends alerts about pings with bodies of all sizes, in the database and in object storage. Each has the
// duration of the run, and the beginning and the end of the body.
func TestAlertPing(t *testing.T) {
	large := strings.Repeat("0123456789", 5000) + "\xff the end"
	for _, sh := range []*shelf{nil, {}} {
		eachOutbox(t, func(c *monitor.Config) {
			if sh != nil {
				c.Bodies, c.BodyThreshold = sh, 100
			}
		}, func(t *testing.T, o outbox) {
			o.channel(t, "pager", "ops", nil)
			c := o.watched(t, "a")
			for _, body := range []string{"", "disk full", large[:channels.MaxEnd], large} {
				o.ping(t, c.ID, pings.Start)
				o.clock.Advance(41*time.Second + 20*time.Millisecond)
				_, err := o.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Failure, Body: []byte(body)})
				if err != nil {
					t.Fatal(err)
				}
				if sh != nil {
					if _, err := o.UploadBodies(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := o.Deliver(t.Context()); err != nil {
					t.Fatal(err)
				}
				list := o.all()
				got := list[len(list)-1].Ping
				if got.Kind != "fail" || got.Duration != 41*time.Second+20*time.Millisecond {
					t.Errorf("%s took %v, want 41.02 s", got.Kind, got.Duration)
				}
				body = strings.ReplaceAll(body, "\xff", "ÿ")
				if string(got.Body) != body[:min(len(body), channels.MaxBody)] || string(got.End) != body[max(0, len(body)-channels.MaxEnd):] {
					t.Errorf("of %d bytes the alert has %d at the beginning and %d at the end", len(body), len(got.Body), len(got.End))
				}
				o.ping(t, c.ID, pings.Success)
				if _, err := o.Deliver(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestAlertText sends alerts about bodies in other character sets, with an odd byte, compressed and cut: their text is that of the
// body, and the cause is no line that was cut.
func TestAlertText(t *testing.T) {
	const output = "copied\nStörung: disk full\n"
	lines := strings.Repeat("copied a file\n", 1500)
	wide := func(text string) (b []byte) {
		for _, unit := range utf16.Encode([]rune(text)) {
			b = binary.LittleEndian.AppendUint16(b, unit)
		}
		return b
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Write([]byte(lines + output))
	w.Close()
	middle, cut := pings.Cut([]byte(lines+"fatal error: "+strings.Repeat("x", 500)+"\n"+lines), 42_000)
	for _, sh := range []*shelf{nil, {}} {
		eachOutbox(t, func(c *monitor.Config) {
			if sh != nil {
				c.Bodies, c.BodyThreshold = sh, 10
			}
		}, func(t *testing.T, o outbox) {
			o.channel(t, "pager", "ops", nil)
			c := o.watched(t, "a")
			for name, test := range map[string]struct {
				signal            pings.Signal
				begin, end, cause string
			}{
				"UTF-8":           {pings.Signal{Body: []byte(output)}, output, output, "Störung: disk full"},
				"an odd byte":     {pings.Signal{Body: []byte("copied\nSt\xf6rung: disk full\n")}, output, output, "Störung: disk full"},
				"a mark":          {pings.Signal{Body: append([]byte("\xff\xfe"), wide(output)...)}, output, output, "Störung: disk full"},
				"a character set": {pings.Signal{Body: []byte("copied\nSt\xf6rung: disk full\n"), BodyCharset: "iso-8859-1"}, output, output, "Störung: disk full"},
				"long and UTF-16": {pings.Signal{Body: wide(lines + output), BodyCharset: "utf-16le"}, lines, output, "Störung: disk full"},
				"gzip":            {pings.Signal{Body: packed.Bytes()}, lines, output, "Störung: disk full"},
				"cut":             {pings.Signal{Body: middle, BodyCut: cut}, lines, lines[:14], "copied a file"},
			} {
				test.signal.Kind = pings.Failure
				if _, err := o.Ping(t.Context(), c.ID, test.signal); err != nil {
					t.Fatal(err)
				}
				if sh != nil {
					if _, err := o.UploadBodies(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := o.Deliver(t.Context()); err != nil {
					t.Fatal(err)
				}
				list := o.all()
				n := list[len(list)-1]
				if !strings.HasPrefix(test.begin, string(n.Ping.Body[:10])) || !strings.HasSuffix(string(n.Ping.End), test.end) ||
					len(n.Ping.Body) > channels.MaxBody || len(n.Ping.End) > channels.MaxEnd || n.Cause != test.cause || n.Ping.BodyCut != test.signal.BodyCut {
					t.Errorf("%s: cut %d, cause %q, begins %.20q, ends %q", name, n.Ping.BodyCut, n.Cause, n.Ping.Body, n.Ping.End[max(0, len(n.Ping.End)-30):])
				}
				o.ping(t, c.ID, pings.Success)
				if _, err := o.Deliver(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestAlertMail sends an alert about a ping by e-mail. The last lines of the message are no output of the job.
func TestAlertMail(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "ops", nil)
		c := o.watched(t, "a")
		signal := pings.Signal{Kind: pings.Failure, Scheme: "email", Mail: &pings.Mail{}, Body: []byte("Subject: a\r\n\r\n--b--\r\n")}
		if _, err := o.Ping(t.Context(), c.ID, signal); err != nil {
			t.Fatal(err)
		}
		if _, err := o.Deliver(t.Context()); err != nil {
			t.Fatal(err)
		}
		if p := o.all()[0].Ping; string(p.Body) != string(signal.Body) || p.End != nil || p.Duration != 0 {
			t.Errorf("the alert has %+v", p)
		}
	})
}
