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

// AllTags stands for all checks of a project instead of a tag. A tag with this text cannot have a badge.
const AllTags = "*"

// MinSecret is the minimum length of a [Signer]'s secret, in bytes.
const MinSecret = 16

// signatureBytes is the length to which the HMAC is cut: 128 bits cannot be guessed and keep the address short.
const signatureBytes = 16

const (
	tagPrefix   = "/badge/"
	checkPrefix = "/b/"
	twoStates   = "-2" // after a signature
)

// ErrNotFound means that a path is not the address of a badge, or has a wrong signature. Callers cannot tell the two
// apart.
var ErrNotFound = errors.New("badges: not found")

// A Ref is what the address of a badge refers to.
type Ref struct {
	// BadgeKey identifies the project, or the check if the address is that of one check's badge.
	BadgeKey string
	// Tag selects the checks that have it, or is [AllTags]. It is "" for one check's badge.
	Tag string
	// Format is the kind of document.
	Format Format
	// Late is true for three states, false for two.
	Late bool
}

// A Signer makes and verifies the signed addresses of tag badges. [NewSigner] makes one.
//
// A signature is an HMAC-SHA256 over badge key and tag, cut to 128 bits. All formats of a badge share it, with two and
// with three states.
type Signer struct {
	secret []byte
}

// NewSigner returns a Signer. The secret must have at least [MinSecret] bytes and should be random. Anyone who knows it
// can forge the address of any badge. A new secret invalidates all addresses made with the old one.
func NewSigner(secret []byte) (Signer, error) {
	if len(secret) < MinSecret {
		return Signer{}, fmt.Errorf("badges: the secret is too short: %d bytes, the minimum is %d", len(secret), MinSecret)
	}
	return Signer{secret: slices.Clone(secret)}, nil
}

// String returns a text without the secret.
func (s Signer) String() string { return "badges.Signer" }

// GoString returns the text of [Signer.String], for the verb %#v.
func (s Signer) GoString() string { return s.String() }

// Path returns the path of a tag's badge, below the base URL and escaped as in a URL:
//
//	/badge/<badge_key>/<signature>[-2]/<tag>.<format>
//	/badge/<badge_key>/<signature>[-2].<format>
//
// The second form is for [AllTags]; "-2" marks a badge of two states. A tag may be any non-empty bytes. The badge key
// must not be empty, "." or "..", and the format must be valid; otherwise [Signer.Parse] refuses the path.
//
// Path panics on the zero Signer, whose signatures anyone could forge.
func (s Signer) Path(badgeKey, tag string, f Format, late bool) string {
	if s.secret == nil {
		panic("badges: Signer.Path: the Signer was not made by NewSigner")
	}
	path := tagPrefix + escape(badgeKey) + "/" + s.sign(badgeKey, tag)
	if !late {
		path += twoStates
	}
	if tag != AllTags {
		path += "/" + escape(tag)
	}
	return path + "." + string(f)
}

// Parse reads a path that [Signer.Path] made, and verifies its signature in constant time. The path is still escaped:
// the result of [net/url.URL.EscapedPath]. Any other path is [ErrNotFound].
//
// Parse accepts any equivalent escaping, and unescaped slashes in a tag, because some proxies rewrite paths.
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

// sign returns the signature of a badge in lower-case hexadecimal digits. The lengths keep badge key and tag apart; the
// prefix keeps these signatures apart from other uses of the secret.
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

// CheckPath returns the path of one check's badge, below the base URL and escaped as in a URL:
//
//	/b/<2|3>/<key>.<format>
//
// The number of states is 3 if late is true, otherwise 2. The path is not signed, so the key must be impossible to
// guess. It must not be empty.
func CheckPath(checkBadgeKey string, f Format, late bool) string {
	states := "2"
	if late {
		states = "3"
	}
	return checkPrefix + states + "/" + escape(checkBadgeKey) + "." + string(f)
}

// ParseCheckPath reads a path that [CheckPath] made, still escaped: the result of [net/url.URL.EscapedPath]. Any other
// path is [ErrNotFound]. The caller looks up the key.
func ParseCheckPath(escapedPath string) (Ref, error) {
	rest, prefixed := strings.CutPrefix(escapedPath, checkPrefix)
	rest, f, found := cutFormat(rest)
	states, escapedKey, _ := strings.Cut(rest, "/")
	key, err := url.PathUnescape(escapedKey)
	if !prefixed || !found || states != "2" && states != "3" ||
		err != nil || key == "" || strings.Contains(escapedKey, "/") {
		return Ref{}, ErrNotFound
	}
	return Ref{BadgeKey: key, Format: f, Late: states == "3"}, nil
}

// cutFormat cuts the dot and the format from the end of a path.
func cutFormat(path string) (rest string, f Format, found bool) {
	dot := strings.LastIndexByte(path, '.')
	if dot < 0 {
		return "", "", false
	}
	f = Format(path[dot+1:])
	return path[:dot], f, f.Valid()
}

// escape escapes a segment of a path: all bytes but the unreserved characters of RFC 3986, which every client, proxy,
// shell and Markdown renderer leaves alone.
func escape(segment string) string { return strings.ReplaceAll(url.QueryEscape(segment), "+", "%20") }
