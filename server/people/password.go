package people

import (
	"context"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/trustelem/zxcvbn"
	"github.com/trustelem/zxcvbn/match"
	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"

	"github.com/rollcall-dev/rollcall/checks"
)

const (
	minPassword, maxPassword = 12, 256 // characters
	// guessed is how much of a password is weighed. Its cost grows faster than the length.
	guessed = 64
	// minScore is the score of zxcvbn from 0 to 4 that a password must have: 2 is a million guesses.
	minScore = 2
	// maxAround is how many digits and signs around a common word make no difference.
	maxAround = 8
)

// Cost of our own hashes. Memory is in KiB.
const (
	hashMemory, hashPasses, hashLanes = 19 * 1024, 2, 1
	saltLength, keyLength             = 16, 32
)

// Bounds of hashes from elsewhere.
const (
	maxMemory     = 256 * 1024
	maxPasses     = 16
	maxLanes      = 16
	maxIterations = 5_000_000
)

var errHash = errors.New("neither argon2id nor pbkdf2_sha256, or costlier than 256 MiB, 16 passes or 5,000,000 iterations")

// passwordHash is a hash that was read.
type passwordHash struct {
	salt, key             []byte
	memory, passes, lanes uint32
	iterations            int // of PBKDF2, or 0 for argon2id
}

// own reports whether the hash is as costly as new ones.
func (h *passwordHash) own() bool {
	return h.iterations == 0 && h.memory == hashMemory && h.passes == hashPasses && h.lanes == hashLanes
}

// parseHash reads argon2id as a PHC string, with or without the prefix of Django, and pbkdf2_sha256 of Django.
func parseHash(text string) (*passwordHash, error) {
	parts := strings.Split(strings.TrimPrefix(text, "argon2"), "$")
	if len(parts) == 4 && parts[0] == "pbkdf2_sha256" {
		key, err := base64.StdEncoding.DecodeString(parts[3])
		n, nErr := strconv.Atoi(parts[1])
		if err != nil || nErr != nil || n < 1 || n > maxIterations || len(key) == 0 {
			return nil, errHash
		}
		return &passwordHash{salt: []byte(parts[2]), key: key, iterations: n}, nil
	}
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return nil, errHash
	}
	h := &passwordHash{}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &h.memory, &h.passes, &h.lanes); err != nil {
		return nil, errHash
	}
	var saltErr, keyErr error
	h.salt, saltErr = base64.RawStdEncoding.DecodeString(parts[4])
	h.key, keyErr = base64.RawStdEncoding.DecodeString(parts[5])
	small := h.memory < 8 || h.passes < 1 || h.lanes < 1 || len(h.key) == 0
	if saltErr != nil || keyErr != nil || small || h.memory > maxMemory || h.passes > maxPasses || h.lanes > maxLanes {
		return nil, errHash
	}
	return h, nil
}

// matches reports whether a password has the hash.
func (h *passwordHash) matches(password string) bool {
	var key []byte
	if h.iterations > 0 {
		var err error
		if key, err = pbkdf2.Key(sha256.New, password, h.salt, h.iterations, len(h.key)); err != nil {
			return false
		}
	} else {
		key = argon2.IDKey([]byte(password), h.salt, h.passes, h.memory, uint8(h.lanes), uint32(len(h.key)))
	}
	return subtle.ConstantTimeCompare(key, h.key) == 1
}

// unknown is the hash that is verified where there is none, so that it costs the same.
var unknown = &passwordHash{
	salt: make([]byte, saltLength), key: make([]byte, keyLength), memory: hashMemory, passes: hashPasses, lanes: hashLanes,
}

// newHash returns the hash of a password.
func newHash(password string) string {
	salt := make([]byte, saltLength)
	_, _ = rand.Read(salt) // never fails
	key := argon2.IDKey([]byte(password), salt, hashPasses, hashMemory, hashLanes, keyLength)
	b64 := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, hashMemory, hashPasses, hashLanes, b64(salt), b64(key))
}

// busyWait is what a caller waits when too many passwords are hashed already.
const busyWait = 5 * time.Second

