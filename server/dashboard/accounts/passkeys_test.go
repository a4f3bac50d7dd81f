package accounts_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts/passkey"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
	"github.com/rollcall-dev/rollcall/server/people"
)

// token is a security key that answers as its owner likes.
type token struct {
	t       *testing.T
	key     *ecdsa.PrivateKey
	id      []byte
	counter uint32
}

func newToken(t *testing.T, id string) *token {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	pagetest.NoError(t, err)
	return &token{t, key, []byte(id), 1}
}

// client returns the data of the client, which a browser on localhost would write.
func (k *token) client(kind, options string) []byte {
	k.t.Helper()
	var asked struct{ Challenge string }
	pagetest.NoError(k.t, json.Unmarshal([]byte(options), &asked))
	return fmt.Appendf(nil, `{"type":"webauthn.%s","challenge":%q,"origin":"http://localhost"}`, kind, asked.Challenge)
}

// data returns the authenticator's data: it knows its user.
func (k *token) data(flags byte) []byte {
	site := sha256.Sum256([]byte("localhost"))
	return binary.BigEndian.AppendUint32(append(site[:], 0x05|flags), k.counter)
}

// create answers options with a new credential.
func (k *token) create(options string) string {
	k.t.Helper()
	public, err := k.key.PublicKey.ECDH()
	pagetest.NoError(k.t, err)
	point := public.Bytes() // 4, x, y
	data := append(k.data(0x40), make([]byte, 16)...)
	data = append(binary.BigEndian.AppendUint16(data, uint16(len(k.id))), k.id...)
	data = append(data, "\xa5\x01\x02\x03\x26\x20\x01\x21\x58\x20"...) // ES256 in COSE, as CBOR
	data = append(append(append(data, point[1:33]...), "\x22\x58\x20"...), point[33:]...)
	attestation := append([]byte("\xa3cfmtdnonegattStmt\xa0hauthData\x58"), byte(len(data)))
	return k.answer(map[string][]byte{"clientDataJSON": k.client("create", options), "attestationObject": append(attestation, data...)})
}

// get answers options with a signature of a person.
func (k *token) get(options string, who people.Person) string {
	k.t.Helper()
	client, data := k.client("get", options), k.data(0)
	hash := sha256.Sum256(client)
	signed := sha256.Sum256(append(slices.Clone(data), hash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, k.key, signed[:])
	pagetest.NoError(k.t, err)
	return k.answer(map[string][]byte{"clientDataJSON": client, "authenticatorData": data, "signature": signature, "userHandle": who.ID[:]})
}

func (k *token) answer(response map[string][]byte) string {
	k.t.Helper()
	encoded := map[string]string{}
	for name, value := range response {
		encoded[name] = base64.RawURLEncoding.EncodeToString(value)
	}
	id := base64.RawURLEncoding.EncodeToString(k.id)
	text, err := json.Marshal(map[string]any{"id": id, "rawId": id, "type": "public-key", "response": encoded})
	pagetest.NoError(k.t, err)
	return string(text)
}

// TestPasskeyOnce: an answer adds a passkey once, an identifier belongs to one passkey, a person has 20 at most, and a counter that
// does not go up is refused.
func TestPasskeyOnce(t *testing.T) {
	keys, err := passkey.New("http://localhost")
	pagetest.NoError(t, err)
	v := pagetest.New(t).Town(accounts.Config{Passkeys: keys})
	ann := v.Person("ann@example.org", people.Owner)
	v.Person("bob@example.org", people.Viewer)
	b, bob := v.As("ann@example.org"), v.As("bob@example.org")
	// begin asks for a passkey. The cookies are those of before the answer, so that it can be sent again.
	begin := func(b *pagetest.Browser) (options string, kept []*http.Cookie) {
		t.Helper()
		options = b.Post("/account/passkeys/options", url.Values{"password": {pagetest.Password}}).Is(http.StatusOK).Body
		return options, b.Cookies()
	}
	phone := newToken(t, "phone")
	options, kept := begin(b)
	added := url.Values{"answer": {phone.create(options)}, "name": {"my phone"}}
	b.Post("/account/passkeys", added).Is(http.StatusSeeOther)
	signIn := func() *pagetest.Answer {
		t.Helper()
		other := v.Browser()
		answer := phone.get(other.Post("/signin/passkey-options", url.Values{}).Is(http.StatusOK).Body, ann)
		return other.Post("/signin/passkey", url.Values{"answer": {answer}})
	}
	phone.counter = 2
	signIn().Is(http.StatusSeeOther)
	signIn().Is(http.StatusForbidden)

	// The registration again would bring the old counter back.
	b.SetCookies(kept)
	b.Post("/account/passkeys", added).Is(http.StatusForbidden).Has("The passkey was not added.")
	signIn().Is(http.StatusForbidden)

	// A new registration under the same identifier replaces nothing, whoever asks.
	for _, browser := range []*pagetest.Browser{b, bob} {
		options, _ = begin(browser)
		browser.Post("/account/passkeys", url.Values{"answer": {newToken(t, "phone").create(options)}}).
			Is(http.StatusConflict).Has("The passkey was not added: it is in use already.")
	}
	phone.counter = 3
	signIn().Is(http.StatusSeeOther)

	// The limit holds for what was asked for before, too.
	var answers []url.Values
	var cookies [][]*http.Cookie
	for i := range people.MaxPasskeys {
		options, kept = begin(b)
		answers, cookies = append(answers, url.Values{"answer": {newToken(t, fmt.Sprint("key ", i)).create(options)}}), append(cookies, kept)
	}
	for i, answer := range answers {
		want := http.StatusSeeOther
		if i == people.MaxPasskeys-1 { // the phone is one of them
			want = http.StatusForbidden
		}
		b.SetCookies(cookies[i])
		b.Post("/account/passkeys", answer).Is(want)
	}
	b.Post("/account/passkeys/options", url.Values{"password": {pagetest.Password}}).Is(http.StatusForbidden).Has("You have 20 passkeys")
	if found, err := v.People.ByID(t.Context(), ann.ID); err != nil || len(found.Passkeys) != people.MaxPasskeys || found.Passkeys[0].Name != "my phone" {
		t.Errorf("the passkeys are %+v, %v", found.Passkeys, err)
	}
	if lines := strings.Count(v.Log.String(), "refused a new passkey"); lines == 0 || lines > 4 { // those for one reason are counted
		t.Errorf("%d refused passkeys are in the log, want 1 to 4", lines)
	}

	options, kept = begin(bob)
	late := url.Values{"answer": {newToken(t, "late").create(options)}}
	v.Advance(6 * time.Minute)
	bob.SetCookies(kept)
	bob.Post("/account/passkeys", late).Is(http.StatusForbidden)
	if _, err := v.People.ByPasskey(t.Context(), []byte("late")); !errors.Is(err, checks.ErrNotFound) {
		t.Errorf("a passkey that was added too late: %v", err)
	}
}
