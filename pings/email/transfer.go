package email

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"strings"
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

// decodeBase64Lines decodes lines of base64. It keeps lines with spaces unchanged: they are not base64, but text that
// gateways append to messages that they do not understand.
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
