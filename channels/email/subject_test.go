package email_test

import (
	"mime"
	"net/mail"
	"slices"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/channels/email"
	pings "github.com/rollcall-dev/rollcall/pings/email"
)

// TestSubjectsThatLookEncoded checks that mail programs show the name of a check literally.
func TestSubjectsThatLookEncoded(t *testing.T) {
	s := start(t, email.NoTLS)
	n := s.notifier(t, nil)
	for _, name := range []string{
		"=?utf-8?q?all_is_well?=",
		"=?UTF-8?B?YWxsIGlzIHdlbGw=?=",
		"backup =?iso-8859-1?q?caf=E9?= of today",
		"=?utf-8?q?a?= =?utf-8?q?b?=",
		"(=?utf-8?q?in_a_comment?=)",
		"Žurka =?utf-8?q?=e2=98=83?=",
		"what =? is ?= this",
		"šķūnis",
		strings.Repeat("備份", 30),
		strings.Repeat("Ž", 26) + " backup of the night and of the day before",
		strings.Repeat("=?utf-8?q?x?= ☃", 6),
		strings.Repeat("=?utf-8?q?yz?=", 6),
	} {
		t.Run(name, func(t *testing.T) {
			alert := down()
			alert.Check.Name = name
			if err := n.Notify(t.Context(), channel("ops@example.org"), alert); err != nil {
				t.Fatal(err)
			}
			data := s.got()[0].Data
			parsed, err := mail.ReadMessage(strings.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			subject, err := new(mime.WordDecoder).DecodeHeader(parsed.Header.Get("Subject"))
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "subject", subject, "DOWN: "+name)
			equal(t, "subject of a ping", pings.Parse([]byte(data)).Subject, "DOWN: "+name)
			header, _, _ := strings.Cut(data, "\r\n\r\n")
			for line := range strings.Lines(header) {
				if strings.TrimRight(line, " \r\n") == "Subject:" {
					t.Error("the line of the name is empty")
				}
				if len(strings.TrimRight(line, "\r\n")) > 78 {
					t.Errorf("a line of %d characters: %s", len(line), line)
				}
			}
			for word := range strings.FieldsSeq(parsed.Header.Get("Subject")) {
				if strings.HasPrefix(word, "=?") && len(word) > 75 { // RFC 2047, section 2
					t.Errorf("an encoded word of %d characters: %s", len(word), word)
				}
			}
		})
	}
}

// TestNames checks that mail programs show the names of people literally, and that no header begins with an empty line.
func TestNames(t *testing.T) {
	s := start(t, email.NoTLS)
	for _, name := range []string{
		"Operators",
		"Jānis Bērziņš",
		"夜間バックアップ監視, サーバー二号",
		strings.Repeat("Ž", 60),
		"=?utf-8?q?all?=",
		`Kārlis "K." O'Brien, night <shift>`,
		strings.Repeat("The operators ", 12) + "of Rīga",
	} {
		for _, address := range []string{"ops@example.org", "odd name@example.org", "jānis@example.org"} {
			t.Run(name+address, func(t *testing.T) {
				want := &mail.Address{Name: name, Address: address}
				from := &mail.Address{Name: name, Address: "rollcall@example.org"}
				n := s.notifier(t, func(c *email.Config) { c.From = from.String() })
				if err := n.Notify(t.Context(), channel(want.String()+", Second Ž <b@example.org>"), down()); err != nil {
					t.Fatal(err)
				}
				got := s.got()
				equal(t, "messages", len(got), 2)
				parsed, err := mail.ReadMessage(strings.NewReader(got[0].Data))
				if err != nil {
					t.Fatal(err)
				}
				for header, want := range map[string][]*mail.Address{"From": {from}, "To": {want, {Name: "Second Ž", Address: "b@example.org"}}} {
					list, err := parsed.Header.AddressList(header)
					if err != nil {
						t.Fatal(header, err)
					}
					equal(t, header, list, want)
				}
				header, _, _ := strings.Cut(got[0].Data, "\r\n\r\n")
				for line := range strings.Lines(header) {
					empty := slices.Contains([]string{"From:", "To:"}, strings.TrimSpace(line))
					if empty && address != "jānis@example.org" || len(strings.TrimRight(line, "\r\n")) > 78 {
						t.Errorf("a line of %d characters: %s", len(line), line)
					}
				}
			})
		}
	}
}
