package email_test

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/emersion/go-msgauth/dkim"

	"github.com/rollcall-dev/rollcall/channels/email"
)

// TestDKIM checks signatures with the public key in a DNS record, and that they cover header and body.
func TestDKIM(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	rsaPublic, err := x509.MarshalPKIXPublicKey(rsaKey.Public())
	if err != nil {
		t.Fatal(err)
	}
	edKey := ed25519.NewKeyFromSeed([]byte(strings.Repeat("s", ed25519.SeedSize)))
	s := start(t, email.StartTLS)
	for _, tt := range []struct {
		record, domain, signs string
		key                   crypto.Signer
	}{
		{"v=DKIM1; k=rsa; p=" + base64.StdEncoding.EncodeToString(rsaPublic), "", "example.org", rsaKey},
		{"v=DKIM1; k=ed25519; p=" + base64.StdEncoding.EncodeToString(edKey.Public().(ed25519.PublicKey)), "mail.example.org", "mail.example.org", edKey},
	} {
		encoded, err := x509.MarshalPKCS8PrivateKey(tt.key)
		if err != nil {
			t.Fatal(err)
		}
		key, err := email.ParseDKIMKey(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}))
		if err != nil {
			t.Fatal(err)
		}
		n := s.notifier(t, func(c *email.Config) {
			c.DKIM = &email.DKIM{Domain: tt.domain, Selector: "rollcall", Key: key}
			c.Unsubscribe = unsubscribe
		})
		alert := down()
		alert.Check.Name = strings.Repeat("Žurka ", 40) // a subject of several lines
		alert.Ping.Body = []byte("a\n.\n..\n  b \t\n\n\n")
		if err := n.Notify(t.Context(), channel("a@example.org"), alert); err != nil {
			t.Fatal(err)
		}
		data := s.got()[0].Data
		verify := func(data string) error {
			list, err := dkim.VerifyWithOptions(strings.NewReader(data), &dkim.VerifyOptions{LookupTXT: func(name string) ([]string, error) {
				if name != "rollcall._domainkey."+tt.signs {
					return nil, fmt.Errorf("no record for %s", name)
				}
				return []string{tt.record}, nil
			}})
			if err != nil || len(list) != 1 {
				return fmt.Errorf("%d signatures, %w", len(list), err)
			}
			for _, header := range []string{"From", "To", "Subject", "List-Unsubscribe", "List-Unsubscribe-Post"} {
				if !strings.Contains(strings.Join(list[0].HeaderKeys, " ")+" ", header+" ") {
					t.Errorf("%s is not signed: %s", header, list[0].HeaderKeys)
				}
			}
			return list[0].Err
		}
		if err := verify(data); err != nil {
			t.Errorf("%T: %v\n%s", tt.key, err, data)
		}
		for old, fresh := range map[string]string{
			"Subject: ": "Subject: x", "List-Unsubscribe: <": "List-Unsubscribe: <https://example.com>,<", "From: ": "Reply-To: a@example.com\r\nFrom: ", "disk": "desk",
		} {
			if !strings.Contains(data, old) {
				continue
			}
			if verify(strings.Replace(data, old, fresh, 1)) == nil {
				t.Errorf("%T: the signature allows %q in place of %q", tt.key, fresh, old)
			}
		}
	}
}

func TestParseDKIMKey(t *testing.T) {
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	file := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(short)})
	if key, err := email.ParseDKIMKey(file); err != nil || !short.Equal(key) {
		t.Error(err)
	}
	public, _ := x509.MarshalPKIXPublicKey(short.Public())
	for want, file := range map[string][]byte{
		"email: the DKIM key is not a PEM file":                                          []byte("p=MIIB"),
		"email: the DKIM key is not a private key in PKCS #8 or PKCS #1, but PUBLIC KEY": pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}),
	} {
		_, err := email.ParseDKIMKey(file)
		equal(t, "error", text(errors.Join(err)), want)
	}
}