// hash runs fn in one of the places that hash passwords. The error is a *[LimitedError] if too many strangers wait. Their number does
// not keep anybody else out.
func (p *People) hash(ctx context.Context, stranger bool, fn func()) error {
	if stranger {
		if !p.waiting.TryAcquire(1) {
			return p.limited(ctx, "too many passwords at once", busyWait)
		}
		defer p.waiting.Release(1)
	}
	if err := p.hashing.Acquire(ctx, 1); err != nil {
		return err
	}
	defer p.hashing.Release(1)
	fn()
	return nil
}

// newPassword returns the hash of a new password of a person, or a [*checks.FieldError] if it is too easy to guess.
func (p *People) newPassword(ctx context.Context, password, email, name string) (hash string, err error) {
	switch n := utf8.RuneCountInString(password); {
	case !utf8.ValidString(password):
		return "", &checks.FieldError{Field: "password", Reason: "is not valid UTF-8"}
	case n < minPassword:
		return "", &checks.FieldError{Field: "password", Reason: fmt.Sprintf("is too short: the minimum is %d characters", minPassword)}
	case n > maxPassword:
		return "", &checks.FieldError{Field: "password", Reason: fmt.Sprintf("is too long: the maximum is %d characters", maxPassword)}
	}
	easy := false
	err = p.hash(ctx, true, func() {
		if easy = weak(password, email, name); !easy {
			hash = newHash(password)
		}
	})
	if easy {
		return "", &checks.FieldError{Field: "password", Reason: "is too easy to guess: it is common, or made of common words, names or rows of keys"}
	}
	return hash, err
}

// weak reports whether a password is easy to guess for somebody who knows the address and the name.
func weak(password, email, name string) bool {
	head := []rune(password)
	password = norm.NFC.String(string(head[:min(len(head), guessed)]))
	known := append(strings.FieldsFunc(email, func(r rune) bool { return r == '@' || r == '.' }), strings.Fields(name)...)
	known = append(known, email, "rollcall")
	for _, text := range slices.Clone(known) {
		known = append(known, inASCII(text))
	}
	keys := onKeys(password)
	return easy(inASCII(password), known) || keys != password && easy(inASCII(keys), known)
}

// easy reports whether a password has a low score, or has one without a few digits and signs around it, such as a year: they
// raise the score of a known word too much.
func easy(password string, known []string) bool {
	if zxcvbn.PasswordStrength(password, known).Score < minScore {
		return true
	}
	core := strings.TrimFunc(password, func(r rune) bool { return !unicode.IsLetter(r) })
	if around := len(password) - len(core); core == "" || around == 0 || around > maxAround {
		return false
	}
	word := zxcvbn.PasswordStrength(core, known)
	unknown := func(m *match.Match) bool { return m.Pattern == "bruteforce" && len(m.Token) > 3 }
	return word.Score < minScore && !slices.ContainsFunc(word.Sequence, unknown)
}

// inASCII returns a text of as many characters in which equal letters stay equal and neighbors neighbors, because the score knows
// only those of ASCII. Letters with accents, wide letters and digits of every script
// become plain ones.
func inASCII(text string) string {
	return strings.Map(func(r rune) rune {
		if plain := norm.NFKD.String(string(r)); plain[0] < utf8.RuneSelf {
			return rune(plain[0])
		}
		switch {
		case unicode.Is(unicode.Mn, r):
			return -1
		case unicode.IsDigit(r):
			return digit(r)
		}
		if r >= utf8.RuneSelf {
			return 'a' + r%26
		}
		return r
	}, text)
}

// digit returns what a digit of any script means, as one of ASCII. Those of a script follow each other.
func digit(r rune) rune {
	zero := r
	for unicode.IsDigit(zero - 1) {
		zero--
	}
	return '0' + r - zero
}

// onKeys returns a text in Cyrillic letters as the same keys type it in Latin ones.
func onKeys(text string) string {
	const cyrillic, latin = "йцукенгшщзхъфывапролджэячсмитьбю", "qwertyuiop[]asdfghjkl;'zxcvbnm,."
	keys := []rune(cyrillic)
	return strings.Map(func(r rune) rune {
		if i := slices.Index(keys, unicode.ToLower(r)); i >= 0 {
			return rune(latin[i])
		}
		return r
	}, text)
}
