package ui

import (
	"context"
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
