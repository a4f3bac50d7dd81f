// Package passkey signs people in with passkeys, by WebAuthn. A passkey verifies the person by a PIN, a finger or a face, so it
// stands for a password and a code.
//
//	keys, err := passkey.New("https://rollcall.example.org")
//	options, kept, err := keys.BeginAdd(person)              // for navigator.credentials.create in the browser
//	added, err := keys.FinishAdd(person, kept, answer)       // People.AddPasskey saves it
//	options, kept, err = keys.BeginSignIn()                  // for navigator.credentials.get
//	who, used, err := keys.FinishSignIn(kept, answer, find)  // People.UsePasskey compares its counter, and saves it
//
// What Begin… keeps must come back from the same browser, unread and once.
package passkey

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/server/people"
)

// within is how long a person may take.
const within = 5 * time.Minute

// ErrRefused is the error of an answer that does not prove the passkey of a person.
var ErrRefused = fmt.Errorf("passkey: %w", people.ErrRefused)

// Keys registers and verifies the passkeys of one address. It is safe for concurrent use.
type Keys struct{ web *webauthn.WebAuthn }

// New returns the passkeys of the pages at an address. Browsers have passkeys for host names alone, over https or on localhost:
// the error says what is wrong with others.
func New(baseURL string) (*Keys, error) {
	base, err := url.Parse(baseURL)
	if err != nil {
		return nil, fmt.Errorf("passkey: %w", err)
	}
	host := base.Hostname()
	local := host == "localhost" || strings.HasSuffix(host, ".localhost")
	switch {
	case net.ParseIP(host) != nil:
		return nil, fmt.Errorf("passkey: browsers need a host name instead of the address %s", host)
	case base.Scheme != "https" && !local:
		return nil, fmt.Errorf("passkey: browsers need https at %s", host)
	}
	limit := webauthn.TimeoutConfig{Enforce: true, Timeout: within, TimeoutUVD: within}
	web, err := webauthn.New(&webauthn.Config{
		RPID: host, RPDisplayName: "Rollcall", RPOrigins: []string{base.Scheme + "://" + base.Host},
		Timeouts: webauthn.TimeoutsConfig{Login: limit, Registration: limit},
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, RequireResidentKey: protocol.ResidentKeyRequired(),
			UserVerification: protocol.VerificationRequired,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("passkey: %w", err)
	}
	return &Keys{web}, nil
}

// BeginAdd starts to register a passkey. The options are for the browser.
func (k *Keys) BeginAdd(who people.Person) (options, kept []byte, err error) {
	u, err := userOf(who)
	if err != nil {
		return nil, nil, err
	}
	creation, session, err := k.web.BeginRegistration(u, webauthn.WithExclusions(webauthn.Credentials(u.WebAuthnCredentials()).CredentialDescriptors()))
	if err != nil {
		return nil, nil, fmt.Errorf("passkey: %w", err)
	}
	return begun(creation.Response, session)
}

// FinishAdd returns the passkey that the browser has made, without a name. The error is [ErrRefused] unless the answer is that of
// BeginAdd.
func (k *Keys) FinishAdd(who people.Person, kept, answer []byte) (people.Passkey, error) {
	u, err := userOf(who)
	if err != nil {
		return people.Passkey{}, err
	}
	var session webauthn.SessionData
	if err := json.Unmarshal(kept, &session); err != nil {
		return people.Passkey{}, refused(err)
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(answer)
	if err != nil {
		return people.Passkey{}, refused(err)
	}
	credential, err := k.web.CreateCredential(u, session, parsed)
	if err != nil {
		return people.Passkey{}, refused(err)
	}
	return keyOf(credential)
}

// BeginSignIn starts a sign-in with any passkey that the browser has. The options are for the browser.
func (k *Keys) BeginSignIn() (options, kept []byte, err error) {
	assertion, session, err := k.web.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return nil, nil, fmt.Errorf("passkey: %w", err)
	}
	return begun(assertion.Response, session)
}

// FinishSignIn returns who signs in, and the passkey with its new counter, which must be saved. find returns a person by the ID
// of a passkey. The error is [ErrRefused], [people.ErrCloned] or that of find.
func (k *Keys) FinishSignIn(kept, answer []byte, find func(id []byte) (people.Person, error)) (people.Person, people.Passkey, error) {
	var session webauthn.SessionData
	if err := json.Unmarshal(kept, &session); err != nil {
		return people.Person{}, people.Passkey{}, refused(err)
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(answer)
	if err != nil {
		return people.Person{}, people.Passkey{}, refused(err)
	}
	var who people.Person
	var failed error
	_, credential, err := k.web.ValidatePasskeyLogin(func(id, _ []byte) (webauthn.User, error) {
		if who, failed = find(id); failed != nil {
			return nil, failed
		}
		return userOf(who)
	}, session, parsed)
	switch {
	case failed != nil:
		return people.Person{}, people.Passkey{}, failed
	case err != nil:
		return people.Person{}, people.Passkey{}, refused(err)
	case credential.Authenticator.CloneWarning:
		return who, people.Passkey{}, people.ErrCloned
	}
	used, err := keyOf(credential)
	for _, had := range who.Passkeys {
		if string(had.ID) == string(used.ID) {
			used.Name, used.AddedAt = had.Name, had.AddedAt
		}
	}
	return who, used, err
}

// refused is [ErrRefused] with its cause for the log.
func refused(cause error) error {
	if details, ok := errors.AsType[*protocol.Error](cause); ok && details.DevInfo != "" {
		cause = fmt.Errorf("%w: %s", cause, details.DevInfo)
	}
	return fmt.Errorf("%w: %w", ErrRefused, cause)
}

// begun encodes what the browser gets and what it keeps.
func begun(response any, session *webauthn.SessionData) (options, kept []byte, err error) {
	if options, err = json.Marshal(response); err != nil {
		return nil, nil, err
	}
	kept, err = json.Marshal(session)
	return options, kept, err
}

func keyOf(credential *webauthn.Credential) (people.Passkey, error) {
	credential.Attestation = webauthn.CredentialAttestation{} // not asked for, and large
	text, err := json.Marshal(credential)
	return people.Passkey{ID: credential.ID, Credential: text, Counter: credential.Authenticator.SignCount}, err
}

// user is a person as the library asks for one.
type user struct {
	id          uuid.UUID
	name, email string
	credentials []webauthn.Credential
}

func userOf(who people.Person) (*user, error) {
	u := &user{id: who.ID, name: who.Name, email: who.Email}
	for _, key := range who.Passkeys {
		var credential webauthn.Credential
		if err := json.Unmarshal(key.Credential, &credential); err != nil {
			return nil, fmt.Errorf("passkey: the stored passkey %q cannot be read: %w", key.Name, err)
		}
		u.credentials = append(u.credentials, credential)
	}
	return u, nil
}

// WebAuthnID names the person to authenticators.
func (u *user) WebAuthnID() []byte { return u.id[:] }

// WebAuthnName is shown where people choose a passkey.
func (u *user) WebAuthnName() string { return u.email }

// WebAuthnDisplayName is shown where people choose a passkey.
func (u *user) WebAuthnDisplayName() string {
	if u.name == "" {
		return u.email
	}
	return u.name
}

// WebAuthnCredentials returns the passkeys.
func (u *user) WebAuthnCredentials() []webauthn.Credential { return u.credentials }
