package passkey_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/server/dashboard/accounts/passkey"
	"github.com/rollcall-dev/rollcall/server/people"
)

// TestAnswers refuses answers that prove nothing.
func TestAnswers(t *testing.T) {
	keys, err := passkey.New("https://rollcall.example.org/jobs")
	if err != nil {
		t.Fatal(err)
	}
	who := people.Person{ID: uuid.New(), Email: "ann@example.org"}
	options, kept, err := keys.BeginAdd(who)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(options); !strings.Contains(text, `"id":"rollcall.example.org"`) || !strings.Contains(text, `"userVerification":"required"`) {
		t.Errorf("the options are %s", text)
	}
	for _, answer := range []string{"", "{}", "null", `{"id":"AA","rawId":"AA","type":"public-key","response":{}}`} {
		if _, err := keys.FinishAdd(who, kept, []byte(answer)); !errors.Is(err, passkey.ErrRefused) {
			t.Errorf("%q: %v", answer, err)
		}
		if _, _, err := keys.FinishSignIn(kept, []byte(answer), nil); !errors.Is(err, passkey.ErrRefused) {
			t.Errorf("%q: %v", answer, err)
		}
	}
	if _, err := keys.FinishAdd(who, nil, nil); !errors.Is(err, passkey.ErrRefused) {
		t.Error(err)
	}
}

// TestAddresses has passkeys only where browsers do.
func TestAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"https://rollcall.example.org": "", "http://localhost:8000": "", "http://rollcall.localhost": "",
		"http://rollcall.example.org": "need https", "https://192.0.2.1": "host name", "http://127.0.0.1:8000": "host name", "https://[::1]": "host name",
	} {
		_, err := passkey.New(address)
		if got := fmt.Sprint(err); want == "" && err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
}
