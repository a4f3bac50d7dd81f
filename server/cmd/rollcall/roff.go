package main

import (
	"fmt"
	"regexp"
	"strings"
)

// roff is the source of a man page, written with the macros of man(7). mandoc -Tlint finds hundreds of faults in a page of
// mango-kong.
type roff struct {
	strings.Builder
	headed bool // nothing follows the last heading yet, which is a paragraph break itself
}

// roffLine is the maximum length of a line of running text, in bytes.
const roffLine = 78

// macro writes a line of its own. The arguments are source, and quoted here.
func (r *roff) macro(name string, args ...string) {
	r.WriteString("." + name)
	for _, arg := range args {
		r.WriteString(` "` + strings.ReplaceAll(arg, `"`, `\(dq`) + `"`)
	}
	r.WriteString("\n")
}

// heading writes a heading of a section (SH) or a subsection (SS).
func (r *roff) heading(macro, title string) {
	r.macro(macro, escapeRoff(title))
	r.headed = true
}

// tagged writes a paragraph with a tag, which is source.
func (r *roff) tagged(tag, text string) {
	r.headed = false
	r.WriteString(".TP\n" + tag + "\n")
	r.text(text)
}

// paragraph writes a paragraph of plain text.
func (r *roff) paragraph(text string) {
	r.gap()
	r.text(text)
}

// gap separates a paragraph from what is before.
func (r *roff) gap() {
	if !r.headed {
		r.WriteString(".PP\n")
	}
	r.headed = false
}

// text writes running text. Flags become bold. Each sentence begins a line.
func (r *roff) text(text string) {
	var line string
	flush := func() {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			line = `\&` + line
		}
		if line != "" {
			r.WriteString(line + "\n")
		}
		line = ""
	}
	for word := range strings.FieldsSeq(text) {
		source := roffWord(word)
		if len(line)+1+len(source) > roffLine {
			flush()
		}
		if line != "" {
			line += " "
		}
		line += source
		if strings.HasSuffix(word, ".") {
			flush()
		}
	}
	flush()
}

// detail writes a help text: paragraphs between empty lines, and examples, which are indented.
func (r *roff) detail(text string) {
	if text == "" {
		return
	}
	for block := range strings.SplitSeq(strings.Trim(text, "\n"), "\n\n") {
		if !strings.HasPrefix(block, "    ") {
			r.paragraph(block)
			continue
		}
		r.gap()
		r.WriteString(".RS 4\n.EX\n")
		for line := range strings.SplitSeq(block, "\n") {
			line = escapeRoff(strings.TrimPrefix(line, "    "))
			if strings.HasPrefix(line, ".") || strings.HasPrefix(line, `\(aq`) {
				line = `\&` + line
			}
			r.WriteString(line + "\n")
		}
		r.WriteString(".EE\n.RE\n")
	}
}

var (
	flagWord  = regexp.MustCompile(`^(\W*?)(--?[a-z0-9][a-z0-9-]*)(.*)$`)
	plainWord = regexp.MustCompile(`^\W*\pL+(-\pL+)*\W*$`)
)

// roffWord returns the source of a word in running text.
func roffWord(word string) string {
	if parts := flagWord.FindStringSubmatch(word); parts != nil {
		return escapeRoff(parts[1]) + bold(parts[2]) + escapeRoff(parts[3])
	}
	source := escapeRoff(word)
	if plainWord.MatchString(word) { // a hyphen, and no minus sign
		return strings.ReplaceAll(source, `\-`, "-")
	}
	return source
}

func bold(text string) string   { return `\fB` + escapeRoff(text) + `\fR` }
func italic(text string) string { return `\fI` + escapeRoff(text) + `\fR` }

// escapeRoff returns the source of a text that is shown as it is, with ASCII quotes and hyphens that can be copied.
func escapeRoff(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch r {
		case '\\':
			b.WriteString(`\e`)
		case '-':
			b.WriteString(`\-`)
		case '\'':
			b.WriteString(`\(aq`)
		case '`':
			b.WriteString(`\(ga`)
		case '^':
			b.WriteString(`\(ha`)
		case '~':
			b.WriteString(`\(ti`)
		default:
			if r < 0x80 {
				b.WriteRune(r)
			} else {
				fmt.Fprintf(&b, `\[u%04X]`, r)
			}
		}
	}
	return b.String()
}
