package keywords_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"

	"github.com/rollcall-dev/rollcall/keywords"
)

func TestClassify(t *testing.T) {
	tests := []struct {
		name                    string
		start, success, failure string
		text                    string
		want                    keywords.Class
	}{
		{"nothing set", "", "", "", "anything", keywords.None},
		{"empty text", "start", "ok", "error", "", keywords.None},
		{"no keyword in the text", "start", "ok", "error", "all quiet", keywords.None},
		{"start", "begin", "done", "error", "begin now", keywords.Start},
		{"success", "begin", "done", "error", "now done", keywords.Success},
		{"failure", "begin", "done", "error", "an error!", keywords.Failure},
		{"failure before success", "", "done", "error", "done with one error", keywords.Failure},
		{"failure before success, whatever the order", "", "done", "error", "error, but done", keywords.Failure},
		{"success before start", "begin", "done", "", "begin and done", keywords.Success},
		{"failure before start", "begin", "", "error", "begin: error", keywords.Failure},
		{"one keyword in three lists", "x", "x", "x", "x", keywords.Failure},
		{"second of several", "", "done,finished", "", "finished", keywords.Success},
		{"trimmed", "", " \t done ,\u00a0finished\n", "", "finished", keywords.Success},
		{"no white space", "", "all done", "", "alldone", keywords.None},
		{"white space", "", "all done", "", "all done", keywords.Success},
		{"several blanks", "", "all done", "", "all  done", keywords.Success},
		{"several blanks in the keyword", "", "all  done", "", "all done", keywords.Success},
		{"a tab", "", "all done", "", "all\tdone", keywords.Success},
		{"no-break spaces", "", "all done", "", "all\u00a0\u202fdone", keywords.Success},
		{"a no-break space in the keyword", "", "all\u00a0done", "", "all done", keywords.Success},
		{"an ideographic space", "", "バックアップ 完了", "", "バックアップ\u3000完了", keywords.Success},
		{"a wrapped line", "", "all done", "", "it is all\ndone", keywords.Success},
		{"a wrapped line with CRLF and indentation", "", "all done", "", "it is all \r\n\t  done", keywords.Success},
		{"a carriage return", "", "all done", "", "all\rdone", keywords.Success},
		{"a soft hyphen and a zero-width space", "", "all done", "", "a\u00adll \u200bdone\ufeff", keywords.Success},
		{"decomposed text", "", "Störung,é", "", "Sto\u0308rung", keywords.Success},
		{"decomposed keyword", "", "Sto\u0308rung", "", "Störung", keywords.Success},
		{"decomposed Hangul", "", "", "실패", "백업 \u1109\u1175\u11af\u1111\u1162", keywords.Failure},
		{"a mark on the last letter before a blank", "", "cafe\u0301 ok", "", "caf\u00e9\tok", keywords.Success},
		{"bytes that are not UTF-8 stay", "", "done", "", "do\xa0ne \xff", keywords.None},
		{"case of the text", "", "done", "", "DONE", keywords.None},
		{"case of the keyword", "", "DONE", "", "done", keywords.None},
		{"within a word", "", "", "err", "terrible", keywords.Failure},
		{"the whole text", "", "done", "", "done", keywords.Success},
		{"longer than the text", "", "done", "", "don", keywords.None},
		{"only commas", ",", ",,,", " , ", "a, b", keywords.None},
		{"an item without a shape", "", "\u200b,\u00ad", "", "x", keywords.None},
		{"empty items", "", ",,done,,", ",", "x done, x", keywords.Success},
		{"across lines", "", "a\nb", "", "xa\nbx", keywords.Success},
		{"other scripts", "", "готово,完了", "ошибка", "バックアップ完了", keywords.Success},
		{"another letter", "", "\u00e9", "", "e\u0300", keywords.None},
		{"text that is not UTF-8", "", "done", "", "\xff\xfedone\x80", keywords.Success},
		{"NUL in the text", "", "done", "", "\x00done", keywords.Success},
		{"not a pattern", "", ".*", "", "abc", keywords.None},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := keywords.New(tt.start, tt.success, tt.failure)
			if diff := cmp.Diff(tt.want, f.Classify([]byte(tt.text))); diff != "" {
				t.Errorf("Classify(%q) (-want +got):\n%s", tt.text, diff)
			}
		})
	}
}

