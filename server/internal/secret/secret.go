// Package secret keeps the secrets of an installation, which the database holds.
package secret

import (
	"context"
	"reflect"
	"sync/atomic"

	"github.com/rollcall-dev/rollcall/badges"
)

// Secret is a secret that is read from the database once, when it is first needed.
type Secret struct {
	name string
	read func(ctx context.Context, name string) (string, error)
	text atomic.Pointer[string]
}

// New returns a secret. It reads nothing.
func New(read func(ctx context.Context, name string) (string, error), name string) *Secret {
	return &Secret{name: name, read: read}
}

// Get returns the secret.
func (s *Secret) Get(ctx context.Context) ([]byte, error) {
	text := s.text.Load()
	if text == nil {
		read, err := s.read(ctx, s.name)
		if err != nil {
			return nil, err
		}
		text = &read
		s.text.Store(text)
	}
	return []byte(*text), nil
}

// Signer returns what signs the addresses of badges: given, or, if that is the zero value, a signer with the secret.
func (s *Secret) Signer(ctx context.Context, given badges.Signer) (badges.Signer, error) {
	if !reflect.ValueOf(given).IsZero() {
		return given, nil
	}
	key, err := s.Get(ctx)
	if err != nil {
		return badges.Signer{}, err
	}
	return badges.NewSigner(key)
}
