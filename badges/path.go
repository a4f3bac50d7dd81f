package badges

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// AllTags stands in the place of a tag for all checks of a project: API-V3.md
// section 2.5. A tag of that very text cannot have a badge of its own.
const AllTags = "*"

// MinSecret is the least length of the secret of a [Signer], in bytes.
const MinSecret = 16

// signatureBytes is how much of the HMAC is in an address. 128 bits cannot be
// guessed, and leave an address short.
const signatureBytes = 16

const (
	tagPrefix   = "/badge/"
	checkPrefix = "/b/"
	twoStates   = "-2" // after a signature
)

// ErrNotFound means that a path is not the address of a badge, or that its
// signature is wrong. The two are not told apart.
var ErrNotFound = errors.New("badges: not found")

// A Ref is what the address of a badge stands for.
type Ref struct {
	// BadgeKey names the project.
	BadgeKey string
	// Tag picks the checks that carry it, or is [AllTags].
	Tag string
	// Format is the kind of document.
	Format Format
	// Late is true for a badge of three states, false for one of two.
	Late bool
}

// A Signer makes and verifies the signed addresses of the badges of tags. A
// signature is an HMAC-SHA256, cut to 128 bits, over badge key and tag; all
// formats of a badge, with two and three states, have the same. Signers are
// made by [NewSigner].
type Signer struct {
	secret []byte
}

// NewSigner makes a Signer. The secret must have at least [MinSecret] bytes, and
// should be random. Who knows it can make the address of every badge; when it
// changes, all addresses made before stop working.
func NewSigner(secret []byte) (Signer, error) {
	if len(secret) < MinSecret {
		return Signer{}, fmt.Errorf("badges: the secret is too short: %d bytes, the minimum is %d", len(secret), MinSecret)
	}
	return Signer{secret: slices.Clone(secret)}, nil
}

// String returns a text without the secret, so that a Signer can be printed.
func (s Signer) String() string { return "badges.Signer" }

// GoString returns the text of [Signer.String], for the verb %#v.
func (s Signer) GoString() string { return s.String() }

// Path returns the address of the badge of a tag, below the base URL and
// escaped as in a URL:
//
//	/badge/<badge_key>/<signature>[-2]/<tag>.<format>
//	/badge/<badge_key>/<signature>[-2].<format>
//
// The second form is for [AllTags]; "-2" is there when late is false, for a
// badge of two states. A tag may be any text, of any bytes, except the empty
// one. The badge key must be neither empty nor "." nor "..", and the format must
// be valid: the path would otherwise not be understood by [Signer.Parse].
//
// Path panics if the Signer is the zero value, whose signatures anyone could forge.
func (s Signer) Path(badgeKey, tag string, f Format, late bool) string {
	if s.secret == nil {
		panic("badges: Signer.Path: the Signer was not made by NewSigner")
	}
	var b strings.Builder
	b.WriteString(tagPrefix)
	escape(&b, badgeKey)
	b.WriteByte('/')
	b.WriteString(s.sign(badgeKey, tag))
	if !late {
		b.WriteString(twoStates)
	}
	if tag != AllTags {
		b.WriteByte('/')
		escape(&b, tag)
	}
	b.WriteByte('.')
	b.WriteString(string(f))
	return b.String()
}

// Parse reads a path that [Signer.Path] made, and verifies its signature in
// constant time. It takes the path as it stands in the URL, still escaped: the
// result of [net/url.URL.EscapedPath]. Any path that is not right gives
// [ErrNotFound].
//
// Badge key and tag may also be escaped in other ways that mean the same, and
// the slashes of a tag may be not escaped at all, because some proxies rewrite
// addresses so.
func (s Signer) Parse(escapedPath string) (Ref, error) {
	rest, found := strings.CutPrefix(escapedPath, tagPrefix)
	if !found || s.secret == nil {
		return Ref{}, ErrNotFound
	}
	rest, f, found := cutFormat(rest)
	if !found {
		return Ref{}, ErrNotFound
	}
	escapedKey, rest, _ := strings.Cut(rest, "/")
	signature, escapedTag, tagged := strings.Cut(rest, "/")
	signature, two := strings.CutSuffix(signature, twoStates)
	key, keyErr := url.PathUnescape(escapedKey)
	tag, tagErr := url.PathUnescape(escapedTag)
	if keyErr != nil || tagErr != nil || key == "" || tagged && (tag == "" || tag == AllTags) {
		return Ref{}, ErrNotFound
	}
	if !tagged {
		tag = AllTags
	}
	if !hmac.Equal([]byte(signature), []byte(s.sign(key, tag))) {
		return Ref{}, ErrNotFound
	}
	return Ref{BadgeKey: key, Tag: tag, Format: f, Late: !two}, nil
}

// sign returns the signature of a badge in lower-case hexadecimal digits. The
// lengths keep apart what badge key and tag are, and the first word keeps these
// signatures apart from any other use of the secret.
func (s Signer) sign(badgeKey, tag string) string {
	input := []byte("rollcall badge 1\x00")
	for _, part := range []string{badgeKey, tag} {
		input = binary.BigEndian.AppendUint64(input, uint64(len(part)))
		input = append(input, part...)
	}
	mac := hmac.New(sha256.New, s.secret)
	mac.Write(input)
	return hex.EncodeToString(mac.Sum(nil)[:signatureBytes])
}

// CheckPath returns the address of the badge of one check, below the base URL
// and escaped as in a URL:
//
//	/b/<2|3>/<key>.<format>
//
// The number is that of the states: 3 if late is true. The address is not
// signed: the key of the check must be one that cannot be guessed, and must not
// be empty.
func CheckPath(checkBadgeKey string, f Format, late bool) string {
	states := byte('2')
	if late {
		states = '3'
	}
	var b strings.Builder
	b.WriteString(checkPrefix)
	b.WriteByte(states)
	b.WriteByte('/')
	escape(&b, checkBadgeKey)
	b.WriteByte('.')
	b.WriteString(string(f))
	return b.String()
}

// ParseCheckPath reads a path that [CheckPath] made, still escaped: the result
// of [net/url.URL.EscapedPath]. Any path that is not right gives [ErrNotFound].
// Whether there is a check with the key is for the caller to find out.
func ParseCheckPath(escapedPath string) (key string, f Format, late bool, err error) {
	rest, prefixed := strings.CutPrefix(escapedPath, checkPrefix)
	rest, f, found := cutFormat(rest)
	states, escapedKey, _ := strings.Cut(rest, "/")
	key, err = url.PathUnescape(escapedKey)
	if !prefixed || !found || states != "2" && states != "3" ||
		err != nil || key == "" || strings.Contains(escapedKey, "/") {
		return "", "", false, ErrNotFound
	}
	return key, f, states == "3", nil
}

// cutFormat cuts the format and the dot before it from the end of a path.
func cutFormat(path string) (rest string, f Format, found bool) {
	dot := strings.LastIndexByte(path, '.')
	if dot < 0 {
		return "", "", false
	}
	f = Format(path[dot+1:])
	return path[:dot], f, f.Valid()
}

// escape writes one segment of a path. All bytes but the unreserved characters
// of RFC 3986 are escaped, which is more than url.PathEscape does: what is left
// means the same to every client, proxy, shell and Markdown renderer. A segment
// of dots alone would be dropped on the way, but a tag has its format after it.
func escape(b *strings.Builder, segment string) {
	const digits = "0123456789ABCDEF"
	for i := range len(segment) {
		c := segment[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(digits[c>>4])
		b.WriteByte(digits[c&15])
	}
}
