package people

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/records"
)

// ErrSecret is the error of a code whose secret cannot be read: it was encrypted with a key that is not among [Config].Keys, or was
// altered. Recovery codes work all the same, and [People.ResetMFA] ends the secret.
var ErrSecret = errors.New("people: cannot read the secret of the authenticator app")

var errAltered = fmt.Errorf("%w: it was altered, or is another person's", ErrSecret)

// sealedPrefix begins a secret that is encrypted.
const sealedPrefix = "sealed:"

// sealer encrypts the secrets of authenticator apps by AES-256-GCM under a key that is derived from one of Config.Keys.
type sealer struct {
	id   string // names the key in what it encrypts
	aead cipher.AEAD
}

func newSealer(key []byte) (s sealer, err error) {
	id, err := hkdf.Key(sha256.New, key, nil, "rollcall totp: name of the key", 6)
	if err != nil {
		return s, err
	}
	derived, err := hkdf.Key(sha256.New, key, nil, "rollcall totp: secrets", 32)
	if err != nil {
		return s, err
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return s, err
	}
	s.id = hex.EncodeToString(id)
	s.aead, err = cipher.NewGCMWithRandomNonce(block)
	return s, err
}

// sealers are what encrypts secrets, the first one, and what decrypts them.
type sealers []sealer

// sealers returns those of all keys. The secret in the database is the last: what it encrypts is safe only if the database does not
// get out as a whole. A transaction must not call it, because it may store that secret. With create, Config.Keys may create a key.
func (p *People) sealers(ctx context.Context, create bool) (list sealers, err error) {
	var keys [][]byte
	if p.keys != nil {
		if keys, err = p.keys(ctx, create); err != nil {
			return nil, fmt.Errorf("people: the keys of authenticator apps: %w", err)
		}
	}
	own, err := p.ownKey.Get(ctx)
	if err != nil {
		return nil, err
	}
	for _, key := range append(slices.Clone(keys), own) {
		s, err := newSealer(key)
		if err != nil {
			return nil, fmt.Errorf("people: a key of authenticator apps: %w", err)
		}
		list = append(list, s)
	}
	return list, nil
}

// owner is authenticated with a secret, so that a copy in the record of somebody else is worth nothing.
func owner(person uuid.UUID) []byte { return append([]byte("totp "), person[:]...) }

// seal encrypts the secret of a person.
func (list sealers) seal(person uuid.UUID, secret string) string {
	s := list[0]
	return sealedPrefix + s.id + ":" + base64.RawStdEncoding.EncodeToString(s.aead.Seal(nil, nil, []byte(secret), owner(person)))
}

// open decrypts the secret of a person, if there is one. fresh says that the first key has encrypted it. The error wraps [ErrSecret].
func (list sealers) open(d *document) (secret string, fresh bool, err error) {
	if d.TOTP == "" {
		return "", true, nil
	}
	text, sealed := strings.CutPrefix(d.TOTP, sealedPrefix)
	if !sealed {
		return "", false, errAltered
	}
	id, text, _ := strings.Cut(text, ":")
	i := slices.IndexFunc(list, func(s sealer) bool { return s.id == id })
	if i < 0 {
		return "", false, fmt.Errorf("%w: the key %s, which encrypted it, is missing", ErrSecret, id)
	}
	sealedText, err := base64.RawStdEncoding.DecodeString(text)
	if err == nil {
		var plain []byte
		if plain, err = list[i].aead.Open(nil, nil, sealedText, owner(d.ID)); err == nil {
			return string(plain), i == 0, nil
		}
	}
	return "", false, errAltered
}

// renew encrypts a secret with the first key, if another one has encrypted it.
func (list sealers) renew(d *document) error {
	secret, fresh, err := list.open(d)
	if err == nil && !fresh {
		d.TOTP, d.same = list.seal(d.ID, secret), true
	}
	return err
}

// sealAll encrypts the secrets that another key than the first has encrypted. It logs how many it cannot read.
func (p *People) sealAll(ctx context.Context) error {
	kind := kindPerson
	found, err := p.db.Records(ctx, p.now(), records.Query{Kind: &kind})
	if err != nil {
		return err
	}
	var list sealers
	unreadable := 0
	for _, r := range found {
		d, err := parse(r)
		if err != nil {
			return err
		}
		if d.TOTP == "" {
			continue
		}
		if list == nil {
			if list, err = p.sealers(ctx, true); err != nil {
				return err
			}
		}
		_, fresh, err := list.open(d)
		switch {
		case err != nil:
			unreadable++
			continue
		case fresh:
			continue
		}
		err = p.update(ctx, d.ID, func(_ context.Context, _ records.Tx, d *document) (bool, []audit.Entry, error) {
			if d.TOTP == "" {
				return false, nil, nil
			}
			return false, nil, list.renew(d)
		})
		if err != nil && !errors.Is(err, checks.ErrNotFound) {
			return err
		}
	}
	if unreadable > 0 {
		p.log.ErrorContext(ctx, "cannot read the secrets of authenticator apps, because the key that encrypted them is missing or they were altered: restore the key, or reset the second factors of these people", "people", unreadable)
	}
	return nil
}
