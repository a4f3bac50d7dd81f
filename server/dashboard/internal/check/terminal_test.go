package check

import (
	"strings"
	"testing"

	"golang.org/x/net/html"
)

func TestTerminal(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"plain <b>&", "plain &lt;b&gt;&amp;"},
		{"\x1b[31mred\x1b[0m rest", `<span class="f1">red</span> rest`},
		{"\x1b[1;92;41mx\x1b[my", `<span class="f10 k1 bold">x</span>y`},
		{"\x1b[38;5;196mx", `<span class="f9">x</span>`},
		{"\x1b[38;2;0;200;0mx", `<span class="f10">x</span>`},
		{"\x1b[48;5;3;4mx", `<span class="k3 underline">x</span>`},
		{"\x1b[1mbold\x1b[22m\x1b[39mnot", `<span class="bold">bold</span>not`},
		{"\x1b]0;title\x07after", "after"},
		{"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"},
		{"\x1b[2J\x1b[1;1Hcleared", "cleared"},
		{"10%\r20%\r\ndone", "10%\n20%\ndone"},
		{"nul\x00 bell\x07", "nul␀ bell␇"},
		{"\u202eevil", "\ufffdevil"},
		{"\xff", "\ufffd"},
		{"\x1b", ""}, {"\x1b[", ""}, {"\x1b[31", ""}, {"\x1b[31\nx", "\nx"}, {"\x1b]unended", "unended"}, {"\x1b[;;;mx", "x"}, {"\x1b[38mx", "x"},
		{"\x1b[38;5mx", `<span class="f0">x</span>`},
		{"\x1b[31m<script>\x1b[0m", `<span class="f1">&lt;script&gt;</span>`},
	} {
		if got := string(terminal(test.in)); got != test.want {
			t.Errorf("%q: got %q, want %q", test.in, got, test.want)
		}
	}
}

// FuzzTerminal looks for markup other than spans with classes.
func FuzzTerminal(f *testing.F) {
	for _, seed := range []string{"\x1b[31mred\x1b[0m", "\x1b]0;x\x07", "<script>", "\x1b[38;5;196;1mx", "\x1b[38;2;1;2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tokens := html.NewTokenizer(strings.NewReader(string(terminal(text))))
		depth := 0
		for {
			switch tokens.Next() {
			case html.ErrorToken:
				if depth != 0 {
					t.Fatalf("%d spans stay open", depth)
				}
				return
			case html.StartTagToken:
				token := tokens.Token()
				if token.Data != "span" || len(token.Attr) != 1 || token.Attr[0].Key != "class" {
					t.Fatalf("tag %s", token)
				}
				depth++
			case html.EndTagToken:
				depth--
			case html.CommentToken, html.DoctypeToken, html.SelfClosingTagToken:
				t.Fatal("markup")
			}
		}
	})
}
