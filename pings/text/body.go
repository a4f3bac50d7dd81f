package text

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/rollcall-dev/rollcall/pings"
)

const (
	// maxInflated bounds the text of a compressed body, in bytes.
	maxInflated = 1 << 20
	// examined is how many bytes of a text tell whether people can read it.
	examined = 4096
)

// Charset returns the character set of a body: the one of its byte order mark, or else the one with this name. It is "" for none
// that is known. Other than in the name, the byte order of UTF-16 is in it.
func Charset(name string, body []byte) string {
	switch {
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		return "utf-8"
	case bytes.HasPrefix(body, []byte("\xff\xfe\x00\x00")):
		return "utf-32le"
	case bytes.HasPrefix(body, []byte("\x00\x00\xfe\xff")):
		return "utf-32be"
	case bytes.HasPrefix(body, []byte("\xff\xfe")):
		return "utf-16le"
	case bytes.HasPrefix(body, []byte("\xfe\xff")):
		return "utf-16be"
	case !Known(name):
		return ""
	case unit(name) > 1 && !strings.HasSuffix(strings.ToLower(name), "e"):
		if len(body) > 0 && body[0] == 0 {
			return strings.ToLower(name) + "be"
		}
		return strings.ToLower(name) + "le"
	}
	return name
}

// unit returns how many bytes the characters of a character set are a multiple of.
func unit(charset string) int {
	switch key := squeeze(strings.ToLower(charset)); {
	case strings.HasPrefix(key, "utf16"):
		return 2
	case strings.HasPrefix(key, "utf32"):
		return 4
	}
	return 1
}

// Gunzip returns the first bytes of what gzip has compressed, at most limit, or nil if that is not what the body is.
func Gunzip(body []byte, limit int64) []byte {
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil
	}
	inflated, _ := io.ReadAll(io.LimitReader(r, limit)) // what was cut off ends with an error
	return inflated
}

// Read returns the text of bytes in a character set, or of what gzip has compressed to them. ok is false if people cannot read
// them, because too many of the first ones are control characters.
func Read(charset string, body []byte) (text string, ok bool) {
	if inflated := Gunzip(body, maxInflated); inflated != nil {
		body = inflated
	}
	charset = Charset(charset, body)
	text = Decode(charset, body)
	head := First(text, examined)
	controls, invalid := 0, 0
	for _, c := range string(head) {
		if c < ' ' && !strings.ContainsRune("\a\b\t\n\v\f\r\x1b", c) || c == 0x7f || c == utf8.RuneError {
			controls++
		}
	}
	if charset == "" {
		invalid = len(body[:min(len(body), examined)]) - len(bytes.ToValidUTF8(body[:min(len(body), examined)], nil))
	}
	// Of random bytes, a tenth are control characters, and half are invalid.
	return text, controls*10 <= len(head) && (controls*30 <= len(head) || invalid*5 <= len(head))
}

// Ends returns the text of a ping's body: its beginning, and its end after the bytes that were left out, if any were. If p.Body
// is only the end of the stored body, head is what that has before them. ok is false if people cannot read it.
func Ends(p pings.Ping) (head, tail string, ok bool) {
	return fragment(p, p.Body, max(0, p.BodySize-int64(len(p.Body))))
}

// Parts returns the text of the beginning of a ping's body, which is in p.Body, and that of its end, which may overlap. ok is
// false if people cannot read the beginning.
func Parts(p pings.Ping, end []byte) (head, tail string, ok bool) {
	if p.BodySize <= int64(len(p.Body)) {
		if head, tail, ok = fragment(p, p.Body, 0); p.BodyCut == 0 {
			tail = head
		}
		return head, tail, ok
	}
	head, _, ok = fragment(p, p.Body, 0)
	before, after, readable := fragment(p, end, p.BodySize-int64(len(end)))
	switch {
	case !readable: // such as the end of what gzip has compressed
	case p.BodyCut > 0:
		tail = after
	default:
		tail = before
	}
	return head, tail, ok
}

// fragment returns the text of a part of a body that begins at an offset: what stands before the bytes that were left out, and
// what stands after them.
func fragment(p pings.Ping, part []byte, offset int64) (before, after string, ok bool) {
	size := max(p.BodySize, int64(len(part)))
	more := offset+int64(len(part)) < size
	if p.BodyCut == 0 {
		before, ok = Read(p.BodyCharset, whole(p.BodyCharset, part, offset, more))
		return before, "", ok
	}
	head := max(0, min(pings.Head(size, p.BodyCut)-offset, int64(len(part))))
	before, ok = Read(p.BodyCharset, whole(p.BodyCharset, part[:head], offset, true))
	after, readable := Read(p.BodyCharset, whole(p.BodyCharset, part[head:], offset+head+p.BodyCut, more))
	if !readable { // such as the end of what gzip has compressed
		after = ""
	}
	return before, after, ok && (readable || before != "")
}

// whole removes what is left of cut characters: from the start of a part of a body that begins at an offset, and from its end if
// more of the body follows.
func whole(charset string, part []byte, offset int64, more bool) []byte {
	if n := int64(unit(charset)); n > 1 {
		part = part[min(int64(len(part)), (n-offset%n)%n):]
		return part[:int64(len(part))-int64(len(part))%n]
	}
	if offset > 0 {
		for i := 0; i < min(utf8.UTFMax-1, len(part)); i++ {
			if utf8.RuneStart(part[i]) {
				part = part[i:]
				break
			}
		}
	}
	if !more {
		return part
	}
	for i := 1; i < utf8.UTFMax && i <= len(part); i++ {
		if c := part[len(part)-i]; utf8.RuneStart(c) {
			if c >= 0xc0 && !utf8.FullRune(part[len(part)-i:]) {
				part = part[:len(part)-i]
			}
			break
		}
	}
	return part
}

// Lines returns the whole lines of a ping's body, without those that were cut, or "" if people cannot read it.
func Lines(p pings.Ping) string {
	head, tail, ok := Ends(p)
	if !ok {
		return ""
	}
	if p.BodySize > int64(len(p.Body)) {
		head = Uncut("", head)
	}
	if p.BodyCut > 0 {
		return Uncut(head, tail)
	}
	return head
}

// Uncut returns the whole lines of the beginning and of the end of a text, whose middle is missing.
func Uncut(head, tail string) string {
	_, tail, _ = strings.Cut(tail, "\n")
	return head[:strings.LastIndexByte(head, '\n')+1] + tail
}

// First returns at most limit bytes of the start of a text, in whole characters.
func First(text string, limit int) []byte {
	if len(text) <= limit {
		return []byte(text)
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return []byte(text[:limit])
}

// Last returns at most limit bytes of the end of a text, in whole characters.
func Last(text string, limit int) []byte {
	from := max(0, len(text)-limit)
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return []byte(text[from:])
}
