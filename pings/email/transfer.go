package email

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// decodeTransfer decodes a transfer encoding. It returns the body unchanged if the encoding is unknown.
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

// decodeBase64Lines decodes lines of base64. It keeps lines of words unchanged: they are not base64, but text that gateways
// append to messages that they do not understand.
func decodeBase64Lines(body []byte) []byte {
	out := make([]byte, 0, base64.StdEncoding.DecodedLen(len(body)))
	encoded := make([]byte, 0, len(body))
	for len(body) > 0 {
		var line []byte
		line, body = cutLine(body)
		line = bytes.TrimSpace(line)
		if bytes.ContainsAny(line, " \t") && !isBase64(line) {
			out = append(out, decodeBase64(encoded)...)
			encoded = encoded[:0]
			out = append(append(append(out, '\n'), line...), '\n')
			continue
		}
		encoded = append(encoded, line...)
	}
	return append(out, decodeBase64(encoded)...)
}

// isBase64 reports whether a line with blanks is base64 that they got into. It has nothing else but letters of the alphabet,
// and either pieces longer than words, or text in it.
func isBase64(line []byte) bool {
	const longestWord = 24
	pieces := bytes.Fields(line)
	joined := bytes.Join(pieces, nil)
	if bytes.ContainsFunc(joined, func(r rune) bool { return r != '=' && !inBase64(byte(r)) || r > unicode.MaxASCII }) {
		return false
	}
	for _, piece := range pieces {
		if len(piece) > longestWord {
			return true
		}
	}
	decoded := decodeBase64(joined)
	return utf8.Valid(decoded) && !bytes.ContainsFunc(decoded, func(r rune) bool { return unicode.IsControl(r) && !unicode.IsSpace(r) })
}

// decodeBase64 decodes base64 and skips other bytes (RFC 2045 section 6.8). It accepts concatenated texts, each with
// its padding, and an incomplete end.
func decodeBase64(text []byte) []byte {
	out := make([]byte, 0, base64.StdEncoding.DecodedLen(len(text)))
	quantum := make([]byte, 0, 4)
	flush := func() {
		if len(quantum) > 1 {
			var b [3]byte
			n, _ := base64.RawStdEncoding.Decode(b[:], quantum) // cannot fail: only letters of the alphabet
			out = append(out, b[:n]...)
		}
		quantum = quantum[:0]
	}
	for _, c := range text {
		switch {
		case inBase64(c):
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

// inBase64 reports whether c is in the alphabet of base64.
func inBase64(c byte) bool {
	return 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '+' || c == '/'
}

// decodeQuotedPrintable decodes quoted-printable (RFC 2045 section 6.7). It keeps an equals sign without two
// hexadecimal digits.
func decodeQuotedPrintable(body []byte) []byte {
	out := make([]byte, 0, len(body))
	for len(body) > 0 {
		line, rest := cutLine(body)
		ended := len(rest) > 0 || body[len(body)-1] == '\n'
		line = bytes.TrimRight(line, " \t") // added in transit
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

// hexByte parses two hexadecimal digits at the start of a text.
func hexByte[T string | []byte](text T) (b byte, ok bool) {
	if len(text) < 2 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[:2]), 16, 8)
	return byte(n), err == nil
}
