package badges

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// picture is the part of an SVG document that the tests read.
type picture struct {
	XMLName xml.Name `xml:"http://www.w3.org/2000/svg svg"`
	Width   int      `xml:"width,attr"`
	Height  int      `xml:"height,attr"`
	Role    string   `xml:"role,attr"`
	Name    string   `xml:"aria-label,attr"`
	Title   string   `xml:"title"`
	Texts   []struct {
		X      float64 `xml:"x,attr"`
		Length float64 `xml:"textLength,attr"`
		Text   string  `xml:",chardata"`
	} `xml:"g>text"`
}

// parse reads a document and fails the test unless it is well-formed.
func parse(t *testing.T, document []byte) picture {
	t.Helper()
	var p picture
	decoder := xml.NewDecoder(strings.NewReader(string(document)))
	if err := decoder.Decode(&p); err != nil {
		t.Fatalf("%v in %s", err, document)
	}
	if _, err := decoder.Token(); err != io.EOF {
		t.Fatalf("data after the root element: %v in %s", err, document)
	}
	return p
}

// texts returns the texts without their shadows.
func (p picture) texts() []string {
	var list []string
	for i := 1; i < len(p.Texts); i += 2 {
		list = append(list, p.Texts[i].Text)
	}
	return list
}

func TestSVGDocLabels(t *testing.T) {
	tests := []struct{ name, label, want string }{
		{"plain", "backup", "backup"},
		{"markup", `<script>"'&amp;]]>`, `<script>"'&amp;]]>`},
		{"a closing tag", "</title></svg>", "</title></svg>"},
		{"white space", " \t a \n\r b\u3000c ", "a b c"},
		{"control characters", "a\x00b\x1bc\x7fd\u0086e", "a\ufffdb\ufffdc\ufffdd\ufffde"},
		{"not UTF-8", "a\xff\xc3b", "a\ufffd\ufffdb"},
		{"no characters for XML", "a\ufffe\uffffb", "a\ufffd\ufffdb"},
		{"wide", "日本語", "日本語"},
		{"emoji", "🚀👩‍👩‍👧", "🚀👩‍👩‍👧"},
		{"right to left", "قاعدة", "قاعدة"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := parse(t, RenderSVG(tt.label, Down))
			got := []string{p.Role, p.Name, p.Title, strings.Join(p.texts(), "|")}
			name := tt.want + ": down"
			if diff := cmp.Diff([]string{"img", name, name, tt.want + "|down"}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSVGDocWithoutLabel(t *testing.T) {
	for _, label := range []string{"", " \t\n"} {
		p := parse(t, RenderSVG(label, Up))
		if diff := cmp.Diff([]string{"up", "up", "up"}, append(p.texts(), p.Name, p.Title)); diff != "" {
			t.Error(diff)
		}
	}
}

// TestSVGDocStates checks that each state has its own word and color.
func TestSVGDocStates(t *testing.T) {
	for _, s := range []State{Up, Late, Down, "odd<"} {
		document := RenderSVG("x", s)
		p := parse(t, document)
		if diff := cmp.Diff([]string{"x", string(s)}, p.texts()); diff != "" {
			t.Error(diff)
		}
		for _, other := range []State{Up, Late, Down, "odd<"} {
			if got := strings.Contains(string(document), color(other)); got != (s == other) {
				t.Errorf("%s has the color of %s: %v", s, other, got)
			}
		}
	}
}

// TestColors computes the contrast of white text as WCAG 2 defines it.
func TestColors(t *testing.T) {
	for _, background := range []string{labelColor, color(Up), color(Late), color(Down), color("odd")} {
		rgb, err := strconv.ParseUint(background[1:], 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		luminance := 0.0
		for i, weight := range []float64{0.0722, 0.7152, 0.2126} {
			c := float64(rgb>>(8*i)&255) / 255
			if c <= 0.03928 {
				c /= 12.92
			} else {
				c = math.Pow((c+0.055)/1.055, 2.4)
			}
			luminance += weight * c
		}
		if contrast := 1.05 / (luminance + 0.05); contrast < 4.5 {
			t.Errorf("white on %s has the contrast %.2f", background, contrast)
		}
	}
}

func TestTextWidth(t *testing.T) {
	tests := []struct {
		name, text  string
		least, most int // tenths of a pixel
	}{
		{"empty", "", 0, 0},
		{"narrow", "iiii", 110, 130},
		{"broad", "WWWW", 400, 450},
		{"word", "backup", 380, 410},
		{"digits", "0123456789", 680, 710},
		{"accents", "éèü", 190, 220},
		{"combined accents", "e\u0301e\u0300u\u0308", 190, 220},
		{"capitals", "ŽŪ", 140, 170},
		{"Chinese", "日本語", 330, 330},
		{"kana", "タグ", 220, 220},
		{"half-width kana", "ﾀｸﾞ", 180, 220},
		{"full-width letters", "ＡＢ", 220, 220},
		{"Korean", "한국어", 330, 330},
		{"Korean in parts", "\u1112\u1161\u11ab", 110, 110},
		{"emoji", "🚀", 130, 140},
		{"skin tone", "👍🏽", 130, 140},
		{"family", "👩‍👩‍👧", 130, 140},
		{"flag", "🇱🇻", 120, 150},
		{"flag of a region", "🏴\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F", 130, 140},
		{"heart as emoji", "❤\ufe0f", 130, 140},
		{"keycap", "1\ufe0f\u20e3", 130, 140},
		{"Arabic", "قاعدة", 250, 400},
		{"Thai with marks", "ที่", 60, 80},
		{"nothing but a mark", "\u0301", 60, 80},
		{"nothing to see", "\u200b\u200d", 60, 80},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := textWidth(tt.text); got < tt.least || got > tt.most {
				t.Errorf("textWidth(%q) = %d, want %d to %d", tt.text, got, tt.least, tt.most)
			}
		})
	}
}

// FuzzSVGDoc checks that every document is well-formed and that its texts are inside and do not overlap.
func FuzzSVGDoc(f *testing.F) {
	for _, label := range []string{"", "backup", "<&\"'>]]>", "\x00\xff\ufffe", "日本 🚀👩‍👩‍👧", "e\u0301", "\u202eabc", "\u0301"} {
		f.Add(label, "up")
	}
	f.Fuzz(func(t *testing.T, label, state string) {
		document := RenderSVG(label, State(state))
		if !utf8.Valid(document) {
			t.Fatalf("not UTF-8: %q", document)
		}
		p := parse(t, document)
		if p.Height != 20 || p.Name != p.Title {
			t.Errorf("height %d, name %q, title %q", p.Height, p.Name, p.Title)
		}
		end := 0.0
		for i := 1; i < len(p.Texts); i += 2 {
			text := p.Texts[i]
			if text.Length <= 0 || text.X-text.Length/2 < end+4 {
				t.Errorf("the text %q begins too early", text.Text)
			}
			end = text.X + text.Length/2
		}
		if end+4 > float64(p.Width) {
			t.Errorf("the texts end at %.1f of %d pixels", end, p.Width)
		}
	})
}

func BenchmarkSVGDoc(b *testing.B) {
	for _, label := range []string{"backup", "日本語 🚀👩‍👩‍👧", strings.Repeat("a long tag ", 45)} {
		b.Run(fmt.Sprint(len(label)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				RenderSVG(label, Up)
			}
		})
	}
}
