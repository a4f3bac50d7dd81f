package twilio

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSegments(t *testing.T) {
	tests := []struct {
		name, text string
		want       int
	}{
		{"empty", "", 1},
		{"one", strings.Repeat("a", 160), 1},
		{"two", strings.Repeat("a", 161), 2},
		{"two full", strings.Repeat("a", 306), 2},
		{"three", strings.Repeat("a", 307), 3},
		{"three full", strings.Repeat("a", 459), 3},
		{"four", strings.Repeat("a", 460), 4},
		{"extension counts twice", strings.Repeat("€", 80), 1},
		{"extension counts twice, two", strings.Repeat("€", 81), 2},
		{"extension does not span segments", strings.Repeat("a", 152) + "€" + strings.Repeat("a", 152), 3},
		{"other alphabets", strings.Repeat("ž", 70), 1},
		{"other alphabets, two", strings.Repeat("ž", 71), 2},
		{"other alphabets, two full", strings.Repeat("ž", 134), 2},
		{"other alphabets, three", strings.Repeat("ž", 135), 3},
		{"one other character", strings.Repeat("a", 70) + "ž", 2},
		{"pairs", strings.Repeat("😀", 35), 1},
		{"pairs, two", strings.Repeat("😀", 36), 2},
		{"pairs do not span segments", strings.Repeat("😀", 66), 2},
		{"pairs do not span segments, three", strings.Repeat("😀", 67), 3},
	}
	for _, tt := range tests {
		if got := segments(tt.text); got != tt.want {
			t.Errorf("%s: %d segments, want %d", tt.name, got, tt.want)
		}
	}
}

func FuzzFit(f *testing.F) {
	f.Add(strings.Repeat("a", 500))
	f.Add(strings.Repeat("ž", 300))
	f.Add(strings.Repeat("€😀", 200))
	f.Add("\xff")
	f.Fuzz(func(t *testing.T, text string) {
		got := fit(text)
		if n := segments(got); n > maxSegments {
			t.Errorf("%d segments", n)
		}
		if !utf8.ValidString(got) {
			t.Errorf("%q is not valid", got)
		}
		if segments(text) <= maxSegments && utf8.ValidString(text) && got != text {
			t.Errorf("%q became %q", text, got)
		}
	})
}
