package ui

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"sync"

	"github.com/rollcall-dev/rollcall/checks/monitor"
)

// Seals signs messages with a secret of the installation.
type Seals struct {
	mon    *monitor.Monitor
	mu     sync.Mutex
	secret []byte
}

// Seal signs a message for one purpose.
func (s *Seals) Seal(ctx context.Context, purpose string, message []byte) (string, error) {
	secret, err := s.signingKey(ctx)
	if err != nil {
		return "", err
	}
	encoded := base64.RawURLEncoding.EncodeToString(message)
	return encoded + "." + base64.RawURLEncoding.EncodeToString(sign(secret, purpose, encoded)), nil
}

// Open returns a sealed message. The error is [ErrSignedOut] for a message that was
// not sealed for that purpose by a server on this database.
func (s *Seals) Open(ctx context.Context, purpose, sealed string) ([]byte, error) {
	secret, err := s.signingKey(ctx)
	if err != nil {
		return nil, err
	}
	encoded, signature, _ := strings.Cut(sealed, ".")
	given, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil || !hmac.Equal(given, sign(secret, purpose, encoded)) {
		return nil, ErrSignedOut
	}
	message, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return nil, ErrSignedOut
	}
	return message, nil
}

func sign(secret []byte, purpose, encoded string) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(purpose + "\x00" + encoded))
	return mac.Sum(nil)
}

// signingKey returns the secret of the installation that signs sessions.
func (s *Seals) signingKey(ctx context.Context) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.secret == nil {
		text, err := s.mon.Secret(ctx, "dashboard_key")
		if err != nil {
			return nil, err
		}
		s.secret = []byte(text)
	}
	return s.secret, nil
}
