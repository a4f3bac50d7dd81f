package email

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/emersion/go-msgauth/dkim"
)

// DKIM signs messages (RFC 6376), for a mail server that does not.
type DKIM struct {
	// Domain is the domain whose DNS has the public key, at SELECTOR._domainkey.DOMAIN. Default: the domain of From.
	// DMARC wants that domain or a parent of it.
	Domain string
	// Selector chooses one of the keys of the domain.
	Selector string
	// Key is the private key: RSA or Ed25519. Receivers that know no Ed25519 ignore its signatures.
	Key crypto.Signer
}

// minRSA is the length of an RSA key that receivers accept, in bits (RFC 8301, section 3.2).
const minRSA = 1024

// ParseDKIMKey reads the first key of a PEM file: PKCS #8 with RSA or Ed25519, or PKCS #1.
func ParseDKIMKey(file []byte) (crypto.Signer, error) {
	block, _ := pem.Decode(file)
	if block == nil {
		return nil, errors.New("email: the DKIM key is not a PEM file")
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	signer, ok := key.(crypto.Signer)
	if err != nil || !ok {
		return nil, fmt.Errorf("email: the DKIM key is not a private key in PKCS #8 or PKCS #1, but %s", block.Type)
	}
	return signer, nil
}

func (d *DKIM) validate() error {
	switch key := d.Key.(type) {
	case ed25519.PrivateKey:
	case *rsa.PrivateKey:
		if key.N.BitLen() < minRSA {
			return fmt.Errorf("email: the RSA key for DKIM is too short: %d bits, the minimum is %d", key.N.BitLen(), minRSA)
		}
	default:
		return errors.New("email: the Key for DKIM is neither RSA nor Ed25519")
	}
	for _, part := range []struct{ name, value string }{{"Selector", d.Selector}, {"Domain", d.Domain}} {
		if part.value == "" || strings.ContainsFunc(part.value, func(r rune) bool { return r <= ' ' || r > '~' || r == ';' }) {
			return fmt.Errorf("email: the %s for DKIM is not a DNS name: %q", part.name, part.value)
		}
	}
	return nil
}

// signedHeaders are those of RFC 6376, section 5.4.1, and the two that RFC 8058, section 4, requires. Naming a header that
// a message lacks keeps others from adding it.
var signedHeaders = []string{
	"From", "To", "Cc", "Subject", "Date", "Message-ID", "In-Reply-To", "References", "Reply-To", "MIME-Version",
	"Content-Type", "Content-Transfer-Encoding", "Auto-Submitted", "List-Unsubscribe", "List-Unsubscribe-Post",
}

// sign returns the message with its signature before it. A nil DKIM changes nothing.
func (d *DKIM) sign(msg []byte) ([]byte, error) {
	if d == nil {
		return msg, nil
	}
	var signed bytes.Buffer
	err := dkim.Sign(&signed, bytes.NewReader(msg), &dkim.SignOptions{
		Domain: d.Domain, Selector: d.Selector, Signer: d.Key, Hash: crypto.SHA256, HeaderKeys: signedHeaders,
		HeaderCanonicalization: dkim.CanonicalizationRelaxed, BodyCanonicalization: dkim.CanonicalizationRelaxed,
	})
	if err != nil {
		return nil, fmt.Errorf("sign by DKIM: %w", err)
	}
	return signed.Bytes(), nil
}
