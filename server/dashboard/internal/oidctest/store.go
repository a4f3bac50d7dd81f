package oidctest

import (
	"context"
	"crypto/rsa"
	"sync"

	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// store is the memory of a provider: that of the library's example, with people and keys that change.
type store struct {
	*storage.Storage
	mu     sync.Mutex
	people map[string]Person
	key    *signingKey
}

// SigningKey returns the key that signs now.
func (s *store) SigningKey(context.Context) (op.SigningKey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.key, nil
}

// SignatureAlgorithms returns the only one.
func (s *store) SignatureAlgorithms(context.Context) ([]jose.SignatureAlgorithm, error) {
	return []jose.SignatureAlgorithm{jose.RS256}, nil
}

// KeySet returns the key that signs now.
func (s *store) KeySet(context.Context) ([]op.Key, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return []op.Key{publicKey{*s.key}}, nil
}

// SetUserinfoFromToken answers the userinfo endpoint.
func (s *store) SetUserinfoFromToken(ctx context.Context, info *oidc.UserInfo, token, subject, origin string) error {
	if err := s.Storage.SetUserinfoFromToken(ctx, info, token, subject, origin); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	who := s.people[subject]
	info.Name = who.Name
	if who.Groups != nil {
		info.AppendClaims("groups", who.Groups)
	}
	return nil
}

// signingKey is a key of the provider with a name.
type signingKey struct {
	id  string
	key *rsa.PrivateKey
}

// SignatureAlgorithm is RS256.
func (k *signingKey) SignatureAlgorithm() jose.SignatureAlgorithm { return jose.RS256 }

// Key returns the private key.
func (k *signingKey) Key() any { return k.key }

// ID returns the name of the key.
func (k *signingKey) ID() string { return k.id }

type publicKey struct{ signingKey }

// Algorithm is RS256.
func (k publicKey) Algorithm() jose.SignatureAlgorithm { return jose.RS256 }

// Use is that of a key for signatures.
func (k publicKey) Use() string { return "sig" }

// Key returns the public key.
func (k publicKey) Key() any { return &k.key.PublicKey }

// ID returns the name of the key.
func (k publicKey) ID() string { return k.id }

// users are the people of a store, as the library asks for them.
type users struct{ *store }

// GetUserByID finds a person by subject.
func (u users) GetUserByID(id string) *storage.User {
	u.mu.Lock()
	defer u.mu.Unlock()
	who, ok := u.people[id]
	if !ok {
		return nil
	}
	return &storage.User{ID: who.Subject, Username: who.Email, Password: Password, FirstName: who.Name, Email: who.Email, EmailVerified: !who.Unverified}
}

// GetUserByUsername finds a person by e-mail address.
func (u users) GetUserByUsername(email string) *storage.User {
	u.mu.Lock()
	subject := ""
	for _, who := range u.people {
		if who.Email == email {
			subject = who.Subject
		}
	}
	u.mu.Unlock()
	return u.GetUserByID(subject)
}

// ExampleClientID is what the library's example asks for.
func (u users) ExampleClientID() string { return storage.ServiceUserID }
