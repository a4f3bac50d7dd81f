package email

import (
	"bytes"
	"encoding/base64"
	"strings"
)

// decodeTransfer undoes a transfer encoding. An unknown one is taken for none.
func decodeTransfer(encoding string, body []byte) []byte {
	encoding, _, _ = strings.Cut(encoding, ";")
	switch strings.ToLower(strings.Trim(encoding, " \t\"")) {
	case "base64":
		return decodeBase64Lines(body)
	case "quoted-printable":
		return decodeQuotedPrintable(body)
	}
	return body
}

// decodeBase64Lines decodes base64 in lines. A line with blanks in it cannot be base64: gateways append such lines to
// messages that they do not understand. It is kept as it is.
func decodeBase64Lines(body []byte) []byte {
	out := make([]byte, 0, base64.StdEncoding.DecodedLen(len(body)))
	encoded := make([]byte, 0, len(body))
	for len(body) > 0 {
		var line []byte
		line, body = cutLine(body)
		line = bytes.TrimSpace(line)
		if bytes.ContainsAny(line, " \t") {
			out = append(out, decodeBase64(encoded)...)
			encoded = encoded[:0]
			out = append(append(append(out, '\n'), line...), '\n')
			continue
		}
		encoded = append(encoded, line...)
	}
	return append(out, decodeBase64(encoded)...)
}

// decodeBase64 decodes base64, leaving out bytes that do not belong there (RFC 2045 section 6.8). It takes several
// encoded texts in a row, each with its padding, and a text that breaks off.
func decodeBase64(text []byte) []byte {
	out := make([]byte, 0, base64.StdEncoding.DecodedLen(len(text)))
	quantum := make([]byte, 0, 4)
	flush := func() {
		if len(quantum) > 1 {
			var b [3]byte
			n, _ := base64.RawStdEncoding.Decode(b[:], quantum) // only letters of the alphabet: it cannot fail
			out = append(out, b[:n]...)
		}
		quantum = quantum[:0]
	}
	for _, c := range text {
		switch {
		case 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '+' || c == '/':
			if quantum = append(quantum, c); len(quantum) == 4 {
				flush()
			}
		case c == '=':
			flush()
		}
	}
	flush()
	return out
}

// decodeQuotedPrintable decodes quoted-printable (RFC 2045 section 6.7). An equals sign that encodes nothing stays.
func decodeQuotedPrintable(body []byte) []byte {
	out := make([]byte, 0, len(body))
	for len(body) > 0 {
		line, rest := cutLine(body)
		ended := len(rest) > 0 || body[len(body)-1] == '\n'
		line = bytes.TrimRight(line, " \t") // added on the way
		if n := len(line); n > 0 && line[n-1] == '=' {
			line, ended = line[:n-1], false
		}
		for i := 0; i < len(line); i++ {
			if line[i] == '=' {
				if b, ok := hexByte(line[i+1:]); ok {
					out = append(out, b)
					i += 2
					continue
				}
			}
			out = append(out, line[i])
		}
		if ended {
			out = append(out, '\n')
		}
		body = rest
	}
	return out
}

// hexByte reads two hexadecimal digits at the start of a text.
func hexByte[T string | []byte](text T) (b byte, ok bool) {
	if len(text) < 2 {
		return 0, false
	}
	for _, c := range []byte{text[0], text[1]} {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		b = b<<4 | c
	}
	return b, true
}
