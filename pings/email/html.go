package email

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/rollcall-dev/rollcall/pings/text"
)

// htmlText returns the text that a reader of an HTML document sees. It uses the tokenizer, whose time is linear in the
// length of the document; the parser's is not.
func htmlText(document string) string {
	var t textWriter
	z := html.NewTokenizer(strings.NewReader(document))
	for {
		switch z.Next() {
		case html.ErrorToken: // the end
			return t.out.String()
		case html.TextToken:
			if t.hidden == 0 {
				t.text(string(z.Text()))
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			name, _ := z.TagName()
			tag := atom.Lookup(name)
			t.start(tag)
			switch tag {
			case atom.Noscript, atom.Noframes, atom.Noembed: // mail programs show their content
				z.NextIsNotRawText()
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			t.end(atom.Lookup(name))
		}
	}
}

// maxMeta is how many bytes of a document are searched for its character set.
const maxMeta = 8 << 10

// htmlCharset returns the character set of a document: the declared one or, if that says nothing, the one that the document
// names. It knows more names than charset.DetermineEncoding of golang.org/x/net/html.
func htmlCharset(declared string, document []byte) string {
	const beyondASCII = "é"
	valid := utf8.Valid(document)
	if valid && bytes.ContainsFunc(document, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return declared
	}
	// That of a document which is not valid UTF-8 is not UTF-8, and has more than ASCII.
	if text.Known(declared) && (valid || text.Decode(declared, []byte(beyondASCII)) != beyondASCII) {
		return declared
	}
	z := html.NewTokenizer(bytes.NewReader(document[:min(len(document), maxMeta)]))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return declared
		case html.CommentToken: // so the tokenizer takes an XML declaration
			if _, name, found := bytes.Cut(z.Text(), []byte("encoding=")); found && len(name) > 2 {
				name, _, _ = bytes.Cut(name[1:], name[:1])
				if text.Known(string(name)) {
					return string(name)
				}
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			token := z.Token()
			if token.DataAtom == atom.Body {
				return declared
			}
			if name := metaCharset(token); name != "" {
				return name
			}
		}
	}
}

// metaCharset returns the character set that an element meta names, if it is known and can be that of a document whose tags
// are ASCII.
func metaCharset(token html.Token) string {
	if token.DataAtom != atom.Meta {
		return ""
	}
	for _, a := range token.Attr {
		name := a.Val
		switch a.Key {
		case "charset":
		case "content":
			name = parseMediaType(name).params["charset"]
		default:
			continue
		}
		if text.Known(name) && !strings.HasPrefix(strings.ToLower(name), "utf-16") && !strings.HasPrefix(strings.ToLower(name), "utf-32") {
			return name
		}
	}
	return ""
}

// textWriter writes text as a browser lays it out.
type textWriter struct {
	out    strings.Builder
	hidden atom.Atom // the open element that is not shown, or 0
	pre    int       // open elements in which white space counts
	gap    byte      // separator before the next text: ' ', '\n' or 0 for none
}

func (t *textWriter) start(tag atom.Atom) {
	switch tag {
	case atom.Script, atom.Style, atom.Title, atom.Template, atom.Iframe:
		if t.hidden == 0 {
			t.hidden = tag
		}
	case atom.Pre, atom.Textarea, atom.Xmp, atom.Listing, atom.Plaintext:
		t.pre++
	}
	t.separate(tag)
}

func (t *textWriter) end(tag atom.Atom) {
	switch tag {
	case t.hidden:
		t.hidden = 0
	case atom.Pre, atom.Textarea, atom.Xmp, atom.Listing:
		t.pre = max(t.pre-1, 0)
	}
	t.separate(tag)
}

// separate sets the gap that the start or the end of an element makes.
func (t *textWriter) separate(tag atom.Atom) {
	switch tag {
	case atom.Td, atom.Th, atom.Img, atom.Input, atom.Button, atom.Select:
		if t.gap == 0 {
			t.gap = ' '
		}
	case atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Body, atom.Br, atom.Caption, atom.Center,
		atom.Dd, atom.Details, atom.Div, atom.Dl, atom.Dt, atom.Fieldset, atom.Figcaption, atom.Figure, atom.Footer,
		atom.Form, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Head, atom.Header, atom.Hr, atom.Html,
		atom.Legend, atom.Li, atom.Listing, atom.Main, atom.Menu, atom.Nav, atom.Ol, atom.Option, atom.P, atom.Plaintext,
		atom.Pre, atom.Section, atom.Summary, atom.Table, atom.Tbody, atom.Textarea, atom.Tfoot, atom.Thead, atom.Title,
		atom.Tr, atom.Ul, atom.Xmp:
		t.gap = '\n'
	}
}

func (t *textWriter) text(text string) {
	for _, r := range text {
		switch {
		case r == '\u00AD' || r == '\u200B' || r == '\uFEFF': // invisible line break opportunities
		case t.pre > 0:
			t.put(r)
		case unicode.IsSpace(r):
			if t.gap == 0 {
				t.gap = ' '
			}
		default:
			t.put(r)
		}
	}
}

func (t *textWriter) put(r rune) {
	if t.gap != 0 && t.out.Len() > 0 {
		t.out.WriteByte(t.gap)
	}
	t.gap = 0
	t.out.WriteRune(r)
}
