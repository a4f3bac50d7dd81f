package text_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/pings/text"
)

// TestLabels decodes a text by every label of Python's codecs, in several spellings.
func TestLabels(t *testing.T) {
	file, err := os.Open("testdata/charsets.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	labels := 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		columns := strings.Split(lines.Text(), "\t")
		raw, err := hex.DecodeString(columns[1])
		if err != nil || len(columns) != 3 {
			t.Fatal(lines.Text(), err)
		}
		for label := range strings.FieldsSeq(columns[0]) {
			labels++
			for _, name := range []string{label, strings.ToUpper(label), strings.ReplaceAll(label, "_", "-"), strings.ReplaceAll(label, "cp", "CP-"), `"` + label + `"`} {
				if got := text.Decode(name, raw); got != columns[2] || !text.Known(name) {
					t.Errorf("%s (known: %v): %q, want %q", name, text.Known(name), got, columns[2])
					break
				}
			}
		}
	}
	if labels < 400 {
		t.Errorf("%d labels", labels)
	}
}

// TestDecode reads text whose character set is missing, unknown or wrong.
func TestDecode(t *testing.T) {
	for _, test := range []struct{ name, charset, raw, want string }{
		{"UTF-8", "", "Störung", "Störung"},
		{"one odd byte", "", "caf\xe9 für alle", "café für alle"},
		{"UTF-8 is declared", "utf-8", "St\xf6rung – ja", "Störung – ja"},
		{"ASCII is declared", "us-ascii", "ошибка", "ошибка"},
		{"unknown", "x-nobody-knows", "St\xf6rung", "Störung"},
		{"seven bits are declared", "iso-2022-jp", "エラー", "エラー"},
		{"seven bits are declared, Korean", "iso-2022-kr", "오류", "오류"},
		{"UTF-7 is declared", "utf-7", "ошибка", "ошибка"},
		{"no name, Japanese escapes", "", "\x1b$B%(%i!<\x1b(B", "エラー"},
		{"colours are no escapes of ISO 2022", "", "\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"},
		{"Chinese within ISO-2022-JP-2", "iso-2022-jp-2", "\x1b$A4mNs\x1b(B \x1b$(C?@7y\x1b(B \x1b.A\x1bNi", "错误 오류 é"},
		{"ISO-2022-CN", "iso-2022-cn", "\x1b$)A\x0e4mNs\x0f.", "错误."},
		{"mark of UTF-16", "", "\xff\xfeO\x00K\x00", "OK"},
		{"mark of UTF-16, another name", "utf-8", "\xfe\xff\x00O\x00K", "OK"},
		{"mark of UTF-32", "", "\xff\xfe\x00\x00O\x00\x00\x00", "O"},
		{"mark of UTF-32, big", "", "\x00\x00\xfe\xff\x00\x00\x00O", "O"},
		{"mark of UTF-8", "windows-1251", "\xef\xbb\xbfошибка", "ошибка"},
		{"UTF-16 without a mark", "UTF-16", "O\x00K\x00", "OK"},
		{"UTF-16 without a mark, big", "utf_16", "\x00O\x00K", "OK"},
		{"broken UTF-7", "utf-7", "a+-b +! +AO", "a+b +! "},
	} {
		if got := text.Decode(test.charset, []byte(test.raw)); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, charset := range []string{"", "utf-7", "iso-2022-jp-2", "iso-2022-kr", "johab", "hz", "utf-16", "utf-32", "cp737", "cp037", "gb18030", "big5", "x"} {
		f.Add(charset, []byte("\x1b$(C\x0e+-\xd9\x31\x1bN\x1b.A\x1b$\xff+AOk-"))
	}
	f.Fuzz(func(t *testing.T, charset string, raw []byte) {
		got := text.Decode(charset, raw)
		if !utf8.ValidString(got) || len(got) > 6*len(raw)+6 {
			t.Errorf("%q", got)
		}
		if text.Known(charset) && charset == "" {
			t.Error("no name is known")
		}
	})
}

// compressed returns a text as gzip compresses it.
func compressed(content string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(content))
	w.Close()
	return b.String()
}

