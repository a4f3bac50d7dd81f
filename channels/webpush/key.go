package webpush

import (
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
)

// minSecret is the minimum length of the secret, in bytes.
const minSecret = 32

// PublicKey returns the public key of a server with the secret: the applicationServerKey with which browsers subscribe,
// in base64url. The error says that the secret is too short.
func PublicKey(secret string) (string, error) {
	k, err := newKey(secret)
	return k.public, err
}

// key is a key pair for VAPID (RFC 8292), in base64url: a point of P-256, uncompressed, and a scalar.
type key struct{ public, private string }

// newKey derives the key pair from the secret.
func newKey(secret string) (key, error) {
	if len(secret) < minSecret {
		return key{}, fmt.Errorf("webpush: the secret is too short: %d bytes, the minimum is %d", len(secret), minSecret)
	}
	for i := range 8 { // one in 2³² texts is no scalar of the curve
		scalar, err := hkdf.Key(sha256.New, []byte(secret), nil, fmt.Sprintf("rollcall VAPID %d", i), 32)
		if err != nil {
			return key{}, err
		}
		if private, err := ecdh.P256().NewPrivateKey(scalar); err == nil {
			return key{encode(private.PublicKey().Bytes()), encode(private.Bytes())}, nil
		}
	}
	return key{}, errors.New("webpush: the secret makes no key")
}

func encode(bytes []byte) string { return base64.RawURLEncoding.EncodeToString(bytes) }
