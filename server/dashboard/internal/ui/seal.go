package ui

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/internal/secret"
)

// Seals signs messages with a secret of the installation.
type Seals struct{ key *secret.Secret }

// Seal signs a message for one purpose.
func (s *Seals) Seal(ctx context.Context, purpose string, message []byte) (string, error) {
	key, err := s.key.Get(ctx)
	if err != nil {
		return "", err
	}
	encoded := base64.RawURLEncoding.EncodeToString(message)
	return encoded + "." + base64.RawURLEncoding.EncodeToString(sign(key, purpose, encoded)), nil
}

// Open returns a sealed message. The error is [server.ErrSignedOut] for a message that was
// not sealed for that purpose by a server on this database.
func (s *Seals) Open(ctx context.Context, purpose, sealed string) ([]byte, error) {
	key, err := s.key.Get(ctx)
	if err != nil {
		return nil, err
	}
	encoded, signature, _ := strings.Cut(sealed, ".")
	given, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil || !hmac.Equal(given, sign(key, purpose, encoded)) {
		return nil, server.ErrSignedOut
	}
	message, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return nil, server.ErrSignedOut
	}
	return message, nil
}

func sign(secret []byte, purpose, encoded string) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(purpose + "\x00" + encoded))
	return mac.Sum(nil)
}

// Hide encrypts a message for one purpose.
func (s *Seals) Hide(ctx context.Context, purpose string, message []byte) (string, error) {
	aead, err := s.aead(ctx, purpose)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(aead.Seal(nil, nil, message, nil)), nil
}

// Reveal returns a hidden message. The error is [server.ErrSignedOut] for a message that was not hidden for that purpose by a
// server on this database.
func (s *Seals) Reveal(ctx context.Context, purpose, hidden string) ([]byte, error) {
	aead, err := s.aead(ctx, purpose)
	if err != nil {
		return nil, err
	}
	text, err := base64.RawURLEncoding.DecodeString(hidden)
	if err != nil {
		return nil, server.ErrSignedOut
	}
	message, err := aead.Open(nil, nil, text, nil)
	if err != nil {
		return nil, server.ErrSignedOut
	}
	return message, nil
}

func (s *Seals) aead(ctx context.Context, purpose string) (cipher.AEAD, error) {
	key, err := s.key.Get(ctx)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(sign(key, "hide", purpose)) // 32 bytes
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}
