package people

import (
	"fmt"
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"

	"github.com/rollcall-dev/rollcall/checks"
)

// maxName bounds a name in characters.
const maxName = 100

// foldEmail returns the form in which addresses are compared. An address with a disguised character stays as it is and so equals
// nobody's: at a mail server, it may belong to somebody else.
func foldEmail(text string) string {
	if text = strings.TrimSpace(text); !utf8.ValidString(text) || strings.ContainsFunc(text, disguised) {
		return text
	}
	return norm.NFC.String(strings.ToLower(text))
}

// disguised reports whether a character turns into ASCII in lower case or by compatibility, as the Kelvin sign turns into k.
func disguised(r rune) bool {
	return r >= utf8.RuneSelf && norm.NFKC.String(string(unicode.ToLower(r)))[0] < utf8.RuneSelf
}

// normalEmail returns an address as it is stored.
func normalEmail(text string) (string, error) {
	text = foldEmail(text)
	parsed, err := mail.ParseAddress(text)
	odd := func(r rune) bool { return hidden(r) || disguised(r) || r == utf8.RuneError || fullStop(r) }
	if err != nil || parsed.Address != text || len(text) > 254 || strings.ContainsFunc(text, odd) {
		return "", &checks.FieldError{Field: "e-mail", Reason: "is not an address such as ann@example.org"}
	}
	return text, nil
}

// fullStop reports whether a character stands for the dot of a domain, as the ideographic full stop does.
func fullStop(r rune) bool { return norm.NFKC.String(string(r)) == "\u3002" }

// claimedEmail returns an address that nobody has verified as it is stored: its domain in Punycode, so that it does not look like
// another one. Before the @ there is no such form, so that part must be ASCII.
func claimedEmail(text string) (string, error) {
	email, err := normalEmail(text)
	if err != nil {
		return "", err
	}
	local, domain := email[:strings.LastIndexByte(email, '@')], email[strings.LastIndexByte(email, '@')+1:]
	if strings.ContainsFunc(local, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return "", &checks.FieldError{Field: "e-mail", Reason: "is not verified, and has characters before the @ that are not ASCII"}
	}
	if domain, err = idna.Punycode.ToASCII(domain); err != nil {
		return "", &checks.FieldError{Field: "e-mail", Reason: "has a domain that is none", Err: err}
	}
	return normalEmail(local + "@" + domain)
}

// normalName returns a name that somebody has typed as it is stored.
func normalName(text string) (string, error) {
	text = norm.NFC.String(strings.TrimSpace(text))
	if utf8.RuneCountInString(text) > maxName {
		return "", &checks.FieldError{Field: "name", Reason: fmt.Sprintf("is too long: the maximum is %d characters", maxName)}
	}
	if text != cleanName(text) {
		return "", &checks.FieldError{Field: "name", Reason: "contains invisible characters"}
	}
	return text, nil
}

// cleanName returns a name that a provider sends as it is stored: without invisible characters, and cut.
func cleanName(text string) string {
	runes := []rune(norm.NFC.String(strings.ToValidUTF8(text, "")))
	joins := func(i int) bool {
		return i >= 0 && i < len(runes) && runes[i] >= utf8.RuneSelf && !hidden(runes[i]) && !unicode.IsSpace(runes[i])
	}
	var clean []rune
	for i, r := range runes {
		switch {
		case r == '\u200c' || r == '\u200d': // of Persian and Hindi names, and of families
			if !joins(i-1) || !joins(i+1) {
				continue
			}
		case unicode.IsControl(r) && unicode.IsSpace(r):
			r = ' '
		case hidden(r):
			continue
		}
		clean = append(clean, r)
	}
	name := strings.TrimSpace(string(clean))
	if utf8.RuneCountInString(name) > maxName {
		name = strings.TrimRight(string([]rune(name)[:maxName]), " \u200c\u200d")
	}
	return name
}

// hidden reports whether a character is invisible, such as one that reverses text.
func hidden(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }
