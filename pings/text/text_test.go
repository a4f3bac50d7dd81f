package text_test

import (
	"bufio"
	"encoding/hex"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

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
