package email_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/pings/email"
)

// TestParse compares whole texts. TestCorpus covers the variety of real messages.
func TestParse(t *testing.T) {
	for name, test := range map[string]struct {
		raw  string
		want email.Message
	}{
		"empty":   {"", email.Message{}},
		"plain":   {"Subject: a\r\n b\r\n\r\nc\r\nd\r\n", email.Message{Subject: "a b", Text: "c\nd"}},
		"no text": {"Subject: a\nContent-Type: image/png\n\nx", email.Message{Subject: "a"}},
		"both": {"Content-Type: multipart/alternative; boundary=x\n\n--x\n\nplain\n--x\nContent-Type: text/html\n\n<p>h&nbsp;t\n m&lt;l<p>\n--x--",
			email.Message{Text: "plain", HTML: "h t m<l"}},
		"layout": {"Content-Type: text/html\n\n<h1>A</h1> b<br>c<table><tr><td>1</td>\n<td>2</td></tr><tr><th>3</table><pre>\n x\n  y</pre>z",
			email.Message{HTML: "A\nb\nc\n1 2\n3\n\n x\n  y\nz"}},
		"text of an attached page is hidden": {"Content-Type: text/html\n\na<iframe><p>b</iframe><script><p>c</script >d", email.Message{HTML: "ad"}},
		"adjacent words":                     {"Subject: =?utf-8?q?a_?= =?utf-8?b?w6Q=?= x =?UTF-8*de?Q?=C3?=\t=?utf-8?Q?=B6?= =?x?= =?\n\n", email.Message{Subject: "a ä x ö =?x?= =?"}},
		"flowed":                             {"Content-Type: text/plain; format=flowed\n\na \nb\n c\n-- \nd", email.Message{Text: "a b\nc\n-- \nd"}},
		"stray lines":                        {"Subject: a\nstray one\n folded\nX: y\nstray two\n\nbody", email.Message{Subject: "a", Text: "stray one folded\nstray two\nbody"}},
		"no keyword across parts":            {"Content-Type: multipart/mixed; boundary=x\n\n--x\n\nER\n--x\n\nROR\n--x--", email.Message{Text: "ER\nROR"}},
	} {
		if diff := cmp.Diff(test.want, email.Parse([]byte(test.raw))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestMail(t *testing.T) {
	for _, test := range []struct {
		message email.Message
		want    pings.Mail
	}{
		{email.Message{}, pings.Mail{}},
		{email.Message{Subject: "s", Text: "t"}, pings.Mail{Subject: "s", Text: "t"}},
		{email.Message{HTML: "h"}, pings.Mail{Text: "h"}},
		{email.Message{Text: "ER", HTML: "ROR"}, pings.Mail{Text: "ER\nROR"}},
	} {
		if diff := cmp.Diff(&test.want, test.message.Mail()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// bombs returns messages of about the given size that try to exhaust time or memory.
func bombs(size int) map[string][]byte {
	fill := func(head, repeated, tail string) []byte {
		n := max(size-len(head)-len(tail), 0) / len(repeated)
		return []byte(head + strings.Repeat(repeated, n) + tail)
	}
	var levels bytes.Buffer
	for i := 0; levels.Len() < size; i++ {
		fmt.Fprintf(&levels, "Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n", i, i)
	}
	const html = "Content-Type: text/html\n\n"
	return map[string][]byte{
		"parts":               fill("Content-Type: multipart/mixed; boundary=b\n\n", "--b\n\nx\n", ""),
		"parts with types":    fill("Content-Type: multipart/mixed; boundary=b\n\n", "--b\nContent-Type: text/html; charset=koi8-r\n\n<\n", ""),
		"almost delimiters":   fill("Content-Type: multipart/mixed; boundary=b\n\n--b\n\n", "--bb\n", ""),
		"levels":              levels.Bytes(),
		"one boundary":        fill("", "Content-Type: multipart/mixed; boundary=b\n\n--b\n", ""),
		"words without end":   fill("Subject: ", "=?u?q?a?", "\n\n"),
		"words":               fill("Subject: ", "=?koi8-r?q?a?= =?utf-8?q?a?=", "\n\n"),
		"openings of words":   fill("Subject: ", "=?", "\n\n"),
		"folds":               fill("Subject: a\n", " \n", "\n\n"),
		"fields":              fill("", "a:\n", "\n"),
		"parameters":          fill("Content-Type: text/plain", "; a=b", "\n\n"),
		"parameters in parts": fill("Content-Type: text/plain", "; a*1*=b", "\n\n"),
		"quotes":              fill("Content-Type: text/plain; a=\"", "\\\"", "\n\n"),
		"tags":                fill(html, "<b>", ""),
		"open tags":           fill(html, "<a ", ""),
		"attributes":          fill(html+"<a ", "a=b ", ">"),
		"comments":            fill(html, "<!--", ""),
		"scripts":             fill(html, "<script>", ""),
		"ends of scripts":     fill(html+"<script>", "</scrip", ""),
		"pre":                 fill(html, "<pre>", ""),
		"entities":            fill(html, "&NotEqualTilde;", ""),
		"ampersands":          fill(html, "&", ""),
		"soft breaks":         fill("Content-Transfer-Encoding: quoted-printable\n\n", "=\n", ""),
		"base64 lines":        fill("Content-Transfer-Encoding: base64\n\n", "a b\n", ""),
		"padding":             fill("Content-Transfer-Encoding: base64\n\n", "QQ==", ""),
		"escapes":             fill("Content-Type: text/plain; charset=iso-2022-jp\n\n", "\x1b$B\x1b(B", ""),
		"flowed":              fill("Content-Type: text/plain; format=flowed\n\n", " \n", ""),
	}
}

// TestBombs checks that memory is proportional to the message. Parsing in worse than linear time would not end.
func TestBombs(t *testing.T) {
	const size = 1_000_000
	for name, raw := range bombs(size) {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			m := email.Parse(raw)
			runtime.ReadMemStats(&after)
			if n := len(m.Subject) + len(m.Text) + len(m.HTML); n > 4*size {
				t.Errorf("%d bytes of text", n)
			}
			if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 600*size {
				t.Errorf("%d bytes were allocated", allocated)
			}
		})
	}
}

// FuzzParse checks the documented guarantees of Parse for arbitrary bytes.
func FuzzParse(f *testing.F) {
	for _, name := range messages(f) {
		if raw := readMessage(f, name); len(raw) < 10_000 {
			f.Add(raw)
		}
	}
	for _, raw := range bombs(1000) {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		kept := bytes.Clone(raw)
		m := email.Parse(raw)
		if !bytes.Equal(kept, raw) {
			t.Error("the message was changed")
		}
		if again := email.Parse(raw); again != m {
			t.Errorf("a second time: %+v, before: %+v", again, m)
		}
		for _, text := range []string{m.Subject, m.Text, m.HTML} {
			if !utf8.ValidString(text) {
				t.Errorf("not UTF-8: %q", text)
			}
			if len(text) > 4*len(raw)+10 {
				t.Errorf("%d bytes of text from %d", len(text), len(raw))
			}
		}
		if strings.ContainsAny(m.Subject, "\r\n") {
			t.Errorf("the subject has several lines: %q", m.Subject)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for _, name := range []string{"cron-output", "proxmox-vzdump", "veeam-success", "huge"} {
		raw := readMessage(b, name)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				email.Parse(raw)
			}
		})
	}
}