func TestZeroFilter(t *testing.T) {
	if got := (keywords.Filter{}).Classify([]byte("start ok error")); got != keywords.None {
		t.Errorf("the zero Filter found %v", got)
	}
}

// TestMaxHTTPBody shows what the limit means to a caller that cuts a body.
func TestMaxHTTPBody(t *testing.T) {
	f := keywords.New("", "", "error")
	for end, want := range map[int]keywords.Class{
		keywords.MaxHTTPBody:     keywords.Failure,
		keywords.MaxHTTPBody + 1: keywords.None,
	} {
		body := []byte(strings.Repeat(".", end-len("error")) + "error")
		if got := f.Classify(body[:keywords.MaxHTTPBody]); got != want {
			t.Errorf("a keyword that ends at %d: got %v, want %v", end, got, want)
		}
	}
}

func TestClassString(t *testing.T) {
	got := fmt.Sprint(keywords.None, keywords.Start, keywords.Success, keywords.Failure, keywords.Class(9))
	if diff := cmp.Diff("none start success failure Class(9)", got); diff != "" {
		t.Error(diff)
	}
}

// FuzzFilter compares a Filter with a second implementation of the rules.
func FuzzFilter(f *testing.F) {
	f.Add("", "", "", []byte(""))
	f.Add("begin", "done, ok", "error,fail", []byte("begin: done with an error"))
	f.Add(",", " , ", "\t", []byte(", \t"))
	f.Add("a", "\xff", "\x00", []byte("\xff\x00"))
	f.Fuzz(func(t *testing.T, start, success, failure string, text []byte) {
		fold := func(text string) string {
			text = strings.NewReplacer("\u00ad", "", "\u200b", "", "\u2060", "", "\ufeff", "").Replace(norm.NFC.String(text))
			return regexp.MustCompile(`[\s\v\x{85}\x{1680}\p{Z}]+`).ReplaceAllString(text, " ")
		}
		matches := func(list string) bool {
			for _, word := range strings.Split(list, ",") {
				word = strings.TrimSpace(fold(word))
				if len(word) > 0 && strings.Contains(fold(string(text)), word) {
					return true
				}
			}
			return false
		}
		want := keywords.None
		for _, rule := range []struct {
			list  string
			class keywords.Class
		}{{start, keywords.Start}, {success, keywords.Success}, {failure, keywords.Failure}} {
			if matches(rule.list) {
				want = rule.class
			}
		}
		before := bytes.Clone(text)
		filter := keywords.New(start, success, failure)
		if got := filter.Classify(text); got != want {
			t.Errorf("got %v, want %v", got, want)
		}
		if !bytes.Equal(before, text) {
			t.Error("Classify changed the text")
		}
	})
}

func ExampleFilter_Classify() {
	f := keywords.New("started", "completed, finished", "ERROR")
	fmt.Println(f.Classify([]byte("Backup started at 03:00")))
	fmt.Println(f.Classify([]byte("Backup finished in 12 s")))
	fmt.Println(f.Classify([]byte("Backup finished with an ERROR")))
	fmt.Println(f.Classify([]byte("all quiet")))
	// Output:
	// start
	// success
	// failure
	// none
}

func ExampleFilter_Classify_httpBody() {
	body := []byte(strings.Repeat("a line of a log\n", 1000) + "ERROR")
	f := keywords.New("", "", "ERROR")
	fmt.Println(f.Classify(body[:min(len(body), keywords.MaxHTTPBody)]))
	// Output: none
}

func BenchmarkClassify(b *testing.B) {
	body := []byte(strings.Repeat("a line of a log that goes on\n", 1000))[:keywords.MaxHTTPBody]
	for name, f := range map[string]keywords.Filter{
		"usual": keywords.New("starting", "completed,finished", "ERROR,FATAL"),
		"most":  keywords.New(strings.Repeat("lg,", 66), strings.Repeat("on!,", 50), strings.Repeat("at!,", 50)),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if f.Classify(body) != keywords.None {
					b.Fatal("a keyword was found")
				}
			}
		})
	}
}
