package people

import (
	"context"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"

	"github.com/rollcall-dev/rollcall/checks"
)

const (
	minPassword, maxPassword = 12, 1024 // characters, bytes
	// The cost of a hash: 19 MiB and two passes, as OWASP recommends for argon2id.
	hashMemory, hashTime, hashLength, saltLength = 19 << 10, 2, 32, 16
	// The costs of foreign hashes that are computed at most.
	maxMemory, maxTime, maxIterations = 256 << 10, 10, 5_000_000
)

//go:embed common.txt
var commonText string

// common are passwords of 12 characters or more that many people have.
var common = sync.OnceValue(func() []string { return strings.Fields(commonText) })

// checkPassword returns a *[checks.FieldError] for a password that nobody should have.
func checkPassword(password, email string) error {
	refuse := func(reason string) error { return &checks.FieldError{Field: "password", Reason: reason} }
	lower := strings.ToLower(password)
	local, _, _ := strings.Cut(email, "@")
	var different []rune
	for _, r := range lower {
		if !slices.Contains(different, r) {
			different = append(different, r)
		}
	}
	switch n := utf8.RuneCountInString(password); {
	case n < minPassword:
		return refuse(fmt.Sprintf("is too short: %d characters, the minimum is %d", n, minPassword))
	case len(password) > maxPassword:
		return refuse(fmt.Sprintf("is too long: %d bytes, the maximum is %d", len(password), maxPassword))
	case len(different) < 5, slices.Contains(common(), lower), ordered(lower):
		return refuse("is too common: choose some random words")
	case lower == email, len(local) >= 4 && strings.HasPrefix(lower, local) && len(lower)-len(local) < 6:
		return refuse("is too close to the e-mail address: choose some random words")
	}
	return nil
}

// ordered reports whether a password is a walk along the alphabet, the digits or a row of the keyboard, maybe again and again.
func ordered(password string) bool {
	for _, row := range []string{"abcdefghijklmnopqrstuvwxyz", "1234567890", "0123456789", "qwertyuiop", "asdfghjkl", "zxcvbnm", "1qaz2wsx3edc4rfv5tgb6yhn"} {
		if strings.Contains(strings.Repeat(row, 8), password) {
			return true
		}
	}
	for n := 1; n <= len(password)/3; n++ {
		if strings.HasPrefix(strings.Repeat(password[:n], len(password)/n+1), password) {
			return true
		}
	}
	return false
}

// choose checks a new password and returns its hash.
func (p *People) choose(ctx context.Context, password, email string) (string, error) {
	if err := checkPassword(password, email); err != nil {
		return "", err
	}
	if err := p.hashing.Acquire(ctx, 1); err != nil {
		return "", err
	}
	defer p.hashing.Release(1)
	salt := make([]byte, saltLength)
	_, _ = rand.Read(salt) // never fails
	return encodeHash(salt, argon2.IDKey([]byte(password), salt, hashTime, hashMemory, 1, hashLength)), nil
}

func encodeHash(salt, key []byte) string {
	b := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=1$%s$%s", argon2.Version, hashMemory, hashTime, b.EncodeToString(salt), b.EncodeToString(key))
}

// nobody is the hash of an account that does not exist, so that the answer takes as long.
var nobody = encodeHash(make([]byte, saltLength), make([]byte, hashLength))

// verify reports whether a hash is that of a password, and whether a new hash should replace it. Unreadable hashes verify nothing.
func verify(hash, password string) (ok, replace bool) {
	if len(password) > maxPassword {
		password = "" // as slow as any other
	}
	if rest, foreign := strings.CutPrefix(hash, "argon2$"); foreign { // of Django
		ok, _ := verify("$"+rest, password)
		return ok, true
	}
	if rest, foreign := strings.CutPrefix(hash, "pbkdf2_sha256$"); foreign {
		return verifyPBKDF2(rest, password), true
	}
	var version, memory, time, threads int
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return false, false
	}
	if _, err := fmt.Sscanf(parts[2]+" "+parts[3], "v=%d m=%d,t=%d,p=%d", &version, &memory, &time, &threads); err != nil || version != argon2.Version ||
		memory < 1 || memory > maxMemory || time < 1 || time > maxTime || threads < 1 || threads > 255 {
		return false, false
	}
	salt, err1 := base64.RawStdEncoding.DecodeString(parts[4])
	key, err2 := base64.RawStdEncoding.DecodeString(parts[5])
	if err1 != nil || err2 != nil || len(key) < 16 || len(key) > 128 {
		return false, false
	}
	got := argon2.IDKey([]byte(password), salt, uint32(time), uint32(memory), uint8(threads), uint32(len(key)))
	return subtle.ConstantTimeCompare(got, key) == 1, memory != hashMemory || time != hashTime || threads != 1
}

// verifyPBKDF2 verifies what follows pbkdf2_sha256$ in a hash of Django: iterations, salt and hash.
func verifyPBKDF2(rest, password string) bool {
	parts := strings.Split(rest, "$")
	if len(parts) != 3 {
		return false
	}
	iterations, err := strconv.Atoi(parts[0])
	key, err2 := base64.StdEncoding.DecodeString(parts[2])
	if err != nil || err2 != nil || iterations < 1 || iterations > maxIterations || len(key) < 16 || len(key) > 128 {
		return false
	}
	got, err := pbkdf2.Key(sha256.New, password, []byte(parts[1]), iterations, len(key))
	return err == nil && subtle.ConstantTimeCompare(got, key) == 1
}