// utf16 returns ASCII in UTF-16.
func utf16(content string) string {
	var b strings.Builder
	for _, c := range []byte(content) {
		b.Write([]byte{c, 0})
	}
	return b.String()
}

// TestEnds reads bodies as they are stored: whole, cut in the middle, and their ends alone.
func TestEnds(t *testing.T) {
	const long = "first line\nsecond line\nthird line\nfourth line\n" // 46 bytes
	for _, test := range []struct {
		name       string
		ping       pings.Ping
		head, tail string
		ok         bool
		lines      string
	}{
		{"none", pings.Ping{}, "", "", true, ""},
		{"whole", pings.Ping{Body: []byte("a\ncaf\xe9")}, "a\ncafé", "", true, "a\ncafé"},
		{"in a character set", pings.Ping{Body: []byte("\xe4\xc1"), BodyCharset: "koi8-r"}, "Да", "", true, "Да"},
		{"UTF-16 with a mark", pings.Ping{Body: []byte("\xff\xfe" + utf16("a\nb"))}, "a\nb", "", true, "a\nb"},
		{"compressed", pings.Ping{Body: []byte(compressed("a\nb"))}, "a\nb", "", true, "a\nb"},
		{"compressed UTF-16", pings.Ping{Body: []byte(compressed(utf16("a\nb"))), BodyCharset: "utf-16le"}, "a\nb", "", true, "a\nb"},
		{"compressed and cut", pings.Ping{Body: []byte(compressed("a\nb")), BodySize: 26, BodyCut: 100}, "a\n", "", true, "a\n"},
		{"binary", pings.Ping{Body: []byte("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00")}, "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00", "", false, ""},
		{"cut", pings.Ping{Body: []byte(long), BodySize: 46, BodyCut: 5}, long[:23], long[23:], true, "first line\nsecond line\nfourth line\n"},
		{"cut within lines", pings.Ping{Body: []byte("first line\nerror: no|error: line\nlast line\n"), BodyCut: 5}, "first line\nerror: no|", "error: line\nlast line\n", true, "first line\nlast line\n"},
		{"the end", pings.Ping{Body: []byte(long[15:]), BodySize: 46}, long[15:], "", true, "third line\nfourth line\n"},
		{"the end of a cut one, with both", pings.Ping{Body: []byte(long[15:]), BodySize: 46, BodyCut: 5}, long[15:23], long[23:], true, "fourth line\n"},
		{"the end of a cut one", pings.Ping{Body: []byte(long[30:]), BodySize: 46, BodyCut: 5}, "", long[30:], true, "fourth line\n"},
		{"cut within characters", pings.Ping{Body: []byte("€€€€"[:4] + "€€"[2:]), BodySize: 8, BodyCut: 5}, "€", "€", true, ""},
		{"cut UTF-16", pings.Ping{Body: []byte("\xff\xfe" + utf16("ab\n") + "\x00" + utf16("c\nd") + "\x00"), BodySize: 16, BodyCut: 3, BodyCharset: "utf-16le"}, "ab\n", "c\nd", true, "ab\nd"},
	} {
		head, tail, ok := text.Ends(test.ping)
		if head != test.head || tail != test.tail || ok != test.ok || text.Lines(test.ping) != test.lines {
			t.Errorf("%s: %q, %q, %v, lines %q", test.name, head, tail, ok, text.Lines(test.ping))
		}
	}
}

// TestBombs: what gzip has compressed is read up to a limit.
func TestBombs(t *testing.T) {
	bomb := []byte(compressed(strings.Repeat("x", 50_000_000)))
	if got := text.Gunzip(bomb, 10_000); len(got) != 10_000 {
		t.Errorf("%d bytes", len(got))
	}
	if got, ok := text.Read("", bomb); len(got) != 1<<20 || !ok {
		t.Errorf("%d bytes, %v", len(got), ok)
	}
	if text.Gunzip([]byte("no gzip"), 10) != nil || string(text.Gunzip(bomb[:len(bomb)/2], 3)) != "xxx" {
		t.Error("what is no gzip, or only its start")
	}
}
